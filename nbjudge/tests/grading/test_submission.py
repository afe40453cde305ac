"""Whatever state a submission is in, what a student wrote is read, or one sentence says why not."""

import json
import os
from pathlib import Path

import pytest
from nbformat import NotebookNode, v4
from nbgrader import tests as nbgrader_tests
from tiny_course import FULL, answered, cell_of, read_work, release

from nbjudge.course.assignment_forms import answer_cells
from nbjudge.grading.job import KEY_FILE, submission_seed
from nbjudge.submission import read_submission as reading
from nbjudge.submission.files import LARGEST_NOTEBOOK, Folder, read_handed_in
from nbjudge.submission.read_submission import (
    MOST_CELLS,
    MOST_FOR_A_NOTE,
    MOST_PARSED,
    Submission,
    contents_of,
    read_submission,
)

STOCK_FILES = Path(nbgrader_tests.__file__).parent / "apps" / "files"
PLAIN = json.dumps(answered(), ensure_ascii=False, indent=1)
WRITTEN = [cell.source for cell in answered().cells]


def read(folder: Path, raw: bytes, name: str = "tiny.ipynb") -> Submission:
    (folder / name).write_bytes(raw)
    return read_work(folder)


def sources(submission: Submission) -> list[str]:
    return [cell.source for cell in submission.cells]


def with_cells(**changes) -> bytes:
    """The answered notebook, in each of whose cells these fields are changed."""
    work = json.loads(PLAIN)
    for cell in work["cells"]:
        cell |= {name: change(cell.get(name)) for name, change in changes.items()}
    return json.dumps(work).encode()


def with_notebook(change: dict) -> bytes:
    return json.dumps(answered() | change).encode()


FORMS = {
    "byte order mark": PLAIN.encode("utf-8-sig"),
    "utf-16": PLAIN.encode("utf-16"),
    "utf-16 big-endian": b"\xfe\xff" + PLAIN.encode("utf-16-be"),
    "windows": PLAIN.replace("\n", "\r\n").encode(),
    "blank lines": ("\n\n" + PLAIN + "\n\n").encode(),
    "marks and line ends in cells": with_cells(source=lambda text: "\ufeff" + text.replace("\n", "\r\n")),
    "old line ends in cells": with_cells(source=lambda text: text.replace("\n", "\r")),
    "lists of lines": with_cells(source=lambda text: text.splitlines(keepends=True)),
    "repeated cell ids": with_cells(id=lambda _: "same"),
    "widgets": with_notebook({"metadata": {"widgets": {"x": "no state"}, "kernelspec": {"name": "other"}}}),
    "no metadata": with_notebook({"metadata": None}),
    "future minor": with_notebook({"nbformat_minor": 99}),
    "text for a number": with_notebook({"nbformat": "4"}),
    "no minor": with_notebook({"nbformat_minor": None}),
} | {
    f"metadata {strange!r}": with_cells(metadata=lambda _, strange=strange: strange)
    for strange in (None, 3, "text", [], {"nbgrader": 3}, {"nbgrader": {"grade_id": ["x"]}})
}


@pytest.mark.parametrize("raw", FORMS.values(), ids=FORMS)
def test_form_of_the_file_changes_nothing(tmp_path, raw):
    """Encodings, line ends and metadata mean nothing; answers are found by nbgrader's marks or cell ids."""
    submission = read(tmp_path, raw)
    assert sources(submission) == WRITTEN and submission.found_answers == set(FULL)


@pytest.mark.parametrize("name", ["test-v0", "test-v1", "test-v2", "submitted-changed"])
def test_notebooks_of_every_age_are_read(tmp_path, name):
    (tmp_path / "tiny.ipynb").write_bytes((STOCK_FILES / f"{name}.ipynb").read_bytes())
    submission = read_work(tmp_path, ())
    assert submission.reason == "" and submission.cells


def test_what_cannot_be_written_again_is_replaced(tmp_path):
    work = json.loads(json.dumps(answered(double="def double(x):\n    return '\ud800'")))
    work["cells"][:0] = [None, "text", {}, {"cell_type": "code", "source": 3}, {"source": ["a\n", 3, "b"]}]
    found = sources(read(tmp_path, json.dumps(work).encode()))
    "".join(found).encode("utf-8")
    assert "a\nb" in found and found[-1] == WRITTEN[-1]


def new_notebook(source: str) -> bytes:
    return json.dumps({"cells": [{"cell_type": "code", "source": source}], "nbformat": 4}).encode()


