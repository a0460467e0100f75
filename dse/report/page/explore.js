// Filters, and what follows them: charts, tables, the standing and the cards of the best mappings.

const source = document.getElementById("data");
const controls = document.querySelector(".controls");
if (!source || !controls) return;
const data = JSON.parse(source.textContent);
const status = document.getElementById("status");
const everyone = data.searchers.map((_, place) => place);
const state = { shown: new Set(everyone), scale: { x: "log", y: "log" }, strong: null, found: null };

function chosen() {
  const selects = [...controls.querySelectorAll("select[data-filter]")].filter((one) => one.value);
  return data.problems.map((_, place) => place)
    .filter((place) => !state.found || state.found.has(place))
    .filter((place) => selects.every((one) => data.problems[place][one.dataset.filter] === one.value));
}

function over(places) {
  return data.over.find((part) => part.problems.length === places.length && part.problems.every((p, i) => p === places[i]));
}

function say(text) {
  status.textContent = text;
}

const view = { data, state, strengthen, say, over: () => over(chosen())?.curves ?? {} };
const charts = [...document.querySelectorAll("figure.chart")].map((host) => new Chart(host, view));

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
  const [strip, ratio, interval, close, infeasible] = ["strip", "ratio", "interval", "close", "infeasible"]
    .map((part) => row.querySelector(`[data-part=${part}]`));
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
    say(`${data.searchers[who].name} ${state.shown.has(who) ? "shown" : "hidden"}`);
  });
  for (const event of ["pointerenter", "focus"]) key.addEventListener(event, () => strengthen(state.shown.has(who) ? who : null));
  for (const event of ["pointerleave", "blur"]) key.addEventListener(event, () => strengthen(null));
}
for (const button of controls.querySelectorAll("[data-show]")) {
  button.addEventListener("click", () => {
    state.shown = button.dataset.show === "best" ? leading() : new Set(everyone);
    apply(false);
    say(`${state.shown.size} of ${everyone.length} searchers shown`);
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
    say(`${chosen().length} of ${data.problems.length} problems chosen`);
  });
}

// Best mappings, one at a time

const which = document.getElementById("which");
const cards = document.getElementById("cards");
let card = 0;

function choose(place) {
  card = place;
  // Found by the browser's own search, where it has a name for that.
  [...cards.children].forEach((one, i) => { one.hidden = i === place ? false : "until-found"; });
  if (which) which.value = String(place + 1);
}

if (which) {
  cards.append(...document.getElementById("rest").children);
  which.addEventListener("change", () => choose(Number(which.value) - 1));
  [...cards.children].forEach((one, i) => one.addEventListener("beforematch", () => {
    choose(i);
    unfold(one);
  }));
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
addEventListener("afterprint", () => { if (which) choose(card); });
addEventListener("resize", fade);
charts.forEach((chart) => watch.observe(chart.host));
resized.observe(document.documentElement);
fade();
