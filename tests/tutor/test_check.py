"""`check` in a kernel, as a learner's cells call it: what it says, and what the answers may do meanwhile."""

import os
import re
import shutil
import time
from dataclasses import replace
from pathlib import Path

import nbformat
import pytest
from nbclient import NotebookClient
from nbclient.exceptions import DeadKernelError

from attention_lab.start.progress import digests
from attention_lab.tutor import RECORD
from nbjudge.course import open_course
from nbjudge.tutor import LearnerRecord
from nbjudge.tutor.material import TutoredAssignment

pytestmark = [pytest.mark.integration, pytest.mark.timeout(300)]
SET_UP = "import os, time\nimport torch\nfrom attention_lab import check"
UNSHIFTED = "def softmax(scores):\n    e = torch.exp(scores)\n    return e / e.sum(dim=-1, keepdim=True)"
RIGHT = "def softmax(x):\n    e = torch.exp(x - x.amax(-1, True))\n    return e / e.sum(-1, True)"


class Notebook:
    """A kernel in a work folder; cells are run one by one."""

    def __init__(self, folder: Path, lesson: str = "01_dot_product", **environment: str) -> None:
        self.folder = folder / lesson
        self.folder.mkdir(parents=True, exist_ok=True)
        (folder / "00_start_here").mkdir(exist_ok=True)
        self._client = NotebookClient(
            nbformat.v4.new_notebook(),
            kernel_name="python3",
            timeout=120,
            allow_errors=True,
            resources={"metadata": {"path": str(self.folder)}},
        )
        self._environment = os.environ | environment

    def __enter__(self) -> "Notebook":
        self._kernel = self._client.setup_kernel(env=self._environment)
        self._kernel.__enter__()
        return self

    def __exit__(self, *about: object) -> None:
        self._kernel.__exit__(*about)

    def run(self, source: str, kind: str = "text/plain") -> str:
        """The text (or HTML) of a cell's outputs."""
        cell = nbformat.v4.new_code_cell(source)
        self._client.nb.cells.append(cell)
        self._client.execute_cell(cell, len(self._client.nb.cells) - 1)
        shown = [output.get("text", "") for output in cell.outputs]
        shown += [output.get("data", {}).get(kind, "") for output in cell.outputs]
        shown += [output.get("evalue", "") for output in cell.outputs]
        return "\n".join(shown)


@pytest.fixture
def notebook(tmp_path):
    with Notebook(tmp_path / "my work") as notebook:
        notebook.run(SET_UP)
        yield notebook


def accepts_the_right_answer(notebook):
    return "right in all 6" in notebook.run(f"{RIGHT}\ncheck('softmax')")


def test_imports_happen_between_two_cells(tmp_path):
    is_there = "'seaborn' in sys.modules"
    with Notebook(tmp_path / "my work") as notebook:
        assert "False" in notebook.run(f"{SET_UP}, plots\nimport sys\n{is_there}")
        deadline = time.monotonic() + 60
        while "True" not in notebook.run(is_there):
            assert time.monotonic() < deadline
            time.sleep(1)


@pytest.mark.smoke
def test_a_mistake_is_measured_named_and_fixed(notebook):
    output = notebook.run(f"{UNSHIFTED}\nlook = check('softmax')\nlook")
    assert "5 of 6 groups of cases agree" in output and "✗ large scores" in output
    assert "is NaN" in output and "overflow" not in output  # measured, not named yet
    assert "exp overflows to inf" in notebook.run("look.mistake()")
    smallest = notebook.run("look.help()")
    assert re.search(r"scores = \[\[?-?\d+", smallest) and "# yours" in smallest and "nan" in smallest
    assert "Hint 1" in notebook.run("look.help()")
    assert "after 3 tries" in notebook.run("look.solution()")

    output = notebook.run(f"{RIGHT}\nlook = check('softmax')\nlook")
    assert "✓ right in all 6 groups of cases" in output and "✓ one row of scores" not in output
    solution = notebook.run("look.solution()")
    assert "def softmax(scores)" in solution and "Way 2" in solution and "Way 3" in solution
    assert "SOLUTION" not in solution


