"""No name, path or file keeps anybody from a grade or a sentence: each student by each way of grading."""

import json
import os
import re
import socket
import subprocess
import sys
from collections.abc import Callable
from functools import partial
from itertools import zip_longest
from pathlib import Path
from typing import Any

import nbformat
import pytest
from nbgrader.api import Gradebook
from nbgrader_command import run as nbgrader
from tiny_course import (
    FOLDER,
    FULL,
    NOTHING,
    GradedClass,
    after,
    answered,
    cell_of,
    hand_in,
    make_course,
    read_work,
)

from nbjudge.course.folders import invalid_id_reason
from nbjudge.submission.files import MOST_EXTRA_FILES, Folder, read_handed_in

pytestmark = [pytest.mark.integration, pytest.mark.fault, pytest.mark.timeout(900)]


DEEP = 600  # folders within each other: a path longer than the system allows
HOSTILE_NAME = "<img src=x onerror=alert(1)> [red]$\\href{javascript:alert(1)}{x}$ \x1b[2J\u202e.ipynb"


def whole() -> bytes:
    return json.dumps(answered()).encode()


def _deep(folder: Path) -> None:
    descriptor = os.open(folder, os.O_RDONLY)
    for _ in range(DEEP):
        os.mkdir("d" * 7, dir_fd=descriptor)
        deeper = os.open("d" * 7, os.O_RDONLY, dir_fd=descriptor)
        os.close(descriptor)
        descriptor = deeper
    with open(os.open("helper.py", os.O_WRONLY | os.O_CREAT, dir_fd=descriptor), "w") as file:
        file.write("deep = 1")
    os.close(descriptor)


