// What is wider than the page scrolls in a box of its own. A keyboard can scroll only what it can reach,
// so such a box takes the focus; one that fits does not.
const BOXES = ".highlight pre, .formula, .table-wrapper";

function reachByKeyboard() {
  for (const box of document.querySelectorAll(BOXES)) {
    if (box.scrollWidth > box.clientWidth) {
      box.tabIndex = 0;
    } else {
      box.removeAttribute("tabindex");
    }
  }
}

addEventListener("resize", reachByKeyboard);
// Opened by its reader, a fold may show a box that had no width before.
document.addEventListener("toggle", reachByKeyboard, true);
reachByKeyboard();
