// Search by name: what is called so is listed with links to it, and charts, tables and mappings show it alone.

const query = document.getElementById("find");
const found = document.getElementById("found");
const SHOWN_RESULTS = 8;
let unsearched = null;

function called(words, names) {
  return names.flatMap((name, place) => (words.every((word) => name.toLowerCase().includes(word)) ? [place] : []));
}

function entry(address, name, more) {
  const item = document.createElement("li"), link = document.createElement("a"), aside = document.createElement("span");
  link.href = address;
  aside.className = "of";
  aside.textContent = more;
  link.append(name, " ", aside);
  item.append(link);
  return item;
}

function note(text) {
  const item = document.createElement("li");
  item.className = "of";
  item.textContent = text;
  return item;
}

function list(who, what, words) {
  const stands = ["standing", "curves", "tables"].find((id) => document.getElementById(id));
  const items = [
    ...who.map((place) => entry(`#${stands}`, data.searchers[place].name, "searcher")),
    ...what.map((place) => entry(`#mapping-${place + 1}`, data.problems[place].label, "problem")),
  ];
  const left = items.length - SHOWN_RESULTS;
  found.replaceChildren(...items.slice(0, SHOWN_RESULTS));
  if (left > 0) found.append(note(`and ${left} more`));
  if (!items.length && words.length) found.append(note("Nothing on this page is called so."));
  found.hidden = !words.length;
  if (words.length) say(`${who.length} searchers and ${what.length} problems found`);
}

function search() {
  const words = query.value.toLowerCase().split(/\s+/).filter(Boolean);
  const who = words.length ? called(words, data.searchers.map((one) => one.name)) : [];
  const what = words.length ? called(words, data.problems.map((one) => one.label)) : [];
  state.shown = unsearched ?? state.shown;
  unsearched = who.length ? state.shown : null;
  if (who.length) state.shown = new Set(who);
  state.found = what.length ? new Set(what) : null;
  apply(true);
  list(who, what, words);
}

query.addEventListener("input", search);
query.addEventListener("keydown", (event) => {
  if (event.key === "Enter") found.querySelector("a")?.click();
  if (event.key !== "Escape") return;
  query.value = "";
  search();
});
found.addEventListener("click", (event) => { if (event.target.closest("a")) found.hidden = true; });
query.addEventListener("focus", () => { found.hidden = !found.children.length || !query.value.trim(); });
// A browser may keep what was written here when the page is loaded again.
query.value = "";
