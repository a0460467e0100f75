// A chart of curves that fall in steps: drawn from the page's data, read by mouse and by arrow keys.

const SVG = "http://www.w3.org/2000/svg";
const MANY = 6, BANDS = 5, BEST = 5, LISTED = 16, LISTED_NARROW = 8;
const NAMED = 14, LETTER = 6.6, NAME_STEP = 13;

function make(parent, tag, attributes, text) {
  const element = document.createElementNS(SVG, tag);
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
  if (text !== undefined) element.textContent = text;
  parent.append(element);
  return element;
}

function shortened(name) {
  return name.length > NAMED ? `${name.slice(0, NAMED - 6)}…${name.slice(-5)}` : name;
}

// `view` is what all charts share: the data, what is shown of them, and who is told of what.
class Chart {
  constructor(host, view) {
    this.host = host;
    this.view = view;
    this.over = host.dataset.chart === "over";
    this.problem = this.over ? null : view.data.problems[Number(host.dataset.chart)];
    this.box = document.createElement("div");
    this.box.className = "plot";
    this.svg = make(this.box, "svg", { tabindex: "0", role: "img" });
    this.tip = document.createElement("div");
    this.tip.className = "tip";
    this.tip.hidden = true;
    this.box.append(this.tip);
    host.insertBefore(this.box, host.querySelector("figcaption"));
    this.seen = false;
    this.sample = null;
    this.reserve();
    this.svg.addEventListener("pointermove", (event) => this.point(event));
    this.svg.addEventListener("pointerdown", (event) => this.point(event));
    this.svg.addEventListener("pointerleave", () => this.leave());
    this.svg.addEventListener("blur", () => this.leave());
    this.svg.addEventListener("focus", () => { if (this.svg.matches(":focus-visible")) this.read(this.top, null); });
    this.svg.addEventListener("keydown", (event) => this.key(event));
  }

  get curves() {
    return this.over ? this.view.over() : this.problem.curves;
  }

  // What comes later takes the room that it has already.
  reserve() {
    const { over, svg, view, box } = this, width = box.clientWidth || innerWidth;
    this.names = Object.keys(this.curves).map(Number).filter((who) => view.state.shown.has(who));
    const usual = over ? Math.min(440, Math.max(300, width * 0.42)) : 250;
    this.height = Math.round(Math.max(usual, this.names.length * NAME_STEP + 60));
    svg.setAttribute("height", this.height);
    this.dirty = true;
  }

  update() {
    this.reserve();
    this.leave();
    if (this.seen) this.draw();
  }

  draw() {
    const { svg, view } = this, { data, state } = view, curves = this.curves;
    const width = this.box.clientWidth;
    if (!width) return;
    this.reserve();
    this.dirty = false;
    const { names, height } = this;
    svg.replaceChildren();
    svg.setAttribute("viewBox", `0 0 ${width} ${height}`);
    const title = this.over ? "Best loss so far over all chosen problems" : this.problem.label;
    svg.setAttribute("aria-label", `${title}. Arrow keys read the values.`);
    const target = this.over ? 1 : this.problem.target, limits = domain(curves, names, target);
    if (!limits) {
      const why = !names.length ? "no searcher is shown, or none has runs here" : "nothing feasible yet";
      make(svg, "text", { x: width / 2, y: height / 2, "text-anchor": "middle", class: "tick" }, why);
      this.x = null;
      return;
    }
    const letters = Math.max(...names.map((who) => shortened(data.searchers[who].name).length));
    const area = this.area = { left: 46, right: width - Math.min(letters * LETTER + 16, 0.4 * width), top: 22, bottom: height - 34, width, height };
    this.top = Math.max(...names.map((who) => last(curves[who], 0)));
    const first = state.scale.x === "log" ? begin(curves, names, limits[1]) : 0;
    this.x = scale(state.scale.x, first, Math.max(this.top, 2), area.left, area.right);
    this.y = scale(state.scale.y, ...limits, area.bottom, area.top);
    this.unit = this.over ? "" : this.problem.unit;
    this.axes(limits);
    this.target(target, limits);
    // What leaves the axes is cut off by an inner drawing of their size.
    const inner = make(svg, "svg", { x: area.left, y: area.top - 4, width: area.right - area.left + 4, height: area.bottom - area.top + 8, class: "curves" });
    const px = (v) => this.x(v) - area.left, py = (v) => this.y(v) - area.top + 4;
    const leaders = new Set(names.length > MANY ? [...best(curves).filter((w) => state.shown.has(w)).slice(0, BEST), data.reference] : names);
    this.paths = new Map(names.map((who) => [who, []]));
    for (const who of names) this.band(inner, who, px, py);
    for (const who of [...names].sort((a, b) => leaders.has(a) - leaders.has(b))) this.line(inner, who, px, py, leaders.has(who));
    this.label(leaders);
    this.guide = make(svg, "line", { y1: area.top, y2: area.bottom, class: "guide", visibility: "hidden" });
    this.dots = make(svg, "g", { class: "curves" });
    this.emphasise();
  }

