// Sorting tables and copying blocks.
{
  const SHOWN_MS = 2000;
  const status = document.getElementById("status");
  const timers = new Map();
  const words = new Intl.Collator("en", { numeric: true });

  // Sorting

  function value(row, column, numeric) {
    const cell = row.cells[column];
    if (!numeric) return cell.textContent.trim();
    return cell.dataset.value === undefined ? null : Number(cell.dataset.value);
  }

  function compare(a, b, numeric, sign) {
    // What has no number stays last, whichever way.
    if (a === null || b === null) return (a === null) - (b === null);
    return sign * (numeric ? a - b : words.compare(a, b));
  }

  function sort(table, head, column) {
    const numeric = head.classList.contains("num");
    const falling = head.getAttribute("aria-sort") === "ascending";
    const body = table.tBodies[0];
    const rows = [...body.rows].map((row) => [value(row, column, numeric), row]);
    rows.sort((a, b) => compare(a[0], b[0], numeric, falling ? -1 : 1));
    body.append(...rows.map((pair) => pair[1]));
    for (const other of table.tHead.rows[0].cells) other.removeAttribute("aria-sort");
    head.setAttribute("aria-sort", falling ? "descending" : "ascending");
    status.textContent = `Sorted by ${head.textContent.trim()}, ${falling ? "falling" : "rising"}`;
  }

  function makeSortable(table) {
    [...table.tHead.rows[0].cells].forEach((head, column) => {
      if ("fixed" in head.dataset) return;
      const button = document.createElement("button");
      button.type = "button";
      button.append(...head.childNodes);
      button.addEventListener("click", () => sort(table, head, column));
      head.append(button);
    });
  }

  // Where a window is narrow each cell says which column it is of.
  function label(table) {
    const heads = [...table.tHead.rows[0].cells].map((head) => head.textContent.trim());
    for (const row of table.tBodies[0].rows) {
      for (const cell of row.cells) cell.dataset.head = heads[cell.cellIndex];
    }
    table.classList.add("labelled");
  }

  // Copying

  function copyBySelection(text) {
    const area = document.createElement("textarea");
    const before = document.activeElement;
    area.value = text;
    area.readOnly = true;
    area.className = "hush";
    // What is hidden does not wrap, and what does not wrap would lose its spaces.
    area.style.whiteSpace = "pre";
    document.body.append(area);
    area.select();
    let done = false;
    try {
      done = document.execCommand("copy");
    } catch {
      done = false;
    }
    area.remove();
    if (before instanceof HTMLElement) before.focus({ preventScroll: true });
    return done;
  }

  async function copy(text) {
    try {
      await navigator.clipboard.writeText(text);
      return true;
    } catch {
      // No clipboard for a page from a file in this browser, or no leave to use it.
      return copyBySelection(text);
    }
  }

  function tell(button, done) {
    // What stands beside it stays where it is.
    button.style.minWidth ||= `${button.offsetWidth}px`;
    button.textContent = done ? "Copied" : "Selected: press Ctrl+C";
    button.classList.toggle("done", done);
    status.textContent = done
      ? `Copied ${button.dataset.label}`
      : `${button.dataset.label} could not be copied. It is selected: press Ctrl+C`;
    clearTimeout(timers.get(button));
    timers.set(button, setTimeout(() => {
      button.textContent = `Copy ${button.dataset.label}`;
      button.classList.remove("done");
    }, SHOWN_MS));
  }

  function select(block) {
    unfold(block);
    getSelection().selectAllChildren(block);
    block.scrollIntoView({ block: "nearest" });
  }

  async function copyBlock(button) {
    const block = document.getElementById(button.dataset.copy);
    const done = await copy(block.textContent);
    if (!done) select(block);
    tell(button, done);
  }

  document.querySelectorAll(".scroll table").forEach(label);
  document.querySelectorAll("table.sortable").forEach(makeSortable);
  document.querySelectorAll("button.copy").forEach((button) => {
    button.hidden = false;
    button.addEventListener("click", () => copyBlock(button));
  });
  document.querySelectorAll(".scripted").forEach((part) => { part.hidden = false; });
}
