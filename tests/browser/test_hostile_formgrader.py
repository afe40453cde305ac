"""What a student handed in is text in the formgrader: nothing of it runs, nothing is fetched for it."""

import json
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import quote

import nbformat
import pytest
from course_copies import source_with_question
from hostile_prose import HONEST_LINKS, NAME, PROSE, RUN
from nbformat.v4 import new_code_cell, new_markdown_cell, new_raw_cell
from nbgrader.api import Gradebook
from playwright.sync_api import Page
from servers import Teacher, make_school
from tiny_course import FOLDER, answered, cell_of, hand_in, succeed
from tiny_course import NAME as LESSON

pytestmark = [pytest.mark.integration, pytest.mark.long, pytest.mark.browser, pytest.mark.timeout(900)]
HERE = "http://127.0.0.1:"
MATHJAX = "https://cdnjs.cloudflare.com/"  # nbgrader's own formulas
# What a page could load, run or be changed by; nbgrader has some of its own around each cell.
ACTIVE = (
    "script, iframe, object, embed, form, base, meta, link, style, svg, math, img, video, input, textarea"
)
HANDLERS = """elements => elements.flatMap(each => [...each.attributes].map(own => own.name))
    .filter(name => name.startsWith('on') || name == 'srcdoc' || name.startsWith('form'))"""
STYLES = """elements => elements.map(each => each.getAttribute('style') || '')
    .filter(style => !/^(color: rgb\\([0-9, ]+\\);?)?$/.test(style))"""  # colours are of an error's lines
ADDRESSES = "links => links.map(link => link.getAttribute('href'))"
IDS = "elements => elements.map(each => each.id)"
TYPES = "elements => elements.map(each => each.localName)"
SAYS_MARKUP = f"raise type('<img src=x onerror={RUN}>', (Exception,), {{}})('<svg onload={RUN}> \\x1b[2J')"
MARKUP_FOR_A_FORMAT = json.dumps({"nbformat": f"<img src=x onerror={RUN}>", "worksheets": 3}).encode()


def work_with(prose: list[str], code: str = "") -> nbformat.NotebookNode:
    """An honest notebook with prose wherever there can be some, and a written answer."""
    work = answered() if not code else answered(row_sums=code)
    written = cell_of(source_with_question(), "why")
    written.source = "\n\n".join(prose)
    work.cells += [written, *(new_markdown_cell(each) for each in prose)]
    work.cells.append(new_raw_cell("\n".join(prose)))
    work.cells.append(new_code_cell("\n".join(f"# {line}" for line in "\n".join(prose).splitlines())))
    return work


@pytest.fixture(scope="module")
def school(tmp_path_factory) -> Iterator[Teacher]:
    folder = tmp_path_factory.mktemp("school")
    make_school(folder)
    course = folder / "course"
    succeed(course, "generate_assignment", FOLDER)
    hand_in(course, "honest", work_with(HONEST_LINKS))
    hand_in(course, "hostile", work_with(PROSE, SAYS_MARKUP))
    hand_in(course, "misnamed", work_with([]), NAME)
    hand_in(course, "missing", None)
    (course / "submitted/missing" / FOLDER / NAME).with_suffix(".txt").touch()
    hand_in(course, "broken", MARKUP_FOR_A_FORMAT)
    hand_in(course, "untamed", work_with([]))
    succeed(course, "autograde", FOLDER)
    put_back(
        course, [f"<img src=x onerror={RUN}>", f"[x](javascript:{RUN})", "![x](http://example.com/x.png)"]
    )
    with Teacher(folder) as teacher:
        yield teacher


def put_back(course: Path, prose: list[str]) -> None:
    """What the traps must see: hostile prose that no grader has tamed."""
    file = course / "autograded/untamed" / FOLDER / f"{LESSON}.ipynb"
    notebook = nbformat.read(file, as_version=4)
    notebook.cells += [new_markdown_cell(each) for each in prose]
    file.chmod(0o644)
    nbformat.write(notebook, file)


