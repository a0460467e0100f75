// What is folded: links open what they lead to, what a reader has opened stays so, and paper shows everything.

function unfold(element) {
  for (let part = element.closest("details"); part; part = part.parentElement.closest("details")) part.open = true;
}

{
  const KEY = `open: ${location.pathname}`;
  const folds = [...document.querySelectorAll("details[id]")];
  const every = document.querySelector("[data-open=all]");

  function kept() {
    try {
      return JSON.parse(sessionStorage.getItem(KEY)) || {};
    } catch {
      return {};  // A browser may give pages from files no store.
    }
  }

  function keep() {
    try {
      sessionStorage.setItem(KEY, JSON.stringify(Object.fromEntries(folds.map((part) => [part.id, part.open]))));
    } catch {
      // Then it is open until the page is left.
    }
  }

  function follow() {
    const target = document.getElementById(location.hash.slice(1));
    if (!target) return;
    unfold(target);
    target.scrollIntoView();
  }

  const before = kept();
  for (const part of folds) if (Object.hasOwn(before, part.id)) part.open = before[part.id];
  addEventListener("pagehide", keep);
  every.addEventListener("click", () => {
    const open = folds.some((part) => !part.open);
    for (const part of folds) part.open = open;
    every.textContent = open ? "Fold all" : "Unfold all";
  });
  addEventListener("hashchange", follow);
  document.addEventListener("click", (event) => {
    const link = event.target.closest("a[href^='#']");
    if (link && link.hash === location.hash) follow();  // The address does not change, but it may be folded again.
  });
  follow();

  // Paper cannot be clicked.
  addEventListener("beforeprint", () => {
    for (const part of document.querySelectorAll("details:not([open])")) part.open = part.dataset.printed = true;
  });
  addEventListener("afterprint", () => {
    for (const part of document.querySelectorAll("details[data-printed]")) {
      part.open = false;
      delete part.dataset.printed;
    }
  });
}
