// The place after this one in a nest of four loops, and whether this one is the last.
module odometer (
  input at::place_t here, span, step, order,
  output at::place_t next, output logic last
);
  always_comb begin
    next = here;
    last = 1;
    for (int loop = 3; loop >= 0; loop--) if (last) begin
      if (here[order[loop][1:0]] + step[order[loop][1:0]] < span[order[loop][1:0]]) begin
        next[order[loop][1:0]] = here[order[loop][1:0]] + step[order[loop][1:0]];
        last = 0;
      end else next[order[loop][1:0]] = 0;
    end
  end
endmodule
