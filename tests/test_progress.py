"""The progress page: what passes, what fails and why, and when anything is run at all."""

import json
from pathlib import Path

import nbformat
import pytest
from nbgrader.utils import compute_checksum

from attention_lab.start import progress_page
from attention_lab.start.exercises import Outcome, State, checksum, read_lessons
from attention_lab.start.progress import MEMORY, Progress
from attention_lab.start.visible_tests import run_visible_tests

pytestmark = pytest.mark.integration

ROOT = Path(__file__).parents[1]
STUB = "def {name}(x):\n    # YOUR CODE HERE\n    raise NotImplementedError()"
TEST = "answer = {name}(3)\nprint(answer)\nassert answer == 6, 'twice three is six'"
NAMES = ("double", "twin", "triple")
RIGHT = "def {name}(x):\n    return 2 * x"


def cell(name, source, **marks):
    marks = {"grade": False, "locked": False, "solution": False} | marks
    marks |= {"grade_id": name, "schema_version": 3, "task": False, "cell_type": "code"}
    new_cell = nbformat.v4.new_code_cell(source, id=name, metadata={"nbgrader": marks})
    new_cell.metadata.nbgrader["checksum"] = compute_checksum(new_cell)
    return new_cell


def test_the_checksum_of_a_cell_is_nbgraders():
    cells = nbformat.read(ROOT / "release/01_dot_product/dot_product.ipynb", as_version=4).cells
    marked = [cell for cell in cells if "nbgrader" in cell.metadata]
    assert {cell.metadata.nbgrader.checksum for cell in marked} == {checksum(cell) for cell in marked}
    assert [checksum(cell) for cell in marked] == [compute_checksum(cell) for cell in marked]


@pytest.fixture
def write(tmp_path):
    """Writes a lesson of three exercises as a student saved it, with these answers."""

    def written(folder="01_tiny", extra=(), **answers):
        cells = [nbformat.v4.new_markdown_cell("# Tiny <steps>", id="title")]
        cells += [nbformat.v4.new_code_cell(source, id=f"extra-{n}") for n, source in enumerate(extra)]
        for name in NAMES:
            cells.append(cell(name, STUB.format(name=name), solution=True))
            cells[-1].source = answers.get(name, cells[-1].source)
            test = TEST.format(name=name)
            cells.append(cell(f"test_{name}", test, grade=True, locked=True, points=1))
        long = nbformat.v4.new_code_cell("raise SystemExit", id="long")
        long.metadata.tags = ["left-out-of-grading"]
        path = tmp_path / folder / "tiny.ipynb"
        path.parent.mkdir(exist_ok=True)
        nbformat.write(nbformat.v4.new_notebook(cells=[*cells, long]), path)
        return path

    return written


def only_lesson(folder):
    (lesson,) = read_lessons(folder)
    return lesson


def test_each_exercise_is_told_apart_and_the_file_stays_as_it_is(write, tmp_path):
    path = write(
        double=RIGHT.format(name="double"),
        twin="import helper\n\ndef twin(x):\n    return helper.seven",
        extra=["import pathlib; pathlib.Path('here.txt').write_text('in the folder of the lesson')"],
    )
    (path.parent / "helper.py").write_text("seven = 7")
    before = path.read_bytes()
    steps = []
    outcomes = run_visible_tests(only_lesson(tmp_path), lambda done, cells: steps.append((done, cells)))
    assert outcomes == {
        "double": Outcome(State.PASSES),
        "twin": Outcome(State.FAILS, "twice three is six"),
        "triple": Outcome(State.UNTOUCHED),
    }
    assert path.read_bytes() == before
    assert (path.parent / "here.txt").exists()
    assert [done for done, _ in steps] == list(range(9)) and {cells for _, cells in steps} == {9}


def test_an_endless_loop_and_a_dead_kernel_end_the_run_with_the_reason(write, tmp_path):
    right = RIGHT.format(name="double")
    write(double=right, twin="while True: pass", triple=RIGHT.format(name="triple"))
    outcomes = run_visible_tests(only_lesson(tmp_path), cell_seconds=5)
    assert outcomes["double"].state == State.PASSES
    assert outcomes["triple"].state == State.FAILS
    assert outcomes["triple"].said == (
        "The cell 'twin' was stopped after 5 seconds: look for a loop that never ends."
    )
    write(double=right, twin="import os; os._exit(1)")
    outcomes = run_visible_tests(only_lesson(tmp_path))
    assert outcomes["twin"].said.startswith("The kernel died in the cell 'twin'")
    assert outcomes["triple"].state == State.UNTOUCHED
    outcomes = run_visible_tests(only_lesson(tmp_path), lesson_seconds=-1)
    assert outcomes["double"] == Outcome(State.FAILS, "Not reached: the whole lesson may take -1 seconds.")


