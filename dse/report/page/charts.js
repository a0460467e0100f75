"use strict";
(() => {
  // Charts from the page's own data, and the filters that charts, tables and cards follow.

  const SVG = "http://www.w3.org/2000/svg";
  const source = document.getElementById("data");
  const controls = document.querySelector(".controls");
  if (!source || !controls) return;
  const data = JSON.parse(source.textContent);
  const status = document.getElementById("status");
  const everyone = data.searchers.map((_, place) => place);
  const state = { shown: new Set(everyone), scale: { x: "log", y: "log" }, strong: null };
  const MANY = 6, BANDS = 5, BEST = 5, LISTED = 16, LISTED_NARROW = 8, RACE = 0.02;

  // Numbers

  // As dse.support.quantities: prefixes go with s and J alone, a product of units has a power of ten.
  const PREFIXES = { "-15": "f", "-12": "p", "-9": "n", "-6": "µ", "-3": "m", 0: "", 3: "k", 6: "M", 9: "G" };
  const grouped = new Intl.NumberFormat("en", { maximumFractionDigits: 6 });

  function prefix(value, unit) {
    if (!["s", "J", "J s"].includes(unit) || !(value > 0)) return [1, unit];
    const power = Math.min(9, Math.max(unit === "J s" ? -300 : -15, 3 * Math.floor(Math.log10(value) / 3 + 1e-9)));
    if (unit !== "J s") return [10 ** power, PREFIXES[power] + unit];
    return [10 ** power, power ? `10${raised(power)} ${unit}` : unit];
  }

  function raised(power) {
    return [...String(power)].map((sign) => "⁻⁰¹²³⁴⁵⁶⁷⁸⁹"["-0123456789".indexOf(sign)]).join("");
  }

  function plain(value) {
    return grouped.format(value);
  }

  function figure(value, unit) {
    if (value === null || value === undefined) return "infeasible";
    if (!unit) return value >= 10 ? plain(Number(value.toPrecision(4))) : value.toFixed(3);
    if (unit === "J s" && value > 0 && (value < 1e-4 || value >= 1e4)) {
      const [mantissa, power] = value.toExponential(3).split("e");
      return `${mantissa} × 10${raised(Number(power))} ${unit}`;
    }
    const [scale, shown] = unit === "J s" ? [1, unit] : prefix(value, unit);
    const digits = value / scale;
    return `${digits >= 1e3 ? plain(Number(digits.toPrecision(5))) : digits.toPrecision(4)} ${shown}`;
  }

  // An interval, with its unit once; nothing where there is none.
  function interval(low, high, unit) {
    if (low === high) return "";
    const [a, b] = [figure(low, unit), figure(high, unit)];
    const same = unit && a.includes(" ") && a.slice(a.indexOf(" ")) === b.slice(b.indexOf(" "));
    return `${same ? a.slice(0, a.indexOf(" ")) : a} to ${b}`;
  }

  // What is chosen

  function chosen() {
    const selects = [...controls.querySelectorAll("select[data-filter]")].filter((one) => one.value);
    return data.problems.map((_, place) => place)
      .filter((place) => selects.every((one) => data.problems[place][one.dataset.filter] === one.value));
  }

  function over(places) {
    const same = (part) => part.problems.length === places.length && part.problems.every((p, i) => p === places[i]);
    return data.over.find(same);
  }

  function last(curve, column = 1) {
    const value = curve[column][curve[column].length - 1];
    return value === null ? Infinity : value;
  }

  function best(curves) {
    return Object.keys(curves).map(Number).filter((who) => Number.isFinite(last(curves[who])))
      .sort((a, b) => last(curves[a]) - last(curves[b]));
  }

  // The value of a curve after so many samples: that of its point there, or between two points.
  function at(curve, samples) {
    const [x, ...columns] = curve;
    if (samples < x[0] || samples > x[x.length - 1]) return null;
    let right = x.findIndex((one) => one >= samples);
    if (x[right] === samples || right === 0) return columns.map((column) => column[right]);
    const share = Math.log(samples / x[right - 1]) / Math.log(x[right] / x[right - 1]);
    return columns.map((column) => {
      const [a, b] = [column[right - 1], column[right]];
      return a === null || b === null ? a : a * (b / a) ** share;
    });
  }

  // Scales

  function scale(kind, low, high, from, to) {
    const f = kind === "log" ? Math.log : (v) => v;
    const [a, b] = [f(low), f(high)];
    const place = (v) => from + ((f(v) - a) / (b - a || 1)) * (to - from);
    place.back = (p) => {
      const v = a + ((p - from) / (to - from)) * (b - a);
      return kind === "log" ? Math.exp(v) : v;
    };
    place.ticks = (most) => kind === "log" && high / low >= 2.5 ? logTicks(low, high, most) : evenTicks(low, high, most);
    return place;
  }

  function evenTicks(low, high, most) {
    const rough = (high - low) / most, power = 10 ** Math.floor(Math.log10(rough));
    const step = [1, 2, 2.5, 5, 10].map((m) => m * power).find((s) => s >= rough * 0.999) || 10 * power;
    const found = [];
    for (let k = Math.ceil(low / step - 1e-9); k * step <= high * (1 + 1e-12); k += 1) found.push(Number((k * step).toPrecision(12)));
    return found;
  }

  function logTicks(low, high, most) {
    for (const steps of [[1, 1.5, 2, 3, 4, 5, 7], [1, 2, 3, 5], [1, 2, 5], [1, 3], [1]]) {
      const found = [];
      for (let k = Math.floor(Math.log10(low)); k <= Math.ceil(Math.log10(high)); k += 1) {
        for (const m of steps) found.push(Number((m * 10 ** k).toPrecision(12)));
      }
      const inside = found.filter((v) => v >= low * 0.9999 && v <= high * 1.0001);
      if (inside.length <= most) return inside;
    }
    const first = Math.ceil(Math.log10(low)), count = Math.floor(Math.log10(high)) - first + 1;
    const step = Math.ceil(count / most);
    return Array.from({ length: Math.ceil(count / step) }, (_, i) => 10 ** (first + i * step));
  }

  function domain(curves, names, target) {
    const ends = [], starts = [];
    for (const who of names) {
      const [x, centre] = curves[who];
      if (Number.isFinite(last(curves[who]))) ends.push(last(curves[who]), last(curves[who], 2));
      const limit = Math.max(x[0], RACE * x[x.length - 1]);
      const early = centre.filter((v, i) => v !== null && x[i] <= limit);
      if (early.length) starts.push(Math.min(...early));
    }
    if (!ends.length) return null;
    starts.sort((a, b) => a - b);
    const low = Math.min(...ends, ...(target ? [target] : []));
    const middle = starts.length ? starts[Math.floor(starts.length / 2)] : 0;
    const high = Math.max(...ends, middle, 1.02 * low);
    const pad = (high / low) ** 0.07;
    return [low / pad, high * pad];
  }

  // Where the first curve comes into view: before that a logarithmic axis of samples would be empty.
  function begin(curves, names, high) {
    const entries = names.map((who) => curves[who][0].find((_, i) => curves[who][1][i] !== null && curves[who][1][i] <= high));
    const first = Math.min(...entries.filter((one) => one !== undefined));
    return Math.max(1, Number.isFinite(first) ? first / 1.3 : 1);
  }

  // Drawing

  function make(parent, tag, attributes, text) {
    const element = document.createElementNS(SVG, tag);
    for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
    if (text !== undefined) element.textContent = text;
    parent.append(element);
    return element;
  }

  class Chart {
    constructor(host) {
      this.host = host;
      this.over = host.dataset.chart === "over";
      this.problem = this.over ? null : data.problems[Number(host.dataset.chart)];
      this.box = document.createElement("div");
      this.box.className = "plot";
      this.svg = make(this.box, "svg", { tabindex: "0", role: "img" });
      this.tip = document.createElement("div");
      this.tip.className = "tip";
      this.tip.hidden = true;
      this.box.append(this.tip);
      const caption = host.querySelector("figcaption");
      host.insertBefore(this.box, caption);
      this.dirty = true;
      this.seen = false;
      this.sample = null;
      this.svg.addEventListener("pointermove", (event) => this.point(event));
      this.svg.addEventListener("pointerdown", (event) => this.point(event));
      this.svg.addEventListener("pointerleave", () => this.leave());
      this.svg.addEventListener("blur", () => this.leave());
      this.svg.addEventListener("focus", () => { if (this.svg.matches(":focus-visible")) this.read(this.top, null); });
      this.svg.addEventListener("keydown", (event) => this.key(event));
    }

    get curves() {
      if (!this.over) return this.problem.curves;
      const part = over(chosen());
      return part ? part.curves : {};
    }

    update() {
      this.dirty = true;
      this.leave();
      if (this.seen) this.draw();
    }

    draw() {
      this.dirty = false;
      const width = this.box.clientWidth, height = Math.round(this.over ? Math.min(440, Math.max(300, width * 0.45)) : 250);
      if (!width) { this.dirty = true; return; }
      const { svg } = this, curves = this.curves;
      svg.replaceChildren();
      svg.setAttribute("viewBox", `0 0 ${width} ${height}`);
      svg.setAttribute("height", height);
      const names = Object.keys(curves).map(Number).filter((who) => state.shown.has(who));
      const target = this.over ? 1 : this.problem.target;
      const limits = domain(curves, names, target);
      const title = this.over ? "Best loss so far over all chosen problems" : this.problem.label;
      svg.setAttribute("aria-label", `${title}. Arrow keys read the values.`);
      this.names = names;
      if (!limits) {
        const why = !names.length ? "no searcher is shown, or none has runs here" : "nothing feasible yet";
        make(svg, "text", { x: width / 2, y: height / 2, "text-anchor": "middle", class: "tick" }, why);
        this.x = null;
        return;
      }
      const unit = this.over ? "" : this.problem.unit;
      const [factor, shownUnit] = prefix(Math.sqrt(limits[0] * limits[1]), unit);
      const left = 52, right = width - 10, top = 22, bottom = height - 34;
      this.top = Math.max(...names.map((who) => last(curves[who], 0)));
      const first = state.scale.x === "log" ? begin(curves, names, limits[1]) : 0;
      const x = this.x = scale(state.scale.x, first, Math.max(this.top, 2), left, right);
      const y = scale(state.scale.y, limits[0], limits[1], bottom, top);
      Object.assign(this, { y, unit, area: { left, right, top, bottom, width, height } });
      for (const tick of x.ticks(width < 460 ? 4 : 7)) {
        make(svg, "line", { x1: x(tick), x2: x(tick), y1: bottom, y2: bottom + 4, class: "axis" });
        make(svg, "text", { x: x(tick), y: bottom + 16, "text-anchor": tick === this.top ? "end" : "middle", class: "tick" }, plain(tick));
      }
      const scaled = scale(state.scale.y, limits[0] / factor, limits[1] / factor, bottom, top);
      for (const tick of scaled.ticks(this.over ? 8 : 5)) {
        make(svg, "line", { x1: left, x2: right, y1: scaled(tick), y2: scaled(tick), class: "rule" });
        make(svg, "text", { x: left - 6, y: scaled(tick) + 4, "text-anchor": "end", class: "tick" }, plain(tick));
      }
      make(svg, "line", { x1: left, x2: right, y1: bottom, y2: bottom, class: "axis" });
      make(svg, "text", { x: (left + right) / 2, y: height - 4, "text-anchor": "middle", class: "tick" }, "samples");
      const objective = this.over ? "" : (this.problem.objective === "edp" ? "EDP" : this.problem.objective);
      const base = data.proven ? "proven optimum" : "best known";
      const said = this.over ? `times the ${base}` : `${objective}${shownUnit ? `, ${shownUnit}` : ""}`;
      make(svg, "text", { x: 2, y: 12, class: "tick" }, said);
      if (target && target >= limits[0] && target <= limits[1]) {
        make(svg, "line", { x1: left, x2: right, y1: y(target), y2: y(target), class: "target" });
        const proven = this.over ? data.proven : this.problem.proven;
        make(svg, "text", { x: left + 4, y: y(target) - 4, class: "tick" }, proven ? "proven optimum" : "best known");
      }
      // What leaves the axes is cut off by an inner drawing of their size.
      const inner = make(svg, "svg", { x: left, y: top - 4, width: right - left + 6, height: bottom - top + 8, class: "curves" });
      const px = (v) => x(v) - left, py = (v) => y(v) - top + 4;
      const leaders = new Set(names.length > MANY ? [...best(curves).filter((w) => state.shown.has(w)).slice(0, BEST), data.reference] : names);
      this.paths = new Map();
      for (const who of names) this.band(inner, who, px, py);
      for (const who of [...names].sort((a, b) => leaders.has(a) - leaders.has(b))) {
        this.line(inner, who, px, py, leaders.has(who));
      }
      this.guide = make(svg, "line", { y1: top, y2: bottom, class: "guide", visibility: "hidden" });
      this.dots = make(svg, "g", { class: "curves" });
      this.emphasise();
    }

    line(parent, who, px, py, leading) {
      const [x, centre] = this.curves[who];
      let path = "", pen = "M";
      x.forEach((samples, i) => {
        if (centre[i] === null || (state.scale.x === "log" && samples < 1)) { pen = "M"; return; }
        path += `${pen}${px(samples).toFixed(1)},${py(centre[i]).toFixed(1)}`;
        pen = "L";
      });
      const look = data.searchers[who];
      const drawn = make(parent, "path", {
        d: path || "M0,0", stroke: look.colour, "stroke-dasharray": look.dash, fill: "none",
        class: `curve${who === data.reference ? " leading" : ""}${leading ? "" : " quiet"}`,
      });
      this.paths.set(who, [drawn, ...(this.paths.get(who) || [])]);
      if (look.cut && centre[centre.length - 1] !== null) {
        const end = x.length - 1;
        make(parent, "circle", { cx: px(x[end]), cy: py(centre[end]), r: 3, fill: look.colour });
      }
    }

    band(parent, who, px, py) {
      const [x, centre, low, high] = this.curves[who];
      const top = this.y.back(this.area.top - 40);
      const points = x.map((samples, i) => [samples, low[i], high[i] === null ? top : high[i], centre[i]])
        .filter((one) => one[1] !== null && one[3] !== null);
      if (points.length < 2) return;
      const there = points.map((one) => `${px(one[0]).toFixed(1)},${py(one[1]).toFixed(1)}`);
      const back = points.reverse().map((one) => `${px(one[0]).toFixed(1)},${py(one[2]).toFixed(1)}`);
      const always = this.names.length <= BANDS || who === data.reference;
      const drawn = make(parent, "path", {
        d: `M${there.join("L")}L${back.join("L")}Z`, fill: data.searchers[who].colour,
        class: `band${always ? " always" : ""}`,
      });
      this.paths.set(who, [drawn]);
    }

    emphasise() {
      if (!this.paths) return;
      for (const [who, paths] of this.paths) {
        for (const path of paths) {
          path.classList.toggle("strong", state.strong === who);
          path.classList.toggle("faint", state.strong !== null && state.strong !== who);
        }
      }
    }

    // Reading values

    point(event) {
      if (this.dirty || !this.x) return;
      const box = this.svg.getBoundingClientRect();
      const sample = Math.round(this.x.back(event.clientX - box.left));
      this.read(Math.min(this.top, Math.max(1, Math.ceil(this.x.back(this.area.left)), sample)), event.clientY - box.top);
    }

    key(event) {
      if (!this.x) return;
      const from = this.x.back(this.area.left);
      const grid = [...new Set(this.names.flatMap((who) => this.curves[who][0]))].filter((v) => v >= from).sort((a, b) => a - b);
      const place = grid.indexOf(grid.findLast((v) => v <= (this.sample ?? this.top)));
      const to = { ArrowLeft: place - 1, ArrowRight: place + 1, Home: 0, End: grid.length - 1 }[event.key];
      if (event.key === "Escape") { this.leave(); return; }
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
      strengthen(near ? near[0] : null);
      this.dots.replaceChildren();
      for (const [who, [value]] of found) {
        if (this.y(value) < this.area.top - 4) continue;
        make(this.dots, "circle", { cx: across, cy: this.y(value), r: near && near[0] === who ? 4.5 : 2.5, fill: data.searchers[who].colour });
      }
      this.list(sample, found, near);
      this.tip.hidden = false;
      const wide = this.tip.offsetWidth, room = across > (left + right) / 2 ? across - wide - 14 : across + 14;
      this.tip.style.left = `${Math.min(width - wide, Math.max(0, room))}px`;
      if (height === null) {
        const words = found.slice(0, BEST).map(([who, [v, low, high]]) =>
          [`${data.searchers[who].name} ${figure(v, this.unit)}`, interval(low, high, this.unit)].filter(Boolean).join(", "));
        status.textContent = `${plain(sample)} samples: ${words.join("; ") || "nothing feasible yet"}`;
      }
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
        const mark = document.createElement("i");
        mark.style.background = data.searchers[who].colour;
        row.insertCell().append(mark, data.searchers[who].name);
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

    leave() {
      this.tip.hidden = true;
      this.sample = null;
      if (this.guide) this.guide.setAttribute("visibility", "hidden");
      if (this.dots) this.dots.replaceChildren();
      strengthen(null);
    }
  }

  const charts = [...document.querySelectorAll("figure.chart")].map((host) => new Chart(host));

  function strengthen(who) {
    if (state.strong === who) return;
    state.strong = who;
    for (const chart of charts) chart.emphasise();
    for (const key of keys) key.classList.toggle("strong", Number(key.dataset.key) === who);
  }

  // Charts are drawn when they come into view: a campaign on whole networks has a hundred.
  const watch = new IntersectionObserver((entries) => {
    for (const entry of entries) {
      const chart = charts.find((one) => one.host === entry.target);
      chart.seen = entry.isIntersecting;
      if (chart.seen && chart.dirty) chart.draw();
    }
  }, { rootMargin: "400px" });
  let width = 0;
  const resized = new ResizeObserver(() => {
    if (document.documentElement.clientWidth === width) return;
    width = document.documentElement.clientWidth;
    charts.forEach((chart) => chart.update());
  });

  // Following the filters

  const keys = [...controls.querySelectorAll("[data-key]")];
  const overflowing = [...document.querySelectorAll(".scroll")];

  function hidden(element, places) {
    const who = element.dataset.searcher, what = element.dataset.problem;
    return (who !== undefined && who.split(" ").some((one) => !state.shown.has(Number(one))))
      || (what !== undefined && !places.has(Number(what)));
  }

  function follow(places) {
    const inside = new Set(places);
    for (const row of document.querySelectorAll("tbody tr[data-searcher], tbody tr[data-problem]")) row.hidden = hidden(row, inside);
    for (const head of document.querySelectorAll("thead th[data-searcher]")) {
      const off = hidden(head, inside);
      for (const row of head.closest("table").rows) if (row.cells[head.cellIndex]) row.cells[head.cellIndex].hidden = off;
    }
    for (const part of document.querySelectorAll("[data-problems]")) {
      part.hidden = !part.dataset.problems.split(" ").some((one) => inside.has(Number(one)));
    }
    for (const chart of charts) if (!chart.over) chart.host.hidden = !inside.has(Number(chart.host.dataset.chart));
  }

  function restand(places) {
    const table = document.querySelector("table.standing"), part = over(places);
    const scope = document.getElementById("scope"), heading = document.getElementById("over");
    const all = places.length === data.problems.length;
    if (heading) heading.textContent = all ? "Over all problems" : `Over ${places.length} of ${data.problems.length} problems`;
    if (!table) return;
    scope.hidden = all;
    scope.textContent = !places.length ? "No problem has all of these."
      : `${places.length} of ${data.problems.length} problems chosen${part ? "" : ": for these the ratios are not on this page"}.`;
    const curves = part ? part.curves : {};
    const rows = [...table.tBodies[0].rows];
    const ends = rows.flatMap((row) => curves[row.dataset.searcher] ? [1, 2, 3].map((c) => last(curves[row.dataset.searcher], c)) : []).filter(Number.isFinite);
    const low = Math.min(1, ...ends), high = Math.max(1, ...ends);
    const share = (v) => !Number.isFinite(v) ? 100 : high > low ? (100 * Math.log(v / low)) / Math.log(high / low) : 50;
    table.querySelectorAll(".scale > span:not(.hush)").forEach((end, i) => { end.textContent = figure([low, high][i], ""); });
    for (const row of rows) stand(row, curves[row.dataset.searcher], places, share);
  }

  function stand(row, curve, places, share) {
    const [, strip, ratio, interval, close, infeasible] = row.cells;
    const [value, low, high] = curve ? [1, 2, 3].map((column) => last(curve, column)) : [null, null, null];
    const known = curve && Number.isFinite(value);
    const shown = (v) => !curve ? "–" : Number.isFinite(v) ? figure(v, "") : "infeasible";
    ratio.firstElementChild.textContent = shown(value);
    interval.textContent = curve ? `${shown(low)} to ${shown(high)}` : "–";
    for (const cell of [ratio, interval]) if (known) cell.dataset.value = value; else delete cell.dataset.value;
    const track = strip.firstElementChild;
    track.replaceChildren();
    if (known) {
      const bar = document.createElement("i"), dot = document.createElement("i");
      bar.className = "bar";
      bar.style.left = `${share(low)}%`;
      bar.style.width = `${share(high) - share(low)}%`;
      dot.className = "dot";
      dot.style.left = `${share(value)}%`;
      track.append(bar, dot);
    }
    const [near, runs, refused, samples] = places.map((place) => data.problems[place].ends[row.dataset.searcher])
      .reduce((sum, one) => sum.map((v, i) => v + one[i]), [0, 0, 0, 0]);
    close.textContent = `${plain(near)} of ${plain(runs)}`;
    close.dataset.value = near / Math.max(runs, 1);
    const rate = refused / Math.max(samples, 1);
    infeasible.dataset.value = rate;
    infeasible.textContent = `${Number((100 * rate).toPrecision(2))} %`;
  }

  function apply(refiltered) {
    const places = chosen();
    follow(places);
    if (refiltered) {
      restand(places);
      if (places.length && !places.includes(card)) choose(places[0]);
    }
    for (const key of keys) key.setAttribute("aria-pressed", String(state.shown.has(Number(key.dataset.key))));
    press("[data-show=all]", state.shown.size === everyone.length);
    press("[data-show=best]", same(state.shown, leading()));
    charts.forEach((chart) => chart.update());
    fade();
  }

  function press(selector, pressed) {
    const button = controls.querySelector(selector);
    if (button) button.setAttribute("aria-pressed", String(pressed));
  }

  function same(a, b) {
    return a.size === b.size && [...a].every((one) => b.has(one));
  }

  function leading() {
    const part = over(chosen()) || data.over[0];
    return new Set(best(part.curves).slice(0, BEST));
  }

  for (const key of keys) {
    const who = Number(key.dataset.key);
    key.addEventListener("click", () => {
      if (!state.shown.delete(who)) state.shown.add(who);
      apply(false);
      status.textContent = `${data.searchers[who].name} ${state.shown.has(who) ? "shown" : "hidden"}`;
    });
    for (const event of ["pointerenter", "focus"]) key.addEventListener(event, () => strengthen(state.shown.has(who) ? who : null));
    for (const event of ["pointerleave", "blur"]) key.addEventListener(event, () => strengthen(null));
  }
  for (const button of controls.querySelectorAll("[data-show]")) {
    button.addEventListener("click", () => {
      state.shown = button.dataset.show === "best" ? leading() : new Set(everyone);
      apply(false);
      status.textContent = `${state.shown.size} of ${everyone.length} searchers shown`;
    });
  }
  for (const button of controls.querySelectorAll("[data-axis]")) {
    button.addEventListener("click", () => {
      const { axis } = button.dataset;
      state.scale[axis] = button.dataset.scale;
      for (const one of controls.querySelectorAll(`[data-axis=${axis}]`)) one.setAttribute("aria-pressed", String(one === button));
      charts.forEach((chart) => chart.update());
    });
  }
  for (const select of controls.querySelectorAll("select")) {
    select.addEventListener("change", () => {
      apply(true);
      status.textContent = `${chosen().length} of ${data.problems.length} problems chosen`;
    });
  }

  // Best mappings, one at a time

  const which = document.getElementById("which");
  const cards = document.getElementById("cards");
  let card = 0;

  function choose(place) {
    card = place;
    [...cards.children].forEach((one, i) => { one.hidden = i !== place; });
    if (which) which.value = String(place + 1);
  }

  if (which) {
    cards.append(...document.getElementById("rest").children);
    which.addEventListener("change", () => choose(Number(which.value) - 1));
    const named = () => {
      const found = /^#mapping-(\d+)$/.exec(location.hash);
      if (!found || !cards.children[found[1] - 1]) return;
      choose(found[1] - 1);
      document.getElementById("mappings").scrollIntoView();
    };
    addEventListener("hashchange", named);
    choose(0);
    named();
  }

  // What goes on beyond an edge fades out there.

  function fade() {
    for (const box of overflowing) {
      box.classList.toggle("more", box.scrollWidth - box.clientWidth - box.scrollLeft > 2);
    }
  }

  overflowing.forEach((box) => box.addEventListener("scroll", fade, { passive: true }));
  document.querySelectorAll("details").forEach((part) => part.addEventListener("toggle", fade));
  document.querySelectorAll("figure.redrawn").forEach((part) => { part.hidden = true; });
  addEventListener("beforeprint", () => {
    [...cards.children].forEach((one) => { one.hidden = false; });
    charts.filter((chart) => chart.dirty && !chart.host.hidden).forEach((chart) => chart.draw());
  });
  addEventListener("afterprint", () => choose(card));
  addEventListener("resize", fade);
  charts.forEach((chart) => watch.observe(chart.host));
  resized.observe(document.documentElement);
  fade();
})();