def test_the_panel_says_the_same_in_html(notebook):
    shown = notebook.run(f"{UNSHIFTED}\ncheck('softmax')", "text/html")
    assert 'aria-label="softmax"' in shown
    assert "✓ one row of scores" in shown and "✗ <strong>large scores</strong>" in shown
    assert not re.search(r"#[0-9a-f]{6}|rgb\(", shown)  # no colour but JupyterLab's own
    assert "jupyter.widget-view" not in shown


def test_right_answers_open_the_lessons_code(tmp_path):
    lesson = TutoredAssignment(open_course(Path(__file__).parents[2]).assignments["mask"])
    with Notebook(tmp_path, "03_mask") as notebook:
        notebook.run(SET_UP)
        assert "0 of 4 are. Still open: `causal_mask`" in notebook.run("check()")
        notebook.run(lesson.one_page)
        for name in lesson.coded:
            assert "def " not in notebook.run("check()", "text/markdown")
            assert "✓ right" in notebook.run(f"check({name!r})")
        assert "```python" in (shown := notebook.run("check()", "text/markdown")) and lesson.one_page in shown


def test_a_killer_is_told_of_in_the_next_kernel(tmp_path):
    with Notebook(tmp_path) as first:
        first.run(SET_UP)
        with pytest.raises(DeadKernelError):
            first.run("def softmax(scores):\n    os._exit(1)\ncheck('softmax')")
    with Notebook(tmp_path) as second:
        second.run(SET_UP)
        output = second.run(f"{RIGHT}\ncheck('softmax')")
        assert "right in all 6 groups" in output
        assert "The last check, of `softmax`, ended together with the kernel" in output


@pytest.mark.parametrize(
    ("body", "title"),
    [
        ("while True: pass", "did not answer in time"),
        ("raise SystemExit", "softmax: no result to compare yet"),
        ("print('x' * 1_000_000)", "softmax: 0 of 6 groups"),
        ("time.no_such_thing()", "softmax: no result to compare yet"),
    ],
)
def test_an_answers_effects_cost_only_itself(notebook, body, title):
    if "while" in body:
        notebook.run("from nbjudge.tutor.learner import answering\nanswering.SECONDS = 1")
        notebook.run("answering.answer.__defaults__ = (1.0,)")
    output = notebook.run(f"def softmax(scores):\n    {body}\ncheck('softmax')")
    assert title in output and "x" * 100 not in output
    assert accepts_the_right_answer(notebook)


def test_the_names_that_a_learner_takes_are_given_back(notebook):
    output = notebook.run("def check(x):\n    return x")
    assert "The name `check` is the tutor's again" in output and "my_check_1" in output
    assert accepts_the_right_answer(notebook)
    assert "3" in notebook.run("my_check_1(3)")
    notebook.run("answer = converse = eval = print = open = Look = None")
    assert "softmax" in notebook.run("check('softmax')")


def test_a_tutor_that_dies_is_started_again(notebook):
    notebook.run(f"{RIGHT}\ncheck('softmax')")
    notebook.run("from nbjudge.tutor.learner import checking\nchecking.connection.tutor.stop()")
    assert "right in all 6" in notebook.run("check('softmax')")


def test_what_is_not_there_is_said_in_a_sentence(notebook):
    output = notebook.run("check('sofmax')")
    assert (
        "There is no exercise 'sofmax'. The exercises are: attention_scores, dot_product_attention" in output
    )
    assert "There is no `project`" in notebook.run("check('project')")


@pytest.mark.smoke
def test_an_answer_without_result_is_no_try(notebook):
    for cell in ("", "def softmax(scores):\n    return score\n"):
        output = notebook.run(f"{cell}check('softmax')")
        assert "no result to compare yet" in output and "differs" not in output
    assert LearnerRecord(notebook.folder.parent / RECORD).exercise("softmax").tries == 0


