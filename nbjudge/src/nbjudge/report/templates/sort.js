"use strict";
// Tables with the class "sortable" are sorted by the buttons that this puts into their heads.
const words = new Intl.Collator(undefined, { numeric: true, sensitivity: "base" });

function compare(first, second) {
  // An empty field comes last, whichever way the others are sorted.
  if (first === "" || second === "") return null;
  const [a, b] = [Number(first), Number(second)];
  return Number.isNaN(a) || Number.isNaN(b) ? words.compare(first, second) : a - b;
}

function valueOf(row, column) {
  const cell = row.cells[column];
  return (cell.dataset.value ?? cell.textContent).trim();
}

function sort(table, column, direction) {
  const rows = [...table.tBodies[0].rows];
  const keyed = rows.map((row) => [valueOf(row, column), row]);
  keyed.sort(([a], [b]) => {
    const order = compare(a, b);
    return order === null ? (a === "") - (b === "") : direction * order;
  });
  table.tBodies[0].append(...keyed.map(([, row]) => row));
}

for (const table of document.querySelectorAll("table.sortable")) {
  const heads = [...table.tHead.rows[0].cells];
  heads.forEach((head, column) => {
    const button = document.createElement("button");
    button.type = "button";
    button.append(...head.childNodes);
    head.append(button);
    button.addEventListener("click", () => {
      const turned = head.getAttribute("aria-sort");
      // Numbers are asked for from the top: the most frequent, the slowest.
      const first = head.classList.contains("number") ? "descending" : "ascending";
      const other = first === "ascending" ? "descending" : "ascending";
      const next = turned === first ? other : first;
      heads.forEach((each) => each.removeAttribute("aria-sort"));
      head.setAttribute("aria-sort", next);
      sort(table, column, next === "ascending" ? 1 : -1);
    });
  });
}
