// The host: reads a run (registers, where each PE is, words of DRAM) from stdin, and writes counters and outputs.
#include <cstdint>
#include <cstdio>
#include <vector>

#include "Vaccelerator.h"
#include "Vaccelerator___024root.h"
#include "verilated.h"

static bool take(std::vector<int32_t>& words, size_t count) {
  words.resize(count);
  return std::fread(words.data(), sizeof(int32_t), count, stdin) == count;
}

int main() {
  VerilatedContext context;
  Vaccelerator chip{&context};
  auto* root = chip.rootp;
  auto tick = [&] {
    chip.clk = 0; chip.eval();
    chip.clk = 1; chip.eval();
  };
  std::vector<int32_t> head, registers, clusters, places, words;
  // The head: registers, PEs, words of DRAM at the beginning, where outputs are, how many, most cycles.
  while (take(head, 6)) {
    if (!take(registers, head[0]) || !take(clusters, head[1]) || !take(places, head[1]) || !take(words, head[2])) return 1;
    for (int i = 0; i < head[0]; i++) root->accelerator__DOT__cfg[i] = registers[i];
    for (int i = 0; i < head[1]; i++) {
      root->accelerator__DOT__the_pes__DOT__cluster_of[i] = clusters[i];
      root->accelerator__DOT__the_pes__DOT__place_of[i] = places[i];
    }
    auto& dram = root->accelerator__DOT__the_dma__DOT__dram;
    for (int i = 0; i < head[2]; i++) dram[i] = words[i];
    for (int i = 0; i < head[4]; i++) dram[head[3] + i] = 0x5a5a5a5a;
    chip.reset = 1; tick(); tick();
    chip.reset = 0;
    for (int i = 0; i < head[5] && !chip.done; i++) tick();
    const uint32_t said[] = {chip.done, chip.cycles, chip.dram_words, chip.bursts, chip.page_misses,
                             chip.noc_words, chip.working, chip.wait_noc, chip.wait_dram};
    std::fwrite(said, sizeof(uint32_t), 9, stdout);
    for (int i = 0; i < head[4]; i++) { int32_t word = dram[head[3] + i]; std::fwrite(&word, 4, 1, stdout); }
    std::fflush(stdout);
  }
}
