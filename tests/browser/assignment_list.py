"""nbgrader's list of assignments in a browser, as students have it in JupyterLab."""

from __future__ import annotations

from playwright.sync_api import Locator, Page
from tiny_course import FOLDER, NAME


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
