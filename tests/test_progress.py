"""The table of the first page: what the tutor has found, what is next, and what happens without a tutor."""

import nbformat
import pytest

from attention_lab.start import progress_page
from attention_lab.start.progress import Status, digests, read_progress
from attention_lab.tutor import RECORD
from nbjudge.tutor import LearnerRecord

NAMES = ("double", "twin", "triple")
RIGHT = "def {name}(x):\n    return 2 * x"


@pytest.fixture
def write(tmp_path):
    """Write a lesson of three exercises and a written question, as a learner saved it."""

    def written(folder="01_tiny", **answers):
        cells = [nbformat.v4.new_markdown_cell("# Tiny <steps>", id="title")]
        for name in NAMES:
            marks = {"nbgrader": {"grade_id": name, "solution": True}}
            source = answers.get(name, "raise NotImplementedError()")
            cells.append(nbformat.v4.new_code_cell(source, id=name, metadata=marks))
        marks = {"nbgrader": {"grade_id": "why", "solution": True}}
        cells.append(nbformat.v4.new_markdown_cell("In words.", id="why", metadata=marks))
        path = tmp_path / folder / "tiny.ipynb"
        path.parent.mkdir(exist_ok=True)
        nbformat.write(nbformat.v4.new_notebook(cells=cells), path)

    return written


@pytest.fixture
def record(tmp_path):
    return LearnerRecord(tmp_path / RECORD)


def statuses(folder, record):
    (lesson,) = read_progress(folder, record)
    return {each.name: each.status for each in lesson.exercises}


def test_an_exercise_is_right_until_its_saved_answer_changes(write, tmp_path, record):
    right = RIGHT.format(name="double")
    write(double=right)
    (code,) = digests(right, "double")
    record.add_check("double", "01_tiny", code, 2, 2)
    record.add_check("twin", "01_tiny", "other", 1, 2)
    assert statuses(tmp_path, record) == {"double": Status.RIGHT, "twin": Status.TRIED, "triple": Status.NEW}
    write(double=right.replace("2", "3"))
    assert statuses(tmp_path, record)["double"] == Status.CHANGED


def test_the_table_shows_progress_mistakes_and_what_is_next(write, tmp_path, record, monkeypatch):
    monkeypatch.setattr(progress_page, "has_tutor", lambda: True)
    write(double=RIGHT.format(name="double"))
    (code,) = digests(RIGHT.format(name="double"), "double")
    record.add_check("double", "01_tiny", code, 2, 2)
    record.add_mistakes("double", {"twice": "It is doubled <twice>: `x`."})
    (tmp_path / "02_broken").mkdir()
    (tmp_path / "02_broken/broken.ipynb").write_text("<<<<<<< HEAD")
    buttons, status, table = progress_page.show_progress(tmp_path).children
    assert "✓ <code>double</code> <small>(1 try)</small>" in table.value and "1 of 3" in table.value
    assert "Tiny &lt;steps&gt;" in table.value and "why" not in table.value
    assert "It is doubled &lt;twice&gt;: <code>x</code>." in table.value
    assert "cannot be read as a notebook" in table.value
    assert 'Next: <code>twin</code> in <a href="../01_tiny/tiny.ipynb">' in status.value

    _, reset, confirm = buttons.children
    reset.click()
    assert "Your notebooks stay as they are." in status.value and "1 of 3" in table.value
    confirm.click()
    assert "0 of 3" in table.value and not record.exercises()


def test_without_lessons_or_tutor_a_sentence_says_what_to_do(tmp_path, monkeypatch):
    monkeypatch.setattr(progress_page, "has_tutor", lambda: True)
    _, status, _ = progress_page.show_progress(tmp_path / "nowhere").children
    assert "open it in the folder that `attention-lab start` made" in status.value
    monkeypatch.setattr(progress_page, "has_tutor", lambda: False)
    (status,) = progress_page.show_progress(tmp_path).children
    assert "Press Validate" in status.value