  axes(limits) {
    const { svg, x } = this, { left, right, top, bottom, width, height } = this.area;
    const [factor, unit] = prefix(Math.sqrt(limits[0] * limits[1]), this.unit);
    for (const tick of x.ticks(width < 460 ? 4 : 7)) {
      make(svg, "line", { x1: x(tick), x2: x(tick), y1: bottom, y2: bottom + 4, class: "axis" });
      make(svg, "text", { x: x(tick), y: bottom + 16, "text-anchor": "middle", class: "tick" }, plain(tick));
    }
    const scaled = scale(this.view.state.scale.y, limits[0] / factor, limits[1] / factor, bottom, top);
    for (const tick of scaled.ticks(this.over ? 8 : 5)) {
      make(svg, "line", { x1: left, x2: right, y1: scaled(tick), y2: scaled(tick), class: "rule" });
      make(svg, "text", { x: left - 6, y: scaled(tick) + 4, "text-anchor": "end", class: "tick" }, plain(tick));
    }
    make(svg, "line", { x1: left, x2: right, y1: bottom, y2: bottom, class: "axis" });
    make(svg, "text", { x: (left + right) / 2, y: height - 4, "text-anchor": "middle", class: "tick" }, "samples");
    const objective = this.over ? "" : (this.problem.objective === "edp" ? "EDP" : this.problem.objective);
    const { measure, proven } = this.view.data, base = measure || `times the ${proven ? "proven optimum" : "best known"}`;
    make(svg, "text", { x: 2, y: 12, class: "tick" }, this.over || measure ? base : `${objective}${unit ? `, ${unit}` : ""}`);
  }

  target(value, limits) {
    if (!value || value < limits[0] || value > limits[1]) return;
    const { left, right } = this.area, down = this.y(value);
    make(this.svg, "line", { x1: left, x2: right, y1: down, y2: down, class: "target" });
    const proven = this.over ? this.view.data.proven : this.problem.proven;
    make(this.svg, "text", { x: left + 4, y: down - 4, class: "tick" }, proven ? (this.view.data.measure ? "exact front" : "proven optimum") : "best known");
  }

  line(parent, who, px, py, leading) {
    const { data, state } = this.view, [x, centre] = this.curves[who];
    const places = x.map((samples, i) => [samples, centre[i]])
      .filter(([samples, value]) => value !== null && (state.scale.x !== "log" || samples >= 1))
      .map(([samples, value]) => [px(samples), py(value)]);
    const look = data.searchers[who];
    const drawn = make(parent, "path", {
      d: places.length ? steps(places) : "M0,0", stroke: look.colour, "stroke-dasharray": look.dash, fill: "none",
      class: `curve${who === data.reference ? " leading" : ""}${leading ? "" : " quiet"}`,
    });
    this.paths.get(who).push(drawn);
    if (look.cut && places.length) make(parent, "circle", { cx: places.at(-1)[0], cy: places.at(-1)[1], r: 3, fill: look.colour });
  }

  band(parent, who, px, py) {
    const [x, centre, low, high] = this.curves[who];
    const above = py(this.y.back(this.area.top - 40));
    const places = x.map((samples, i) => [samples, low[i], high[i], centre[i]])
      .filter((one) => one[1] !== null && one[3] !== null)
      .map((one) => [px(one[0]), py(one[1]), one[2] === null ? above : py(one[2])]);
    if (places.length < 2) return;
    const always = this.names.length <= BANDS || who === this.view.data.reference;
    this.paths.get(who).push(make(parent, "path", {
      d: around(places), fill: this.view.data.searchers[who].colour, class: `band${always ? " always" : ""}`,
    }));
  }

  // Each searcher's name at the end of its curve, or as near as there is room.
  label(leaders) {
    const { svg, names, curves } = this, { right, top, bottom } = this.area;
    const group = make(svg, "g", { class: "curves names" });
    const ends = names.map((who) => Number.isFinite(last(curves[who])) ? Math.max(top, this.y(last(curves[who]))) : top);
    const heights = spread(ends, NAME_STEP, top, bottom);
    names.forEach((who, i) => {
      const { name, colour, text } = this.view.data.searchers[who], found = Number.isFinite(last(curves[who]));
      if (found) make(group, "path", { d: `M${right + 1},${ends[i]}L${right + 10},${heights[i]}`, stroke: colour, class: "lead" });
      const shown = make(group, "text", {
        x: right + 13, y: heights[i] + 4, fill: text,
        class: `name${who === this.view.data.reference ? " leading" : ""}${leaders.has(who) ? "" : " quiet"}`,
      }, shortened(name));
      make(shown, "title", {}, found ? name : `${name}: nothing feasible`);
      shown.addEventListener("pointerenter", () => this.view.strengthen(who));
      shown.addEventListener("pointerleave", () => this.view.strengthen(null));
      this.paths.get(who).push(shown);
    });
  }

