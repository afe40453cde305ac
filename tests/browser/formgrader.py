"""nbgrader's formgrader in a browser: its tables, its buttons, and an answer marked by hand."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager

from playwright.sync_api import FrameLocator, Locator, Page, expect
from written_question import ANSWERS, MARK_SCHEME

COMMENT = "The wombat is there, the reason is not."


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


def mark_the_question(formgrader: Formgrader, picture) -> None:
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
    picture(formgrader.page, "formgrader-question")


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
