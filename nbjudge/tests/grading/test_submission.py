"""Whatever state the file is in, what a student wrote is read, or one sentence says why not."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from nbgrader import tests as nbgrader_tests
from tiny_course import FULL, answered, cell_of, read_work, release

from nbjudge.submission import read_submission as reading
from nbjudge.submission.files import LARGEST_NOTEBOOK
from nbjudge.submission.read_submission import MOST_CELLS, MOST_FOR_A_NOTE, MOST_PARSED, Submission

STOCK_FILES = Path(nbgrader_tests.__file__).parent / "apps" / "files"
PLAIN = json.dumps(answered(), ensure_ascii=False, indent=1)
WRITTEN = [cell.source for cell in answered().cells]


def read(folder: Path, raw: bytes, name: str = "tiny.ipynb") -> Submission:
    (folder / name).write_bytes(raw)
    return read_work(folder)


def sources(submission: Submission) -> list[str]:
    return [cell.source for cell in submission.cells]


def with_cells(change) -> bytes:
    """The answered notebook, each of whose cells is changed."""
    work = json.loads(PLAIN)
    work["cells"] = [cell | change(cell) for cell in work["cells"]]
    return json.dumps(work).encode()


def with_notebook(change: dict) -> bytes:
    return json.dumps(answered() | change).encode()


FORMS = {
    "byte order mark": PLAIN.encode("utf-8-sig"),
    "utf-16": PLAIN.encode("utf-16"),
    "utf-16 big-endian": b"\xfe\xff" + PLAIN.encode("utf-16-be"),
    "windows": PLAIN.replace("\n", "\r\n").encode(),
    "blank lines": ("\n\n" + PLAIN + "\n\n").encode(),
    "marks and line ends in cells": with_cells(
        lambda cell: {"source": "\ufeff" + cell["source"].replace("\n", "\r\n")}
    ),
    "old line ends in cells": with_cells(lambda cell: {"source": cell["source"].replace("\n", "\r")}),
    "lists of lines": with_cells(lambda cell: {"source": cell["source"].splitlines(keepends=True)}),
    "repeated cell ids": with_cells(lambda cell: {"id": "same"}),
    "widgets": with_notebook(
        {"metadata": {"widgets": {"x": "not widget state"}, "kernelspec": {"name": "other"}}}
    ),
    "no metadata": with_notebook({"metadata": None}),
    "future minor": with_notebook({"nbformat_minor": 99}),
    "text for a number": with_notebook({"nbformat": "4"}),
    "no minor": with_notebook({"nbformat_minor": None}),
} | {
    f"metadata {strange!r}": with_cells(lambda cell, strange=strange: {"metadata": strange})
    for strange in (None, 3, "text", [], {"nbgrader": 3}, {"nbgrader": {"grade_id": ["x"]}})
}


@pytest.mark.parametrize("raw", FORMS.values(), ids=FORMS)
def test_form_of_the_file_changes_nothing(tmp_path, raw):
    """Encodings, line ends and metadata mean nothing; answers are found by nbgrader's marks or cell ids."""
    submission = read(tmp_path, raw)
    assert sources(submission) == WRITTEN and submission.found_answers == set(FULL)


def test_what_cannot_be_written_again_is_replaced(tmp_path):
    work = json.loads(json.dumps(answered(double="def double(x):\n    return '\ud800'")))
    work["cells"][:0] = [None, "text", {}, {"cell_type": "code", "source": 3}, {"source": ["a\n", 3, "b"]}]
    found = sources(read(tmp_path, json.dumps(work).encode()))
    "".join(found).encode("utf-8")
    assert "a\nb" in found and found[-1] == WRITTEN[-1]


@pytest.mark.parametrize(
    "name", ["test-v0.ipynb", "test-v1.ipynb", "test-v2.ipynb", "submitted-changed.ipynb"]
)
def test_notebooks_of_every_age_are_read(tmp_path, name):
    (tmp_path / "tiny.ipynb").write_bytes((STOCK_FILES / name).read_bytes())
    submission = read_work(tmp_path, ())
    assert submission.reason == "" and submission.cells


OTHER = json.dumps(
    {"cells": [{"cell_type": "code", "source": "def softmax(x): ..."}], "nbformat": 4}
).encode()
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


def test_definitions_alone_make_a_notebook_the_lessons(tmp_path):
    cells = [{"cell_type": "code", "source": "def double(x):\n    return 2 * x"}]
    assert read(tmp_path, json.dumps({"cells": cells, "nbformat": 4}).encode()).reason == ""


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