def test_an_answer_that_leans_on_an_unwritten_one_says_so(write, tmp_path):
    path = write(double="def double(x):\n    return twin(x)", twin=STUB.format(name="twin") + "  # soon")
    notebook = nbformat.read(path, as_version=4)
    notebook.cells = [each for each in notebook.cells if each.id != "test_twin"]
    nbformat.write(notebook, path)
    outcomes = run_visible_tests(only_lesson(tmp_path))
    assert outcomes["double"].said.startswith("NameError: name 'twin' is not defined")
    assert outcomes["twin"].said.startswith("Its test cell is gone")


@pytest.fixture
def counted():
    """A run that notes which lessons it ran, and finds all of them right."""

    def run(lesson, step):
        run.lessons.append(lesson.path.parent.name)
        step(1, 2)
        return {name: Outcome(State.PASSES) for name in lesson.exercises}

    run.lessons = []
    return run


def states(progress):
    return {
        each.lesson.path.parent.name: [str(outcome.state) for outcome in each.outcomes.values()]
        for each in progress.known()
    }


def test_only_what_was_changed_is_run_and_what_was_found_is_remembered(write, tmp_path, counted):
    write("01_one", double="mine")
    write("02_two")
    progress = Progress(tmp_path, counted)
    assert states(progress) == {
        "01_one": ["not looked at", "not begun", "not begun"],
        "02_two": ["not begun"] * 3,
    }
    look_at_changed(progress)
    look_at_changed(progress)
    assert counted.lessons == ["01_one"]
    reopened = Progress(tmp_path, counted)
    assert states(reopened)["01_one"] == ["passes"] * 3

    (tmp_path / "01_one/helper.py").write_text("x = 1")  # what it imports is part of it
    assert states(reopened)["01_one"][0] == "not looked at"
    look_at_changed(reopened)
    assert counted.lessons == ["01_one", "01_one"]
    assert len(json.loads((tmp_path / MEMORY).read_text())) == 1  # nothing is kept of what is no more


def look_at_changed(progress):
    for each in progress.known():
        if each.is_out_of_date:
            progress.look(each.lesson)


@pytest.mark.parametrize("text", ["", "[]", '{"a": 1}', '{"a": {"b": ["wonderful", ""]}}', "\x00"])
def test_a_spoilt_memory_is_forgotten(write, tmp_path, counted, text):
    write(double="mine")
    (tmp_path / MEMORY).parent.mkdir()
    (tmp_path / MEMORY).write_text(text)
    assert states(Progress(tmp_path, counted))["01_tiny"][0] == "not looked at"


def test_where_nothing_can_be_kept_it_is_known_until_the_page_is_closed(write, tmp_path, counted):
    write(double="mine")
    (tmp_path / MEMORY.parent).write_text("a file where the folder should be")
    progress = Progress(tmp_path, counted)
    look_at_changed(progress)
    assert states(progress)["01_tiny"] == ["passes"] * 3


def press(widget):
    (row, table) = widget.children
    button, _, status = row.children
    button.click()
    return status.value, table.value


def test_the_button_runs_what_changed_and_says_what_it_found(write, tmp_path, counted, monkeypatch):
    monkeypatch.setattr(progress_page, "Progress", lambda folder: Progress(folder, counted))
    write(double="mine")
    (tmp_path / "02_broken").mkdir()
    (tmp_path / "02_broken/broken.ipynb").write_text("<<<<<<< HEAD")
    shown = progress_page.visible_progress(tmp_path)
    assert "1 lesson has changed: press the button." in shown.children[0].children[2].value
    assert "? <code>double</code>" in shown.children[1].value and "0 of 3" in shown.children[1].value
    status, table = press(shown)
    assert "as it was last saved" in status
    assert "✓ <code>double</code>" in table and "3 of 3" in table and "Tiny &lt;steps&gt;" in table
    assert "cannot be read as a notebook" in table
    assert counted.lessons == ["01_tiny"]


def test_a_run_that_fails_or_is_interrupted_is_said_in_a_sentence(write, tmp_path, monkeypatch):
    write(double="mine")

    def stopped_by(error):
        def run(lesson, step):
            raise error

        monkeypatch.setattr(progress_page, "Progress", lambda folder: Progress(folder, run))
        shown = progress_page.visible_progress(tmp_path)
        status, _ = press(shown)
        assert not shown.children[0].children[0].disabled
        return status

    assert "(OSError: no kernel)" in stopped_by(OSError("no kernel"))
    assert "Stopped." in stopped_by(KeyboardInterrupt())
    empty = progress_page.visible_progress(tmp_path / "nowhere")
    assert "There are no lessons beside this page" in empty.children[0].children[2].value
