// What is wider than the page scrolls in a box of its own. A keyboard can scroll only what it can reach,
// so such a box takes the focus; one that fits does not. A box also changes its size when its fold is opened.
const BOXES = ".highlight pre, .formula, .table-wrapper, .cell_output > .output, .bug-board-table > div";

const reachByKeyboard = new ResizeObserver((entries) => {
  for (const { target: box } of entries) {
    if (box.scrollWidth > box.clientWidth) {
      box.tabIndex = 0;
    } else {
      box.removeAttribute("tabindex");
    }
  }
});

for (const box of document.querySelectorAll(BOXES)) {
  reachByKeyboard.observe(box);
}
