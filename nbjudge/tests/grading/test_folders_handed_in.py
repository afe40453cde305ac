"""Folders that lead elsewhere, clash with the assignment's files, or were changed since they were graded."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from tiny_course import FOLDER, FULL, NOTHING, GradedClass, answered, hand_in, make_course, nbgrader, release

from nbjudge.batch.changed_submissions import make_plan
from nbjudge.course.folders import CourseFolders
from nbjudge.record.graded_notebook import read_graded
from nbjudge.submission.files import Folder, SubmissionFolder, files_beside, read_handed_in, write_files

pytestmark = pytest.mark.integration

NOTEBOOKS = ["tiny.ipynb"]


def digest(folder: Path) -> str:
    return read_handed_in(Folder(folder), NOTEBOOKS).digest


@pytest.mark.parametrize(
    "structure",
    ["{nbgrader_step}/{student_id}/{assignment_id}", "{assignment_id}/{nbgrader_step}/x-{student_id}/in"],
)
@pytest.mark.parametrize("level", [1, 2])
def test_no_link_below_submitted_is_followed(tmp_path, structure, level):
    """The folder `submitted` itself may be one."""
    folders = CourseFolders(tmp_path, directory_structure=structure)
    ada = folders.submission("ada", "ps1")
    ada.path.mkdir(parents=True)
    (ada.path / "tiny.ipynb").write_bytes(b"{}")
    eve = folders.submission("eve", "ps1")
    own, neighbours = eve.inner.split("/"), ada.inner.split("/")
    link = eve.base.joinpath(*own[:level])
    link.parent.mkdir(parents=True, exist_ok=True)
    link.symlink_to(ada.base.joinpath(*neighbours[:level]))
    assert (eve.path / "tiny.ipynb").exists()
    read = read_handed_in(eve, NOTEBOOKS)
    assert f"{own[level - 1]!r} is a link" in read.obstacle and not read.notebooks and not read.files
    ada.base.rename(tmp_path / "elsewhere")
    ada.base.symlink_to(tmp_path / "elsewhere")
    assert read_handed_in(ada, NOTEBOOKS).notebooks == {"tiny.ipynb": b"{}"}


def test_digest_differs_with_every_change(tmp_path):
    """Times do not matter."""
    (tmp_path / "tiny.ipynb").write_bytes(b"{}")
    (tmp_path / "helper.py").write_bytes(b"x = 1")
    digests = [digest(tmp_path)]
    os.utime(tmp_path / "tiny.ipynb", (0, 0))
    assert digest(tmp_path) == digests[0]
    for change in (
        lambda: (tmp_path / "tiny.ipynb").write_bytes(b"[]"),
        lambda: (tmp_path / "helper.py").rename(tmp_path / "helped.py"),
        lambda: (tmp_path / "helped.py").unlink(),
        lambda: (tmp_path / "link").symlink_to("tiny.ipynb"),
    ):
        change()
        digests.append(digest(tmp_path))
    assert len(set(digests)) == len(digests)


@pytest.mark.parametrize(
    ("files", "notebook", "given", "expected", "note"),
    [
        (
            {"data": b"1", "table.csv/x": b"2", "Data": b"3", "own/x": b"4", "given.csv": b"5"},
            "tiny.ipynb",
            ["data/x.csv", "table.csv", "given.csv"],
            {"Data": b"3", "own/x": b"4", "given.csv": b"5"},
            "'data', 'table.csv/x' were left out",
        ),
        # Without the assignment's files, as `exclude_overwriting` has it, nothing clashes.
        ({"data": b"1", "data.csv/x": b"2"}, "tiny.ipynb", [], {"data": b"1", "data.csv/x": b"2"}, ""),
        # The files of an inner folder are beside its notebook.
        (
            {"ps1/helper.py": b"inner", "helper.py": b"outer", "other.py": b"other"},
            "ps1/tiny.ipynb",
            [],
            {"helper.py": b"inner", "other.py": b"other"},
            "",
        ),
    ],
)
def test_files_beside_a_notebook(tmp_path, files, notebook, given, expected, note):
    """The assignment's folders and files win, and only what clashes is left out."""
    found, message = files_beside(SubmissionFolder(Folder(tmp_path), files=files), notebook, given)
    assert found == expected and message.startswith(note) and bool(message) == bool(note)


def test_files_that_are_there_are_not_written_over(tmp_path):
    """A clash of names stops nothing."""
    (tmp_path / "data").mkdir()
    (tmp_path / "given.csv").write_text("given")
    write_files({"data": b"1", "given.csv": b"2", "given.csv/x": b"3", "own.py": b"4"}, tmp_path)
    assert (tmp_path / "given.csv").read_text() == "given" and (tmp_path / "own.py").read_text() == "4"