def test_a_syntax_error_in_the_last_run_is_said(notebook):
    """The definition before it is what was checked."""
    notebook.run(RIGHT)
    notebook.run(f"{RIGHT} +")
    output = notebook.run("check('softmax')")
    assert "The last run of the cell with `softmax` stopped with SyntaxError" in output
    assert "an earlier definition was checked" in output


KEY = {"NBJUDGE_TUTOR_KEY": "0123", "JUPYTERHUB_USER": "ada"}


@pytest.mark.parametrize(
    ("environment", "message"),
    [
        ({"ATTENTION_LAB_TUTOR": "off"}, "comes without the tutor"),
        ({"NBJUDGE_TUTOR": "http://127.0.0.1:9"} | KEY, "The tutor has stopped answering"),
        ({"NBJUDGE_TUTOR": "http://127.0.0.1:9"}, "needs JUPYTERHUB_USER and NBJUDGE_TUTOR_KEY"),
        ({"NBJUDGE_TUTOR": "somewhere"}, "has to begin with http"),
    ],
)
def test_without_a_tutor_a_sentence_says_where_to_look(tmp_path, environment, message):
    with Notebook(tmp_path, **environment) as notebook:
        notebook.run(SET_UP)
        assert message in notebook.run(f"{RIGHT}\ncheck('softmax')")
        assert message in notebook.run("check('softmax').points")  # an error: 0 would be a grade


def test_tries_are_remembered_beside_the_lessons(notebook):
    notebook.run(f"{UNSHIFTED}\nlook = check('softmax')\nlook.mistake()\ncheck('softmax')")
    notebook.run(f"{RIGHT}\ncheck('softmax')")
    saved_text = (notebook.folder.parent / ".attention-lab" / "exercises.json").read_text()
    assert (
        '"tries": 2' in saved_text and "nothing_subtracted" in saved_text and '"right_at": "20' in saved_text
    )


def test_a_class_is_known_again_in_the_notebook(notebook):
    wrong, right = (
        "import torch\n\n\nclass AttentionHead(torch.nn.Module):\n"
        "    def __init__(self, *sizes, **options):\n        super().__init__()\n"
        f"        self.size = {number}\n\n"
        "    def forward(self, query, *others, **options):\n        return query, query"
        for number in (1, 2)
    )
    for cell in (wrong, wrong, right):
        notebook.run(cell)
        notebook.run("check('AttentionHead')")
    record = LearnerRecord(notebook.folder.parent / RECORD).exercise("AttentionHead")
    assert record.tries == 2  # the same once more is no other try
    assert [record.code] == list(digests(right, "AttentionHead"))


def test_practice_is_rated_and_changes_no_lesson(tmp_path):
    record = LearnerRecord(tmp_path / RECORD)
    with Notebook(tmp_path, "practice/2026-01-31") as notebook:
        record.add_check("softmax", "01_dot_product", "code", 8, 8)
        before = record.exercise("softmax")
        notebook.run(
            f"{SET_UP}, hunt\ndef softmax(scores):\n    raise NotImplementedError()\ncheck('softmax')"
        )
        assert record.exercise("softmax") == before
        notebook.run(f"{UNSHIFTED}\ncheck('softmax')")
        assert record.exercise("softmax").reviews["2026-01-31"] == 1
        assert accepts_the_right_answer(notebook)
        assert record.exercise("softmax") == replace(before, reviews={**before.reviews, "2026-01-31": 2})
        assert "Wrong answer 1 to `softmax`" in notebook.run("hunt('softmax')")


def test_files_beside_a_notebook_are_not_read(notebook):
    for name in ("random.py", "torch.py", "nbjudge.py"):
        (notebook.folder / name).write_text("raise RuntimeError('a file of the learner')")
    notebook.run("from nbjudge.tutor.learner import checking\nchecking.connection.close()")
    assert accepts_the_right_answer(notebook)
    shutil.rmtree(notebook.folder)