class Traps:
    """A page that remembers what ran in it and what it asked for."""

    def __init__(self, page: Page, teacher: Teacher) -> None:
        self.page, self.teacher, self.requested_urls = page, teacher, list[str]()
        page.on("request", lambda request: self.requested_urls.append(request.url))
        page.on("dialog", lambda dialog: dialog.dismiss())
        page.add_init_script("window.hit = () => { window.top.sprung = true }")
        page.goto(teacher.url("login"))  # which makes the token a cookie, for what the pages ask for later
        page.route(lambda url: not url.startswith(HERE), lambda route: route.abort())

    def open(self, path: str) -> None:
        self.page.goto(self.teacher.url(f"formgrader/{path}"))
        self.page.wait_for_load_state("networkidle")

    def open_submission(self, student: str) -> None:
        with Gradebook(f"sqlite:///{self.teacher.folder / 'gradebook.db'}") as gradebook:
            found = gradebook.find_submission_notebook(LESSON, FOLDER, student).id
        self.open(f"submissions/{found}/")

    @property
    def sprung(self) -> bool:
        """Return whether a script of the student's has run."""
        return self.page.evaluate("window.sprung === true")

    def seen(self, selector: str, question: str) -> list[str]:
        found: list[str] = self.page.eval_on_selector_all(f"#notebook-container :is({selector})", question)
        return found

    @property
    def elsewhere(self) -> list[str]:
        return [
            url for url in self.requested_urls if not url.startswith((HERE, MATHJAX, "data:image/", "blob:"))
        ]


@pytest.fixture
def traps(page, school) -> Traps:
    return Traps(page, school)


def test_the_traps_see_what_no_one_has_tamed(traps):
    traps.open_submission("untamed")
    assert traps.sprung
    assert any("javascript:" in str(address) for address in traps.seen("a", ADDRESSES))
    assert traps.seen("*", HANDLERS) and traps.elsewhere


@pytest.mark.parametrize("student", ["hostile", "misnamed", "missing", "broken"])
def test_a_submissions_page_runs_no_code(traps, student):
    traps.open_submission("honest")
    own = traps.seen(ACTIVE, TYPES)
    styles, places = set(traps.seen("*", STYLES)), traps.seen("[id]", IDS)
    traps.requested_urls.clear()
    traps.open_submission(student)
    assert not traps.sprung
    assert traps.elsewhere == []
    assert traps.seen(ACTIVE, TYPES) == own
    assert traps.seen("*", HANDLERS) == []
    assert set(traps.seen("*", STYLES)) <= styles
    found = traps.seen("[id]", IDS)
    assert [place for place in places if found.count(place) > 1] == [], "a place of nbgrader's own has two"


def test_students_links_lead_to_the_web_only(traps):
    traps.open_submission("hostile")
    for address in traps.seen("a", ADDRESSES):
        assert str(address).startswith(("http://", "https://", "mailto:", "#")), address
    links = traps.page.locator(".text_cell_render a:not(.anchor-link)")
    for number in range(links.count()):
        links.nth(number).dispatch_event("click", {"ctrlKey": True})
    traps.page.wait_for_timeout(500)
    assert not traps.sprung


def test_honest_links_are_links(traps):
    traps.open_submission("honest")
    addresses = traps.seen("a", ADDRESSES)
    for address in ("https://example.com/page", "http://example.com/page", "mailto:someone@example.com"):
        assert address in addresses
    assert {"https://example.com/there", "https://example.com/bare"} <= set(addresses)


def test_names_and_errors_can_be_read(traps):
    for student, words in {
        "misnamed": "handed in as '<img src=x onerror=",
        "missing": "it holds '<img src=x onerror=",
        "broken": "cannot be converted",
    }.items():
        traps.open_submission(student)
        text = traps.page.locator("#notebook-container").first.inner_text()
        assert "From the grader:" in text and words in text, text[:1000]


LISTS = [f"manage_submissions/{FOLDER}", f"gradebook/{FOLDER}/{LESSON}", "manage_students"]


@pytest.mark.parametrize("path", [*LISTS, "manage_students/hostile", f"manage_students/hostile/{FOLDER}"])
def test_the_lists_of_the_class_run_nothing(traps, path):
    traps.open(quote(path))
    traps.page.get_by_text("hostile").first.wait_for(state="attached")
    assert not traps.sprung and traps.elsewhere == []


def test_what_autograding_says_is_text(traps):
    traps.open(f"manage_submissions/{FOLDER}")
    for student in ("misnamed", "broken"):
        row = traps.page.locator("#main-table tr", has_text=student)
        row.locator(".autograde a").click()
        modal = traps.page.locator("#success-modal, #error-modal")
        modal.wait_for()
        assert "img src=x" in modal.inner_text() or "old notebook format" in modal.inner_text()
        assert modal.locator("img").count() == 0
        modal.get_by_role("button", name="OK").click()
        modal.wait_for(state="detached")
    assert not traps.sprung and traps.elsewhere == []