def _long_path(folder: Path) -> None:
    """Still a path for the system, and none any more below another folder."""
    name = "d" * 200
    deepest = Path(*[name] * ((4090 - len(str(folder))) // 201))
    (folder / deepest).mkdir(parents=True)
    length_left = 4095 - len(os.fsencode(folder / deepest)) - 1
    if length_left > 0:
        (folder / deepest / ("f" * min(length_left, 255))).write_bytes(b"far")


def _odd_names(folder: Path) -> None:
    for name in [b"\xff\xfe.py", b"a\nb", b"\x1b[2J\x07", b"-rf", b"*", b"'\"`$(x)", b"x" * 255, b"[red]x"]:
        Path(os.fsdecode(os.fsencode(folder) + b"/" + name)).write_bytes(b"1")
    for name in ("Helper.py", "helper.py", "HELPER.PY", "%s%n{}", "=1+1", " "):
        (folder / name).write_text("same = 1")


def _no_files(folder: Path) -> None:
    os.mkfifo(folder / "pipe.txt")
    (folder / "nowhere.py").symlink_to("/no/such/file")
    (folder / "around.py").symlink_to("around.py")
    (folder / "up").symlink_to("..")
    (folder / "key.txt").symlink_to(folder / "tiny.ipynb")
    os.link(folder / "tiny.ipynb", folder / "again.txt")
    _sparse(folder / "sparse.bin")
    _socket(folder / "socket.py")


def _sparse(path: Path) -> None:
    path.touch()
    os.truncate(path, 2**40)


def _socket(path: Path) -> None:
    with socket.socket(socket.AF_UNIX) as bound:
        at = os.open(path.parent, os.O_PATH)
        bound.bind(f"/proc/self/fd/{at}/{path.name}")
        os.close(at)


def _empty_folders(folder: Path, many: int = 3_000) -> None:
    for number in range(many):
        (folder / f"empty {number}").mkdir()


def _litter(folder: Path) -> None:
    for name in ("timestamp.txt", "submission_secret.txt", "__pycache__", ".ipynb_checkpoints"):
        (folder / name).mkdir()
        (folder / name / "tiny.ipynb").write_bytes(whole())


# Beside an honest notebook: each gets full marks.
BESIDE: dict[str, Callable[[Path], None]] = {
    "deep": _deep,
    "long path": _long_path,
    "odd names": _odd_names,
    "no files": _no_files,
    "empty folders": _empty_folders,
    "litter": _litter,
}


# The same where a class is graded: in 3,000 empty folders nbgrader looks around for a minute, as it looks at
# all of them for each.
BESIDE_IN_A_CLASS = BESIDE | {"empty folders": partial(_empty_folders, many=300)}


# In the place of a student's folder for the lesson: 0 points, with a sentence.
NO_FOLDER: dict[str, Callable[[Path], Any]] = {
    "file for a folder": lambda place: place.write_bytes(whole()),
    "pipe for a folder": os.mkfifo,
    "dangling link": lambda place: place.symlink_to("/no/such/folder"),
    "link to itself": lambda place: place.symlink_to(place.name),
    "link to a neighbour": lambda place: place.symlink_to(Path("..") / "aa honest" / FOLDER),
    "link to the solutions": lambda place: place.symlink_to(place.parents[2] / "solutions" / FOLDER),
    "link to everything": lambda place: place.symlink_to("/"),
    "socket": _socket,
}
# In the place of a notebook: 0 points, with a sentence.
NO_NOTEBOOK: dict[str, Callable[[Path], Any]] = {
    "only hostile names": lambda folder: (folder / HOSTILE_NAME.replace(".ipynb", ".txt")).write_bytes(
        whole()
    ),
    "sparse notebook": lambda folder: _sparse(folder / "tiny.ipynb"),
    "pipe for a notebook": lambda folder: os.mkfifo(folder / "tiny.ipynb"),
}


def changed(**changes: Any) -> bytes:
    return json.dumps(answered() | changes).encode()


def _with_metadata(metadata: str) -> bytes:
    return whole().replace(b'"metadata": {}', b'"metadata": ' + metadata.encode(), 1)


def _big_ids() -> bytes:
    work = answered()
    for cell in work.cells:
        cell["id"] = "same" * 100_000
        cell.metadata["nbgrader"] = cell.metadata.get("nbgrader", {}) | {"extra": "x" * 100_000}
    return json.dumps(work).encode()


def _dotted_line() -> bytes:
    """Return what takes Python's own parser ten gigabytes."""
    work = after(answered(), "end", nbformat.v4.new_markdown_cell("x"))
    cell_of(work, "test_double").source = "if False: import " + "double." * 100_000 + "a"
    return json.dumps(work).encode()


def _printed() -> bytes:
    work = answered()
    lines = [f"step {number}: loss 0.{number:07d}\n" for number in range(1_000_000)]
    work.cells[1].outputs = [{"output_type": "stream", "name": "stdout", "text": lines}]
    return json.dumps(work).encode()


# Odd files that hold honest work, read by the rules: full marks.
ODD_NOTEBOOKS: dict[str, Callable[[], bytes]] = {
    "keys twice": lambda: b'{"cells": [], "nbformat": 4, "metadata": 3, ' + whole()[1:],
    "not a number": lambda: changed(nbformat_minor=float("nan"), extra=[float("inf"), -float("inf"), 1e300]),
    "half characters": lambda: changed(metadata={"title": "\ud800", "\udfff": 1}),
    "nested": lambda: _with_metadata("[" * 500 + "]" * 500),
    "format as fraction": lambda: changed(nbformat=3.9),
    "format below zero": lambda: changed(nbformat=-(10**1000)),
    "huge ids": _big_ids,
    "30 MiB printed": _printed,
    "dotted line": _dotted_line,
}

# Files that are refused, with words of the sentence.
REFUSED_NOTEBOOKS: dict[str, tuple[Callable[[], bytes], str]] = {
    "huge format": (lambda: changed(nbformat=10**1000), "newer than this grader reads"),
    "format without end": (lambda: changed(nbformat=float("inf")), "newer than this grader reads"),
    "huge number": (lambda: _with_metadata("9" * 100_000), "thousands of digits"),
    "text without end": (
        lambda: json.dumps(answered(double="x = '" + "y" * 3_000_000 + "'")).encode(),
        "characters in its cells",
    ),
    "lists without end": (lambda: _with_metadata("[" + "[]," * 2_000_000 + "[]]"), "more entries than"),
    "quotes without end": (lambda: b'{"cells": ["' + b'\\"' * 5_000_000, "breaks off in the middle"),
    "texts without end": (lambda: b'{"cells": [' + b'"a' * 14_000_000, "more entries than"),
    "markup for a format": (
        lambda: json.dumps({"nbformat": "<img src=x onerror=alert(1)>", "worksheets": 3}).encode(),
        "old notebook format",
    ),
}

# Ids that are odd and fine: full marks. Those in brackets come last, with nothing odd beside the notebook:
# nbgrader takes them for patterns, and does not see then that a path will be too long below `autograded`.
ODD_IDS = ["--force", "Aa honest", "*", "{student_id} %s %d", "ŝtudento 学生 ✓", "..ada; $HOME & ~"]
ODD_IDS += ["[red]ann", "a[b]c"]
# Names of folders that can be no id: a sentence, and not a success.
NO_IDS = ["two\nlines", "\x1b[2J\x1b[31mred", os.fsdecode(b"\xff\xfe"), "\u202egnp", "y" * 200, " ada"]
NO_IDS += ["<img src=x onerror=alert(1)>", '"+alert(1)+"', '" onmouseover="alert(1)', "a\\b"]
# Of the odd files those that are graded with the class; all of them are read.
GRADED = ("keys twice", "half characters", "huge ids", "30 MiB printed", "dotted line")
FULL_MARKS = ["aa honest", *ODD_IDS, "misnamed", "folder for a notebook", "zz honest"]
NO_MARKS = [*NO_NOTEBOOK, *NO_FOLDER, *REFUSED_NOTEBOOKS]


def hand_in_everything(root: Path) -> None:
    """All of the above, an honest student before and after."""
    for student in ["aa honest", *NO_IDS, "zz honest"]:
        hand_in(root, student, answered())
    # Those who get full marks all the same: their id, their odd file, what is beside it.
    for student, odd_file, lay_out in zip_longest(ODD_IDS, GRADED, BESIDE_IN_A_CLASS, fillvalue=""):
        folder = hand_in(root, student, ODD_NOTEBOOKS[odd_file]() if odd_file else answered())
        if lay_out:
            BESIDE_IN_A_CLASS[lay_out](folder)
    for student, lay_out in NO_NOTEBOOK.items():
        lay_out(hand_in(root, student, None))
    folder = hand_in(root, "folder for a notebook", None) / "tiny.ipynb"
    folder.mkdir()
    (folder / "tiny.ipynb").write_bytes(whole())
    for student, put in NO_FOLDER.items():
        (root / "submitted" / student).mkdir()
        put(root / "submitted" / student / FOLDER)
    for student, (make, _) in REFUSED_NOTEBOOKS.items():
        hand_in(root, student, make())
    hand_in(root, "misnamed", answered(), HOSTILE_NAME)


CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e]")


@pytest.mark.parametrize("kind", [*ODD_NOTEBOOKS, *REFUSED_NOTEBOOKS])
def test_an_odd_file_is_read_or_refused(tmp_path, kind):
    make, words = (ODD_NOTEBOOKS[kind], "") if kind in ODD_NOTEBOOKS else REFUSED_NOTEBOOKS[kind]
    (tmp_path / "tiny.ipynb").write_bytes(make())
    submission = read_work(tmp_path)
    assert words in submission.reason and bool(words) == bool(submission.reason)
    assert submission.found_answers == (set() if words else set(FULL))
    assert len(submission.reason) < 300 and not CONTROL.search(submission.reason)


# In the gradebook and the report, an id that holds one would be beside another that looks the same.
UNSEEN = (
    "\u200b\u200c\u200d\u200e\u200f\u2060\u2061\u2062\u2063\u2064\u061c\u00ad\ufeff\u180e\u034f\u3164\u2800"
    "\ufe0f\ufe00\U000e0041\U000e0100\u2066\u202e\u206f\u2028\x85\ue000\uffff"
)
IDS = dict.fromkeys(NO_IDS, "rename the folder")
IDS |= dict.fromkeys(
    (id_ for each in UNSEEN for id_ in (f"ad{each}a", f"{each}ada", f"ada{each}")), "that cannot be shown"
)
NAMES = ["ada", "ada lovelace_123", "José", "Jose\u0301", "李明", "علي", "O'Brien", "x+y@z.org", "भारत"]


@pytest.mark.parametrize(("student", "words"), (IDS | dict.fromkeys(NAMES, "")).items(), ids=ascii)
def test_a_name_is_an_id_or_is_said_to_be_none(student, words):
    sentence = invalid_id_reason(student) or ""
    assert words in sentence and bool(words) == bool(sentence) and not CONTROL.search(sentence)


@pytest.mark.parametrize("kind", BESIDE)
def test_the_order_of_files_does_not_matter(tmp_path, kind):
    BESIDE[kind](hand_in(tmp_path, "ada", answered()))
    folder = tmp_path / "submitted/ada" / FOLDER
    files = read_handed_in(Folder(folder)).files
    assert list(files) == list(read_handed_in(Folder(folder)).files) and len(files) <= MOST_EXTRA_FILES
    assert all(len(os.fsencode(name)) <= 1000 for name in files)
    assert kind != "no files" or list(files) == ["again.txt"]


@pytest.fixture(scope="session", params=["nbgrader autograde", "nbjudge grade"])
def graded(request, once) -> tuple[GradedClass, int, str]:
    """The class, graded in one way: what is left of it, the exit status and all words."""
    command = str(request.param).split()

    def grade(folder: Path) -> None:
        root = folder / "course"
        make_course(root)
        hand_in_everything(root)
        run = nbgrader(root, "autograde", FOLDER) if command[0] == "nbgrader" else nbjudge_grade(root)
        (folder / "status").write_text(str(run.returncode))
        (folder / "words").write_text(run.stdout + run.stderr)

    folder = once(command[0], grade)
    return (
        GradedClass(folder / "course"),
        int((folder / "status").read_text()),
        (folder / "words").read_text(),
    )


def nbjudge_grade(root: Path) -> subprocess.CompletedProcess[str]:
    line = [str(Path(sys.executable).parent / "nbjudge"), "grade", FOLDER]
    run = subprocess.run(line, cwd=root, capture_output=True, text=True, env=os.environ | {"COLUMNS": "200"})
    log = (root / "nbgrader.log").read_text()
    return subprocess.CompletedProcess(line, run.returncode, run.stdout, run.stderr + log)


def test_only_own_files_decide_a_grade(graded):
    left, _, words = graded
    found = {student: left.points(student) for student in [*FULL_MARKS, *NO_MARKS]}
    assert found == dict.fromkeys(FULL_MARKS, FULL) | dict.fromkeys(NO_MARKS, NOTHING), words[-3000:]
    with Gradebook(f"sqlite:///{left.root / 'gradebook.db'}") as gradebook:
        assert {student.id for student in gradebook.students} == {*FULL_MARKS, *NO_MARKS}


def test_zero_points_have_a_reason_in_every_cell(graded):
    left, _, _ = graded
    for student in NO_MARKS:
        for exercise in FULL:
            reason = left.reason(student, exercise)
            assert reason.endswith(".") and len(reason) < 300, (student, reason)
            assert not CONTROL.search(reason), (student, reason)


def test_a_student_without_a_grade_is_named(graded):
    _, status, words = graded
    assert status == 1
    for student in NO_IDS:
        assert str(invalid_id_reason(student)) in words, student


def test_names_reach_terminal_and_log_as_text(graded):
    _, _, words = graded
    assert not CONTROL.search(words.replace("\r", ""))
    assert "Traceback" not in words


def test_the_notices_of_hostile_names_are_text(graded):
    left, _, _ = graded
    for student in ("misnamed", *NO_NOTEBOOK):
        notice = left.notebook(student).cells[0]
        assert notice.id == "from-the-grader"
        assert "<img" not in notice.source and "\n" not in notice.source
        assert not CONTROL.search(notice.source)
