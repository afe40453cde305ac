"""What an author is told when a page cannot be made, and what is left alone then."""

import nbformat
import pytest
from rich.console import Console

from attention_lab.errors import CourseError
from attention_lab.maintain.site.build_site import build_site, run_sphinx
from attention_lab.maintain.site.static_sliders import run_cell
from nbjudge.course.course import Course

pytestmark = pytest.mark.integration

PIXEL = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAQAAAC1HAwCAAAAC0lEQVR42mNk+A8AAQUBAScY42YAAAAASUVORK5CYII="


@pytest.fixture
def course(tmp_path):
    """A course of one lesson with one picture, which nothing describes."""
    picture = nbformat.v4.new_output("display_data", {"image/png": PIXEL})
    cells = [
        nbformat.v4.new_markdown_cell("# A lesson\n\nIt takes 20 minutes.", id="title"),
        nbformat.v4.new_code_cell("plt.show()", id="drawn", outputs=[picture]),
    ]
    for folder in ("source", "release", "solution"):
        (tmp_path / folder / "01_one").mkdir(parents=True)
        nbformat.write(nbformat.v4.new_notebook(cells=cells), tmp_path / folder / "01_one/one.ipynb")
    return Course(tmp_path)


def test_a_picture_without_words_is_refused(course, tmp_path):
    old = tmp_path / "pages"
    (old / "_static").mkdir(parents=True)
    (old / "_static/scrollers.js").touch()
    with pytest.raises(CourseError, match="'drawn' in 01_one .* add a line `drawn = "):
        build_site(course, old, Console(quiet=True))
    assert (old / "_static/scrollers.js").exists()
    assert not list(tmp_path.glob(".site-*"))


def test_a_folder_with_something_else_stays(course, tmp_path):
    (tmp_path / "pages").mkdir()
    (tmp_path / "pages/thesis.txt").touch()
    with pytest.raises(CourseError, match="pages holds something else: name another folder"):
        build_site(course, tmp_path / "pages", Console(quiet=True))
    assert (tmp_path / "pages/thesis.txt").exists()
    with pytest.raises(CourseError, match=r"cannot be written to .*thesis\.txt"):
        build_site(course, tmp_path / "pages/thesis.txt", Console(quiet=True))


@pytest.mark.filterwarnings("ignore:'myst_parser")  # uses what Sphinx 11 will not have
def test_a_fault_in_a_page_is_one_plain_sentence(tmp_path):
    (tmp_path / "pages").mkdir()
    (tmp_path / "beside").mkdir()
    (tmp_path / "pages/index.md").write_text("# Lessons\n\nBegin with [the first](nowhere.md).\n")
    with pytest.raises(CourseError) as raised:
        run_sphinx(tmp_path)
    message = str(raised.value)
    assert (
        message.startswith("Sphinx finds a fault in a page: index.md:3: WARNING: ")
        and "nowhere.md" in message
    )
    assert message.endswith(
        ". Fix the lesson's source and run `make build`; or, where one is named, the docstring."
    )
    assert message.isprintable()


def test_only_cells_that_a_slider_needs_are_run():
    """A cell that does not run is said in a sentence."""
    codes = [
        "import math",
        "numbers = [4, 2]",
        "raise SystemExit('a training run')",
        "numbers = [1, 2]\ndef roots(numbers):\n    return [math.sqrt(n) for n in numbers]",
        "print('not for the page')\nother = 5",
        "roots(numbers)",
    ]
    assert run_cell(codes, 5, "the slider") == pytest.approx([1, 2**0.5])
    with pytest.raises(CourseError, match="The slider 'x' cannot be drawn: .* ZeroDivisionError"):
        run_cell(["1 / 0"], 0, "The slider 'x'")