@pytest.fixture(scope="session")
def linked_class(once) -> GradedClass:
    return GradedClass(once("linked_class", _hand_in_and_grade))


def _hand_in_and_grade(root: Path) -> None:
    make_course(root)
    (root / "source" / FOLDER / "data").mkdir()
    (root / "source" / FOLDER / "data" / "x.csv").write_text("1,2")
    # At first no one has a notebook at the top of the folder.
    (hand_in(root, "kim", None) / FOLDER).mkdir()
    (root / "submitted/kim" / FOLDER / FOLDER / "tiny.ipynb").write_text(json.dumps(answered()))
    (hand_in(root, "mia", None) / "tiny.ipynb.txt").write_text(json.dumps(answered()))
    (root / "submitted/gil").symlink_to("ada")
    # In a process of its own, which has imported nothing of the grader before nbgrader does.
    command = [sys.executable, "-m", "nbgrader", "autograde", FOLDER]
    first = subprocess.run(command, cwd=root, capture_output=True, text=True)
    ada = hand_in(root, "ada", answered())
    (root / "submitted/eve").mkdir()
    (root / "submitted/eve" / FOLDER).symlink_to(ada)
    (root / "submitted/fay").mkdir()
    (root / "submitted/fay" / FOLDER).symlink_to(root / "solutions" / FOLDER)
    (hand_in(root, "ian", answered()) / "data").write_text("mine")
    hand_in(root, "joe", answered(), "tiny-Copy1.ipynb")
    hand_in(root, "joe", release())
    new = hand_in(root, "lou", release())
    run = nbgrader(root, "autograde", FOLDER)
    times = (new / "tiny.ipynb").stat().st_mtime
    (new / "tiny.ipynb").write_text(json.dumps(answered()))
    os.utime(new / "tiny.ipynb", (times - 60, times - 60))
    second_run = nbgrader(root, "autograde", FOLDER)
    log = {"log": run.stderr, "again": second_run.stderr, "first": first.stderr}
    log |= {"status": [each.returncode for each in (first, run, second_run)]}
    (root / "run.json").write_text(json.dumps(log))


def test_no_one_gets_points_through_a_link(linked_class):
    run = json.loads((linked_class.root / "run.json").read_text())
    assert run["status"] == [1, 0, 0], run["log"][-3000:]
    for student in ("eve", "fay", "gil"):
        assert linked_class.points(student) == NOTHING
        assert "is a link, which the grader does not follow" in linked_class.reason(student, "double")
    for student in ("ada", "ian", "joe", "kim", "mia"):
        assert linked_class.points(student) == FULL, student


def test_nbgraders_error_names_the_command_that_grades(linked_class):
    """Where it finds one, it grades the others as well, and says nothing of this."""
    run = json.loads((linked_class.root / "run.json").read_text())
    assert run["first"].count("No notebooks were matched by") >= 1
    assert run["first"].count("`nbjudge grade` also grades") == 1 and "nbjudge grade" not in run["log"]


@pytest.mark.parametrize(
    ("student", "words"),
    [
        ("mia", "'tiny.ipynb.txt'"),
        ("ian", "'data' was left out: the assignment has a file or folder of that name"),
        ("joe", "'tiny.ipynb' is as it was given out, so 'tiny-Copy1.ipynb' was graded"),
        ("kim", f"handed in as '{FOLDER}/tiny.ipynb'"),
    ],
)
def test_what_is_unusual_is_said(linked_class, student, words):
    record = read_graded(linked_class.root / "autograded" / student / FOLDER / "tiny.ipynb").record
    assert words in record.note
    assert words in json.loads((linked_class.root / "run.json").read_text())["log"]


def test_later_submission_with_an_older_time_is_graded(linked_class):
    """By both commands, and no other is."""
    assert linked_class.points("lou") == FULL
    second_log = json.loads((linked_class.root / "run.json").read_text())["again"]
    assert second_log.count("Skipping existing assignment") == 8
    folders = CourseFolders(linked_class.root)
    assert make_plan(folders, FOLDER).todo == {}
    (linked_class.root / "submitted/lou" / FOLDER / "helper.py").write_text("x = 1")
    assert make_plan(folders, FOLDER).todo == {"lou": "changed"}
    (linked_class.root / "submitted/lou" / FOLDER / "helper.py").unlink()