SHEET = b'{"cells": [' + b"{}, " * (MOST_CELLS // 50) + b"{}]}"
OTHER = new_notebook("def softmax(x): ...")
REFUSED = [
    (b"", "is empty"),
    (b"\xef\xbb\xbf \n", "is empty"),
    (b"\x00\x00\x00", "is not"),
    (b"\xff\xfe\x00", "is not"),
    (b"<html>a login page</html>", "a web page"),
    (b"PK\x03\x04", "an archive: unpack it"),
    (b'{\n<<<<<<< HEAD\n "cells": []\n=======\n>>>>>>> x\n}', "conflict markers ('<<<<<<<' in line 2)"),
    (b"[1, 2]", "holds no cells"),
    (b"{}", "holds no cells"),
    (b'{"nbformat": 3, "worksheets": 7}', "old notebook format"),
    (with_notebook({"nbformat": 5}), "newer than this grader reads"),
    (b'{"cells": [' + b"{}, " * MOST_CELLS + b"{}]}", "more than the 5,000"),
    # An old one is not even converted, which takes a second for a thousand cells.
    (b'{"nbformat": 3, "worksheets": [{"cells": [' + b"{}, " * MOST_CELLS + b"{}]}]}", "more than the 5,000"),
    (b'{"nbformat": 3, "worksheets": [%s]}' % b",".join([SHEET] * 100), "more than the 5,000"),
    (b'{"nbformat": 2, "worksheets": [{"cells": {"0": []}}]}', "old notebook format"),
    (b"[" * 100_000, "nested too deeply"),
    (b'{"cells": ' + b"[" * 100_000, "nested too deeply"),
    (b"9" * 10_000, "is not a notebook"),
    (b"{" + b" " * LARGEST_NOTEBOOK, "larger than"),
    (OTHER, "another notebook"),
    *((PLAIN.encode()[: int(at * len(PLAIN))], "breaks off in the middle") for at in (0.3, 0.5, 0.9, 0.999)),
]


@pytest.mark.parametrize(("raw", "words"), REFUSED, ids=[words for _, words in REFUSED])
def test_no_notebook_is_refused_in_one_sentence(tmp_path, raw, words):
    reason = read(tmp_path, raw).reason
    assert words in reason
    assert reason.endswith(".") and "\n" not in reason and len(reason) < 200


def test_folder_without_notebook_says_what_it_holds(tmp_path):
    assert "it is empty" in read_work(tmp_path).reason
    assert "was handed in" in read_work(tmp_path / "absent").reason
    (tmp_path / "answers.txt").touch()
    assert "'answers.txt'" in read_work(tmp_path).reason
    (tmp_path / "work.zip").write_bytes(b"PK\x03\x04")
    assert "only the archive 'work.zip': unpack it" in read_work(tmp_path).reason
    (tmp_path / "tiny.ipynb").mkdir()
    assert "cannot be read" in read_work(tmp_path).reason


COPIES = ["tiny-Copy1.ipynb", "tiny (1).ipynb", "Untitled.ipynb", "anna's tiny.ipynb"]
COPIES += ["Tiny.IPYNB", "tiny.ipynb.txt", "tiny.ipynb.json", "01_tiny/tiny.ipynb"]


@pytest.mark.parametrize("original", [None, release(), b"", OTHER], ids=["none", "blank", "empty", "foreign"])
@pytest.mark.parametrize("name", COPIES)
def test_copy_replaces_a_useless_original(tmp_path, name, original):
    """Solved work under another name counts, and the name is mentioned."""
    if original is not None:
        raw = original if isinstance(original, bytes) else json.dumps(original).encode()
        (tmp_path / "tiny.ipynb").write_bytes(raw)
    (tmp_path / name).parent.mkdir(exist_ok=True)
    submission = read(tmp_path, PLAIN.encode(), name)
    assert sources(submission) == WRITTEN
    assert repr(name) in submission.note


def test_copy_with_most_of_the_lesson_counts(tmp_path):
    draft = {"cells": [cell_of(release(), "double")], "nbformat": 4}
    (tmp_path / "draft.ipynb").write_text(json.dumps(draft))
    (tmp_path / "other.ipynb").write_text('{"cells": [], "nbformat": 4}')
    assert sources(read(tmp_path, PLAIN.encode(), "tiny-Copy1.ipynb")) == WRITTEN
    (tmp_path / "alone").mkdir()  # definitions make a notebook the lesson's
    assert read(tmp_path / "alone", new_notebook("def double(x):\n    return 2 * x")).reason == ""


@pytest.mark.parametrize(
    ("copy", "note"),
    [
        (answered(double="def double(x):\n    return x + x"), "'tiny-Copy1.ipynb' has answers in it, too"),
        (answered(), ""),
        (release(), ""),
    ],
    ids=["another answer", "the same", "blank"],
)
def test_right_name_is_preferred_to_copies(tmp_path, copy, note):
    """Where both are written, the other one is mentioned."""
    (tmp_path / "tiny-Copy1.ipynb").write_text(json.dumps(copy))
    submission = read(tmp_path, PLAIN.encode())
    assert sources(submission) == WRITTEN
    assert note in submission.note and bool(note) == bool(submission.note)


@pytest.mark.parametrize(("has_answers", "expected"), [(True, 2), (False, 1 + MOST_PARSED)])
def test_of_many_large_notebooks_few_are_parsed(tmp_path, monkeypatch, has_answers, expected):
    """The class waits meanwhile, so a student cannot have any number of them read."""
    parsed = []
    monkeypatch.setattr(reading, "read_notebook_file", lambda raw: parsed.append(raw) or json.loads(raw))
    large = PLAIN + " " * (MOST_FOR_A_NOTE - len(PLAIN))
    for number in range(MOST_PARSED + 3):
        (tmp_path / f"tiny-Copy{number}.ipynb").write_text(large)
    submission = read(tmp_path, PLAIN.encode() if has_answers else json.dumps(release()).encode())
    assert sources(submission) == WRITTEN
    assert len(parsed) == expected


CANVAS = "lovelaceada_1815_1843_"


def notebook(name: str, answer: str = "def q1():\n    return 0") -> NotebookNode:
    """One of an assignment's notebooks, all of which have the same cell ids because they were copied."""
    marks = {"grade_id": "q1", "solution": True, "grade": False, "locked": False, "schema_version": 3}
    cells = [v4.new_markdown_cell(f"# The exercise {name}", id="title"), v4.new_code_cell(answer, id="q1")]
    cells[1].metadata["nbgrader"] = marks
    return v4.new_notebook(cells=cells)


NAMES_OF_FILES = [
    {"Copy of p1.ipynb": "p1", "Copy of p2.ipynb": "p2"},
    {"Copy of p2.ipynb": "p2"},
    {f"{CANVAS}p1.ipynb": "p1", f"{CANVAS}p2-1.ipynb": "p2"},
    {"p1 (1).ipynb": "p1", "p2-Copy1.ipynb": "p2"},
    {"p10 (1).ipynb": "p10", "p1 (1).ipynb": "p1"},
    {"Copy of p10.ipynb": "p10"},
    {"ada_p1_extra-2.ipynb": "p1 extra", "ada_p1-2.ipynb": "p1"},
    {"Copyofp2.ipynb": "p2", "Untitled.ipynb": "p1"},
    {"p1.ipynb": "p1", "Untitled.ipynb": "p2"},
    {"inner/p2.ipynb": "p2", "p1 and p2.ipynb": "p1"},
]


@pytest.mark.parametrize(
    ("files", "names", "title"),
    [
        *((files, sorted({"p1", "p2", *files.values()}), "") for files in NAMES_OF_FILES),
        # One that may be either is the missing one; where two are missing it is neither, because a wrong
        # guess is a 0 for work that is right.
        ({"work.ipynb": ""}, ["p1", "p2"], "of another title"),
        ({"p1.ipynb": "p1", "work.ipynb": "p2"}, ["p1", "p2"], "of another title"),
        ({"p2 and more.ipynb": "p1"}, ["p1"], ""),  # with only one notebook any name will do
    ],
)
def test_a_file_is_graded_as_the_notebook_it_names(tmp_path, files, names, title):
    """The name is found anywhere between word borders; where there is none, the content decides."""
    for file, name in files.items():
        (tmp_path / file).parent.mkdir(exist_ok=True)
        (tmp_path / file).write_text(json.dumps(notebook(title or name, "def q1():\n    return 1")))
    forms = {f"{name}.ipynb": notebook(name) for name in names}
    contents = {name: contents_of(form) for name, form in forms.items()}
    handed_in = read_handed_in(Folder(tmp_path), forms)
    for name, form in forms.items():
        found = read_submission(handed_in, name, answer_cells(form), contents).path
        assert found == next((file for file in files if f"{files[file]}.ipynb" == name), "")


FILES = {"helper.py": b"two = 2", "data/table.csv": b"1,2"}


@pytest.fixture
def seed(tmp_path):
    def seed(student="ada", notebook=None, files=FILES) -> int:
        return submission_seed(tmp_path, student, notebook or answered(), files)

    return seed


def with_sources(*sources: str):
    cells = [v4.new_code_cell(source, id=f"{place}") for place, source in enumerate(sources)]
    return v4.new_notebook(cells=cells)


def test_any_other_submission_has_another_seed(seed, tmp_path):
    """Also where bytes move over the border between two parts, and for another course's key."""
    assert seed() == seed() == seed(files=dict(reversed(FILES.items())))
    others = [
        {"student": "ben"},
        {"student": "ada\udcff"},
        {"notebook": answered(double="def double(x): return x")},
        {"notebook": with_sources("ab", "c")},
        {"notebook": with_sources("a", "bc")},
        {"notebook": with_sources("a", ""), "files": {}},
        {"notebook": with_sources("a", ""), "files": {"": b""}},
        {"notebook": with_sources("a", ""), "files": {}, "student": "adac"},
        {"files": {}},
        {"files": FILES | {"helper.py": b"two = 3"}},
        {"files": FILES | {"empty": b""}},
        {"files": {"help": b"er.pytwo = 2", "data/table.csv": b"1,2"}},
        {"files": {"helper.pyt": b"wo = 2", "data/table.csv": b"1,2"}},
        {"files": {"Helper.py": b"two = 2", "data/table.csv": b"1,2"}},
        {"files": FILES | {"\udcff": b""}},
    ]
    seeds = [seed(), *(seed(**change) for change in others)]
    (tmp_path / KEY_FILE).write_text("0" * 64)
    assert len({*seeds, seed()}) == len(seeds) + 1
    (tmp_path / os.fsdecode(b"\xff.py")).write_bytes(b"1")  # files whose names are no text count
    assert b"1" in read_handed_in(Folder(tmp_path)).files.values()
