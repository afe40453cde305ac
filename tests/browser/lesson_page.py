"""A lesson in JupyterLab, as a student handles it."""

import json
import re
from pathlib import Path

import nbformat
from playwright.sync_api import Locator, Page, expect

ROOT = Path(__file__).resolve().parents[2]
WHOLE_NOTEBOOK = 180_000  # milliseconds that a busy machine may take for all cells
expect.set_options(timeout=60_000)


def answers_of(notebook: str) -> dict[str, str]:
    """What a good student writes: the answer cells of the solution notebook, code and prose."""
    cells = nbformat.read(ROOT / "solutions" / notebook, as_version=4).cells
    answers = [cell for cell in cells if cell.metadata.get("nbgrader", {}).get("solution")]
    return {cell.id: re.sub(r" *### (BEGIN|END) SOLUTION\n?", "", cell.source) for cell in answers}


def write_answers(file: Path, answers: dict[str, str]) -> None:
    """Put answers into a notebook that no browser has opened yet."""
    notebook = nbformat.read(file, as_version=4)
    for cell in notebook.cells:
        cell.source = answers.get(cell.id, cell.source)
    nbformat.write(notebook, file)


def press_right(page: Page, slider: Locator, times: int) -> None:
    handle = slider.locator(".noUi-handle")
    handle.focus()
    for _ in range(times):
        page.keyboard.press("ArrowRight")


class LessonPage:
    def __init__(self, page: Page, lab, path: str):
        self.page = page
        self.path = lab.folder / path
        self.ids = [cell["id"] for cell in json.loads(self.path.read_text())["cells"]]
        # A workspace of its own: nothing that another test left open.
        page.goto(lab.url(f"lab/workspaces/{self.path.stem}/tree/{path}"))
        expect(self.cell(self.ids[0])).to_be_visible()
        self._wait_for_kernel()

    def cell(self, cell_id: str) -> Locator:
        return self.page.locator(f'.jp-Cell[data-windowed-list-index="{self.ids.index(cell_id)}"]')

    def unfold_excursions(self) -> None:
        """Show the cells below the heading of the excursions, which opens folded."""
        self.show("excursions").get_by_role("button", name=re.compile("hidden")).click()

    def run_all(self) -> None:
        """Run cell after cell, to the first error."""
        self._run("Run All Cells")

    def run_above(self, cell_id: str) -> None:
        """Run the cells above this one, cell after cell, to the first error."""
        self.show(cell_id).locator(".jp-InputPrompt, .jp-RenderedMarkdown").first.click()
        self._run("Run All Above Selected Cell")

    def _run(self, command: str) -> None:
        self.page.get_by_role("menuitem", name="Run", exact=True).click()
        self.page.get_by_text(command, exact=True).click()
        expect(self.cell("setup").locator(".jp-InputPrompt")).to_have_text("[1]:")
        waiting = self.page.locator(".jp-InputPrompt", has_text="*")
        expect(waiting).to_have_count(0, timeout=WHOLE_NOTEBOOK)
        self._wait_for_kernel()

    def show(self, cell_id: str) -> Locator:
        cell = self.cell(cell_id)
        cell.scroll_into_view_if_needed()
        return cell

    def write(self, cell_id: str, text: str) -> None:
        """Put text into a cell in place of what is there."""
        cell = self.show(cell_id)
        written = cell.locator(".jp-RenderedMarkdown")
        if written.is_visible():
            written.dblclick()
        editor = cell.locator(".cm-content")
        editor.fill(text)
        self.page.keyboard.press("Escape")

    def validate(self) -> str:
        """Press nbgrader's Validate; returns what its dialog says, and leaves it open."""
        self.page.get_by_role("button", name="Validate").click()
        dialog = self.dialog
        expect(dialog).to_be_visible(timeout=WHOLE_NOTEBOOK)
        return dialog.inner_text()

    @property
    def dialog(self) -> Locator:
        return self.page.locator(".jp-Dialog-content")

    def close_dialog(self) -> None:
        self.dialog.get_by_role("button", name=re.compile("OK", re.IGNORECASE)).click()
        expect(self.dialog).to_have_count(0)

    def save(self) -> None:
        self.page.keyboard.press("Control+s")
        unsaved = self.page.locator(".lm-TabBar-tab.jp-mod-current.jp-mod-dirty")
        expect(unsaved).to_have_count(0)

    def _wait_for_kernel(self) -> None:
        idle = self.page.locator("#jp-main-statusbar").get_by_text("Python 3 (ipykernel) | Idle")
        expect(idle).to_be_visible(timeout=WHOLE_NOTEBOOK)
