"""What students and instructors see in a browser: a lesson, the list of assignments, the formgrader."""

import json
import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import nbformat
from course_copies import ANSWERS, MARK_SCHEME, ROOT
from playwright.sync_api import FrameLocator, Locator, Page, expect
from tiny_course import FOLDER, NAME

WHOLE_NOTEBOOK = 180_000  # milliseconds that a busy machine may take for all cells
COMMENT = "The wombat is there, the reason is not."
expect.set_options(timeout=60_000)


def answers_of(notebook: str) -> dict[str, str]:
    """Return what a good student writes: the answer cells of the solution notebook, code and prose."""
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

    def run_cell(self, cell_id: str) -> None:
        """Run one cell, as Control-Enter does."""
        self.show(cell_id).locator(".cm-content").click()
        self.page.keyboard.press("Control+Enter")
        expect(self.page.locator(".jp-InputPrompt", has_text="*")).to_have_count(0, timeout=120_000)

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


class AssignmentList:
    """nbgrader's list of assignments, as a student opens it from JupyterLab's menu."""

    def __init__(self, page: Page, address: str):
        """`address` is that of a JupyterLab."""
        self.page = page
        page.goto(address)
        page.get_by_role("menuitem", name="Nbgrader").click()
        page.get_by_role("menuitem", name="Assignment List").click()

    def row(self, kind: str) -> Locator:
        """The lesson among the `released`, `fetched` or `submitted` ones."""
        return self.page.locator(f"#{kind}_assignments_list .list_item", has_text=FOLDER).first

    def press(self, kind: str, button: str) -> None:
        self.row(kind).get_by_role("button", name=button, exact=True).click()

    def refresh(self) -> None:
        self.page.locator("#refresh_assignments_list").click()

    def open_feedback(self) -> Locator:
        """The feedback page, opened as a student does: from the list, through the file browser."""
        page = self.page
        self.row("submitted").get_by_text("view feedback").click()
        page.locator(".jp-DirListing-item", has_text=f"{NAME}.html").dblclick()
        return page.frame_locator(".jp-HTMLViewer iframe").locator("body")


class Formgrader:
    """nbgrader's formgrader, opened from JupyterLab's menu."""

    def __init__(self, page: Page, address: str):
        """`address` is that of a JupyterLab."""
        self.page = page
        page.goto(address)
        page.get_by_role("menuitem", name="Nbgrader").click()
        page.get_by_role("menuitem", name="Formgrader").click()

    @property
    def frame(self) -> FrameLocator | Page:
        return self.page.frame_locator("iframe[src*=formgrader]")

    def row(self, text: str) -> Locator:
        """The row of the page's table that holds this text."""
        return self.frame.locator("#main-table tr", has_text=text)

    def open(self, *links: str) -> None:
        """Follow links, one page after the other."""
        for link in links:
            self.frame.get_by_role("link", name=link, exact=True).first.click()

    def press(self, row: str, button: str) -> str:
        """Press the button in a row's column; returns what is said then, and closes it."""
        self.row(row).locator(f".{button} a").click()
        modal = self.frame.locator("#success-modal, #error-modal")
        expect(modal).to_be_visible()
        text = modal.inner_text()
        assert modal.get_attribute("id") == "success-modal", text
        modal.get_by_role("button", name="OK").click()
        expect(modal).to_have_count(0)
        return text


class FormgraderInATab(Formgrader):
    """The same on a hub, which lets no page of its own into a frame."""

    def __init__(self, page: Page, address: str):
        self.page = page
        page.goto(address)

    @property
    def frame(self) -> Page:
        return self.page


def mark_the_question(formgrader: Formgrader) -> None:
    """One point and a half, with a word on why; the mark scheme is in front of anyone who marks."""
    frame = formgrader.frame
    expect(frame.get_by_text(MARK_SCHEME)).to_be_visible()
    expect(frame.get_by_text(ANSWERS["why"])).to_be_visible()
    cell = frame.locator(".nbgrader_cell", has=frame.locator("#why"))
    # Its buttons work as soon as the page has filled this in.
    expect(cell.locator(".extra-credit")).to_have_attribute("placeholder", "0")
    with saved(formgrader, "grade"):
        cell.get_by_role("button", name="Full credit").click()
    expect(frame.locator("#why")).to_have_value("2")
    for box, kind, text in (("#why", "grade", "1.5"), ("#why-comment", "comment", COMMENT)):
        with saved(formgrader, kind):
            frame.locator(box).fill(text)
            frame.locator(box).press("Tab")
    frame.locator("#why").scroll_into_view_if_needed()


@contextmanager
def saved(formgrader: Formgrader, kind: str) -> Iterator[None]:
    """Waits until what is done within has been saved in the gradebook, and the page knows of it.

    When the answer has come, the page writes what was saved into the boxes: over what was typed meanwhile.
    """
    with formgrader.page.expect_response(
        lambda answer: f"/api/{kind}/" in answer.url and answer.request.method == "PUT"
    ) as answer:
        yield
    assert answer.value.ok
    box = "score" if kind == "grade" else "comment"
    for sign in formgrader.frame.locator(f".{box}-saved").all():
        expect(sign).to_have_class(re.compile("glyphicon-ok"))
