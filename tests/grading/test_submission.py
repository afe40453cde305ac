"""Whatever state the file is in, what a student wrote is read, or one sentence says why not."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from nbgrader import tests as nbgrader_tests
from tiny_course import FULL, answered, cell_of, read_work, release

from nbjudge.submission import read_submission as reading
from nbjudge.submission.folder import LARGEST_NOTEBOOK
from nbjudge.submission.read_submission import MOST_CELLS, MOST_FOR_A_NOTE, MOST_PARSED, Submission

STOCK_FILES = Path(nbgrader_tests.__file__).parent / "apps" / "files"


def read(folder: Path, raw: bytes, name: str = "tiny.ipynb") -> Submission:
    (folder / name).write_bytes(raw)
    return read_work(folder)


def sources(submission: Submission) -> list[str]:
    return [cell.source for cell in submission.cells]


PLAIN = json.dumps(answered(), ensure_ascii=False, indent=1)
WRITTEN = [cell.source for cell in answered().cells]


@pytest.mark.parametrize(
    "raw",
    [
        PLAIN.encode(),
        PLAIN.encode("utf-8-sig"),
        PLAIN.encode("utf-16"),
        b"\xfe\xff" + PLAIN.encode("utf-16-be"),
        PLAIN.replace("\n", "\r\n").encode(),
        ("\n\n" + PLAIN + "\n\n").encode(),
    ],
    ids=["plain", "byte order mark", "utf-16", "utf-16 big-endian", "windows", "blank lines"],
)
def test_encodings_and_line_ends_of_the_file_change_nothing(tmp_path, raw):
    assert sources(read(tmp_path, raw)) == WRITTEN


def test_line_ends_and_marks_inside_a_cell_are_fixed(tmp_path):
    work = answered()
    for cell in work.cells:
        cell.source = "\ufeff" + cell.source.replace("\n", "\r\n")
    assert sources(read(tmp_path, json.dumps(work).encode())) == WRITTEN
    for cell in work.cells:
        cell.source = cell.source.replace("\r\n", "\r")
    assert sources(read(tmp_path, json.dumps(work).encode())) == WRITTEN


def test_characters_that_cannot_be_written_again_are_replaced(tmp_path):
    work = answered(double="def double(x):\n    return '\ud800'")
    submission = read(tmp_path, json.dumps(work).encode())
    for source in sources(submission):
        source.encode("utf-8")
    assert len(submission.cells) == len(WRITTEN)


@pytest.mark.parametrize(
    "change",
    [
        {"metadata": {"widgets": {"x": "not widget state"}, "kernelspec": {"name": "other"}}},
        {"metadata": None},
        {"nbformat_minor": 99},
        {"nbformat": "4"},
        {"nbformat_minor": None},
    ],
    ids=["widgets", "no metadata", "future minor", "text for a number", "no minor"],
)
def test_metadata_of_the_notebook_means_nothing(tmp_path, change):
    assert sources(read(tmp_path, json.dumps(answered() | change).encode())) == WRITTEN


@pytest.mark.parametrize("strange", [None, 3, "text", [], {"nbgrader": 3}, {"nbgrader": {"grade_id": ["x"]}}])
def test_metadata_of_a_cell_may_be_anything(tmp_path, strange):
    work = json.loads(PLAIN)
    for cell in work["cells"]:
        cell["metadata"] = strange
    submission = read(tmp_path, json.dumps(work).encode())
    assert sources(submission) == WRITTEN
    assert submission.found_answers == set(FULL)  # by their cell ids


def test_cells_of_the_wrong_form_are_passed_over(tmp_path):
    work = json.loads(PLAIN)
    work["cells"][:0] = [None, "text", {}, {"cell_type": "code", "source": 3}, {"source": ["a\n", 3, "b"]}]
    read_sources = sources(read(tmp_path, json.dumps(work).encode()))
    assert read_sources[-len(WRITTEN) :] == WRITTEN
    assert "a\nb" in read_sources


def test_source_as_a_list_of_lines_is_joined(tmp_path):
    work = json.loads(PLAIN)
    for cell in work["cells"]:
        cell["source"] = cell["source"].splitlines(keepends=True)
    assert sources(read(tmp_path, json.dumps(work).encode())) == WRITTEN


def test_repeated_and_missing_cell_ids_are_read(tmp_path):
    work = json.loads(PLAIN)
    for cell in work["cells"]:
        cell["id"] = "same"
    submission = read(tmp_path, json.dumps(work).encode())
    assert sources(submission) == WRITTEN
    assert submission.found_answers == set(FULL)  # by nbgrader's marks


@pytest.mark.parametrize(
    "name", ["test-v0.ipynb", "test-v1.ipynb", "test-v2.ipynb", "submitted-changed.ipynb"]
)
def test_nbgraders_own_notebooks_of_every_age_are_read(tmp_path, name):
    (tmp_path / "tiny.ipynb").write_bytes((STOCK_FILES / name).read_bytes())
    submission = read_work(tmp_path, ())
    assert submission.reason == ""
    assert submission.cells


def test_a_notebook_from_the_future_is_refused_with_the_reason(tmp_path):
    reason = read(tmp_path, json.dumps(answered() | {"nbformat": 5}).encode()).reason
    assert "newer than this grader reads" in reason


@pytest.mark.parametrize("at", [0.3, 0.5, 0.9, 0.999])
def test_a_file_that_breaks_off_is_said_to_break_off(tmp_path, at):
    raw = PLAIN.encode()
    assert "breaks off in the middle" in read(tmp_path, raw[: int(at * len(raw))]).reason


@pytest.mark.parametrize(
    ("raw", "words"),
    [
        (b"", "is empty"),
        (b"\xef\xbb\xbf \n", "is empty"),
        (b"\x00\x00\x00", "is not"),
        (b"\xff\xfe\x00", "is not"),
        (b"<html>a login page</html>", "is not a notebook"),
        (b"[1, 2]", "holds no cells"),
        (b"{}", "holds no cells"),
        (b'{"nbformat": 3, "worksheets": 7}', "old notebook format"),
        (b'{"cells": [' + b"{}, " * MOST_CELLS + b"{}]}", "more than the 5,000"),
        # An old one is not even converted, which takes a second for a thousand cells.
        (
            b'{"nbformat": 3, "worksheets": [{"cells": [' + b"{}, " * MOST_CELLS + b"{}]}]}",
            "more than the 5,000",
        ),
        (b"[" * 100_000, "nested too deeply"),
        (b'{"cells": ' + b"[" * 100_000, "nested too deeply"),
        (b"9" * 10_000, "is not a notebook"),
        (b"{" + b" " * LARGEST_NOTEBOOK, "larger than"),
    ],
)
def test_what_is_no_notebook_is_refused_in_one_sentence(tmp_path, raw, words):
    reason = read(tmp_path, raw).reason
    assert words in reason
    assert reason.endswith(".")
    assert "\n" not in reason
    assert len(reason) < 200


def test_a_folder_in_the_place_of_the_notebook_is_refused(tmp_path):
    (tmp_path / "tiny.ipynb").mkdir()
    assert "cannot be read" in read_work(tmp_path).reason


@pytest.mark.parametrize(
    "name", ["tiny (1).ipynb", "tiny-Copy1.ipynb", "Untitled.ipynb", "anna's tiny.ipynb"]
)
def test_a_misnamed_notebook_is_found_and_the_name_is_mentioned(tmp_path, name):
    submission = read(tmp_path, PLAIN.encode(), name)
    assert sources(submission) == WRITTEN
    assert repr(name) in submission.note


def test_of_several_misnamed_notebooks_the_one_with_most_of_the_lesson_counts(tmp_path):
    (tmp_path / "draft.ipynb").write_text(
        json.dumps({"cells": [cell_of(release(), "double")], "nbformat": 4})
    )
    (tmp_path / "other.ipynb").write_text('{"cells": [], "nbformat": 4}')
    assert sources(read(tmp_path, PLAIN.encode(), "tiny-Copy1.ipynb")) == WRITTEN


def test_the_rightly_named_notebook_is_preferred_to_its_copies(tmp_path):
    (tmp_path / "tiny-Copy1.ipynb").write_text(json.dumps(release()))
    submission = read(tmp_path, PLAIN.encode())
    assert sources(submission) == WRITTEN
    assert submission.note == ""


def test_a_copy_replaces_an_unreadable_or_foreign_notebook_of_the_right_name(tmp_path):
    (tmp_path / "tiny-Copy1.ipynb").write_text(PLAIN)
    assert sources(read(tmp_path, b"")) == WRITTEN
    other = {"cells": [{"cell_type": "code", "source": "1 + 1"}], "nbformat": 4}
    submission = read(tmp_path, json.dumps(other).encode())
    assert sources(submission) == WRITTEN
    assert "'tiny-Copy1.ipynb'" in submission.note


def test_another_lessons_notebook_under_this_name_is_told_apart(tmp_path):
    other = {"cells": [{"cell_type": "code", "source": "def softmax(x): ..."}], "nbformat": 4}
    assert "another notebook" in read(tmp_path, json.dumps(other).encode()).reason


def test_a_notebook_that_lost_all_marks_but_defines_the_answers_is_accepted(tmp_path):
    cells = [{"cell_type": "code", "source": "def double(x):\n    return 2 * x"}]
    assert read(tmp_path, json.dumps({"cells": cells, "nbformat": 4}).encode()).reason == ""


def test_a_folder_without_a_notebook_says_what_it_holds(tmp_path):
    assert "it is empty" in read_work(tmp_path).reason
    (tmp_path / "answers.txt").touch()
    assert "'answers.txt'" in read_work(tmp_path).reason
    assert "was handed in" in read_work(tmp_path / "absent").reason


COPIES = ["tiny-Copy1.ipynb", "tiny (1).ipynb", "Tiny.IPYNB", "tiny.ipynb.txt", "tiny.ipynb.json"]


@pytest.mark.parametrize("name", [*COPIES, "01_tiny/tiny.ipynb"])
@pytest.mark.parametrize("has_blank", [True, False])
def test_solved_work_under_another_name_is_graded_in_place_of_a_blank_original(tmp_path, name, has_blank):
    if has_blank:
        (tmp_path / "tiny.ipynb").write_text(json.dumps(release()))
    (tmp_path / name).parent.mkdir(exist_ok=True)
    submission = read(tmp_path, PLAIN.encode(), name)
    assert sources(submission) == WRITTEN
    assert repr(name) in submission.note


def test_where_two_notebooks_are_written_the_expected_one_counts_and_the_other_is_mentioned(tmp_path):
    other = answered(double="def double(x):\n    return x + x")
    (tmp_path / "tiny-Copy1.ipynb").write_text(json.dumps(other))
    submission = read(tmp_path, PLAIN.encode())
    assert sources(submission) == WRITTEN
    assert "'tiny-Copy1.ipynb' has answers in it, too" in submission.note
    (tmp_path / "tiny-Copy1.ipynb").write_text(PLAIN)  # a copy of the very same is not worth a word
    assert read(tmp_path, PLAIN.encode()).note == ""


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


def test_a_copy_of_another_notebook_of_the_assignment_is_not_taken_for_this_one(tmp_path):
    (tmp_path / "tiny.ipynb").write_text(json.dumps(release()))
    (tmp_path / "second-Copy1.ipynb").write_text(PLAIN)
    assert read_work(tmp_path, contents={"tiny.ipynb": (), "second.ipynb": ()}).changed_answers == set()
    assert read_work(tmp_path, contents={"tiny.ipynb": ()}).changed_answers == set(FULL)


@pytest.mark.parametrize(
    ("raw", "words"),
    [
        (b"PK\x03\x04", "an archive: unpack it"),
        (b"<!DOCTYPE html><html></html>", "a web page"),
        (
            b'{\n<<<<<<< HEAD\n "cells": []\n=======\n>>>>>>> other\n}',
            "conflict markers ('<<<<<<<' in line 2)",
        ),
    ],
)
def test_what_else_it_is_and_what_to_do_is_said(tmp_path, raw, words):
    assert words in read(tmp_path, raw).reason


def test_an_archive_beside_no_notebook_is_to_be_unpacked(tmp_path):
    (tmp_path / "work.zip").write_bytes(b"PK\x03\x04")
    assert "only the archive 'work.zip': unpack it" in read_work(tmp_path).reason