  emphasise() {
    if (!this.paths) return;
    const { strong } = this.view.state;
    for (const [who, parts] of this.paths) {
      for (const part of parts) {
        part.classList.toggle("strong", strong === who);
        part.classList.toggle("faint", strong !== null && strong !== who);
      }
    }
  }

  // Reading values

  point(event) {
    if (this.dirty || !this.x) return;
    const box = this.svg.getBoundingClientRect(), across = event.clientX - box.left;
    if (across > this.area.right + 8) { this.leave(false); return; }
    const first = Math.max(1, Math.ceil(this.x.back(this.area.left)));
    this.read(Math.min(this.top, Math.max(first, Math.round(this.x.back(across)))), event.clientY - box.top);
  }

  key(event) {
    if (!this.x) return;
    if (event.key === "Escape") { this.leave(); return; }
    const from = this.x.back(this.area.left);
    const grid = [...new Set(this.names.flatMap((who) => this.curves[who][0]))].filter((v) => v >= from).sort((a, b) => a - b);
    const place = grid.indexOf(grid.findLast((v) => v <= (this.sample ?? this.top)));
    const to = { ArrowLeft: place - 1, ArrowRight: place + 1, Home: 0, End: grid.length - 1 }[event.key];
    if (to === undefined) return;
    event.preventDefault();
    this.read(grid[Math.min(grid.length - 1, Math.max(0, to))], null);
  }

  read(sample, height) {
    if (!this.x) return;
    this.sample = sample;
    const found = this.names.map((who) => [who, at(this.curves[who], sample)])
      .filter((one) => one[1] && one[1][0] !== null).sort((a, b) => a[1][0] - b[1][0]);
    const { left, right, width } = this.area, across = this.x(sample);
    this.guide.setAttribute("x1", across);
    this.guide.setAttribute("x2", across);
    this.guide.setAttribute("visibility", "visible");
    let near = null;
    if (height !== null && found.length) {
      const distance = (one) => Math.abs(this.y(one[1][0]) - height);
      near = found.reduce((a, b) => (distance(b) < distance(a) ? b : a));
      if (distance(near) > 24) near = null;
    }
    this.view.strengthen(near ? near[0] : null);
    this.dots.replaceChildren();
    for (const [who, [value]] of found) {
      if (this.y(value) < this.area.top - 4) continue;
      make(this.dots, "circle", { cx: across, cy: this.y(value), r: near && near[0] === who ? 4.5 : 2.5, fill: this.view.data.searchers[who].colour });
    }
    this.list(sample, found, near);
    this.tip.hidden = false;
    const wide = this.tip.offsetWidth, room = across > (left + right) / 2 ? across - wide - 14 : across + 14;
    this.tip.style.left = `${Math.min(width - wide, Math.max(0, room))}px`;
    if (height === null) this.say(sample, found);
  }

  say(sample, found) {
    const words = found.slice(0, BEST).map(([who, [v, low, high]]) =>
      [`${this.view.data.searchers[who].name} ${figure(v, this.unit)}`, interval(low, high, this.unit)].filter(Boolean).join(", "));
    this.view.say(`${plain(sample)} samples: ${words.join("; ") || "nothing feasible yet"}`);
  }

  list(sample, found, near) {
    // In a narrow window intervals of all would cover the chart.
    const narrow = this.area.width < 460, most = narrow ? LISTED_NARROW : LISTED;
    const table = document.createElement("table");
    table.createCaption().textContent = `after ${plain(sample)} sample${sample === 1 ? "" : "s"}`;
    const listed = found.slice(0, most);
    if (near && !listed.includes(near)) listed[most - 1] = near;
    for (const one of listed) {
      const [who, [value, low, high]] = one, row = table.insertRow();
      if (one === near) row.className = "near";
      const mark = document.createElement("i"), { name, colour } = this.view.data.searchers[who];
      mark.style.background = colour;
      row.insertCell().append(mark, name);
      row.insertCell().textContent = figure(value, this.unit);
      if (!narrow) row.insertCell().textContent = interval(low, high, this.unit);
    }
    const note = (text) => {
      const cell = table.insertRow().insertCell();
      cell.colSpan = 3;
      cell.textContent = text;
    };
    if (narrow && near && near[1][1] !== near[1][2]) note(`95 %: ${interval(near[1][1], near[1][2], this.unit)}`);
    if (found.length > listed.length) note(`and ${found.length - listed.length} more`);
    if (!found.length) note("nothing feasible yet");
    this.tip.replaceChildren(table);
  }

  leave(all = true) {
    this.tip.hidden = true;
    this.sample = null;
    if (this.guide) this.guide.setAttribute("visibility", "hidden");
    if (this.dots) this.dots.replaceChildren();
    if (all) this.view.strengthen(null);
  }
}
