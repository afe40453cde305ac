"""What may lie in a class's folder besides honest work: names, kinds of files, files and ids that are odd."""

from __future__ import annotations

import json
import os
import socket
from collections.abc import Callable, Iterable
from functools import partial
from itertools import zip_longest
from pathlib import Path
from typing import Any

import nbformat
from tiny_course import FOLDER, answered, hand_in

ONE_AT_A_TIME = bool(os.environ.get("EVERY_SEED"))  # a day's change meets several of them in one folder
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
    os.link(folder / "tiny.ipynb", folder / "again.txt")
    with open(folder / "sparse.bin", "wb") as file:
        file.truncate(2**40)
    with socket.socket(socket.AF_UNIX) as bound:
        at = os.open(folder, os.O_PATH)
        bound.bind(f"/proc/self/fd/{at}/socket.py")
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
BESIDE_IN_A_CLASS = BESIDE if ONE_AT_A_TIME else BESIDE | {"empty folders": partial(_empty_folders, many=300)}


def _plain_file(place: Path) -> None:
    place.write_bytes(whole())


def _dangling(place: Path) -> None:
    place.symlink_to("/no/such/folder")


def _link_to_a_neighbour(place: Path) -> None:
    place.symlink_to(Path("..") / "aa honest" / FOLDER)


def _link_to_the_solutions(place: Path) -> None:
    place.symlink_to(place.parents[2] / "solutions" / FOLDER)


def _link_to_everything(place: Path) -> None:
    place.symlink_to("/")


def _loop(place: Path) -> None:
    place.symlink_to(place.name)


def _socket(place: Path) -> None:
    with socket.socket(socket.AF_UNIX) as bound:
        at = os.open(place.parent, os.O_PATH)
        bound.bind(f"/proc/self/fd/{at}/{place.name}")
        os.close(at)


# In the place of a student's folder for the lesson: 0 points, with a sentence.
NO_FOLDER: dict[str, Callable[[Path], Any]] = {
    "file for a folder": _plain_file,
    "pipe for a folder": os.mkfifo,
    "dangling link": _dangling,
    "link to itself": _loop,
    "link to a neighbour": _link_to_a_neighbour,
    "link to the solutions": _link_to_the_solutions,
    "link to everything": _link_to_everything,
    "socket": _socket,
}


def _folder_for_a_notebook(folder: Path) -> None:
    (folder / "tiny.ipynb").mkdir()
    (folder / "tiny.ipynb" / "tiny.ipynb").write_bytes(whole())


def _only_hostile_names(folder: Path) -> None:
    (folder / HOSTILE_NAME.replace(".ipynb", ".txt")).write_bytes(whole())


def _sparse_notebook(folder: Path) -> None:
    with open(folder / "tiny.ipynb", "wb") as file:
        file.truncate(2**40)


# In the place of a notebook: 0 points, with a sentence.
NO_NOTEBOOK: dict[str, Callable[[Path], None]] = {
    "only hostile names": _only_hostile_names,
    "sparse notebook": _sparse_notebook,
}


def changed(**changes: Any) -> bytes:
    return json.dumps(answered() | changes).encode()


def _with_metadata(metadata: str) -> bytes:
    return whole().replace(b'"metadata": {}', b'"metadata": ' + metadata.encode(), 1)


def _many_cells(number: int) -> bytes:
    work = answered()
    cell = nbformat.v4.new_raw_cell("x")
    work.cells += [cell | {"id": f"cell-{count}"} for count in range(number)]
    return json.dumps(work).encode()


def _big_ids() -> bytes:
    work = answered()
    for cell in work.cells:
        cell["id"] = "same" * 100_000
        cell.metadata["nbgrader"] = cell.metadata.get("nbgrader", {}) | {"extra": "x" * 100_000}
    return json.dumps(work).encode()


def _dotted_line() -> bytes:
    """What takes Python's own parser ten gigabytes."""
    work = answered()
    work.cells.append(nbformat.v4.new_markdown_cell("x"))
    for cell in work.cells:
        if cell.id == "test_double":
            cell.source = "if False: import " + "double." * 100_000 + "a"
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
    "format as text": lambda: changed(nbformat="four"),
    "format as fraction": lambda: changed(nbformat=3.9),
    "format below zero": lambda: changed(nbformat=-(10**1000)),
    "no format": lambda: changed(nbformat=None),
    "huge ids": _big_ids,
    "30 MiB printed": _printed,
    "dotted line": _dotted_line,
}

# Files that are refused, with words of the sentence.
REFUSED_NOTEBOOKS: dict[str, tuple[Callable[[], bytes], str]] = {
    "huge format": (lambda: changed(nbformat=10**1000), "newer than this grader reads"),
    "format without end": (lambda: changed(nbformat=float("inf")), "newer than this grader reads"),
    "huge number": (lambda: _with_metadata("9" * 100_000), "thousands of digits"),
    "nested without end": (lambda: _with_metadata("[" * 100_000 + "]" * 100_000), "nested too deeply"),
    "cells without end": (lambda: _many_cells(100_000), "cells, more than"),
    "text without end": (
        lambda: json.dumps(answered(double="x = '" + "y" * 3_000_000 + "'")).encode(),
        "characters in its cells",
    ),
    "lists without end": (lambda: _with_metadata("[" + "[]," * 2_000_000 + "[]]"), "more entries than"),
    "quotes without end": (lambda: b'{"cells": ["' + b'\\"' * 5_000_000, "breaks off in the middle"),
    "texts without end": (lambda: b'{"cells": [' + b'"a' * 14_000_000, "more entries than"),
    "markup in an old format": (
        lambda: json.dumps(
            {"nbformat": 3, "metadata": {}, "worksheets": [{"<img src=x onerror=alert(1)>": "\x1b[2J"}]}
        ).encode(),
        "old notebook format",
    ),
    "markup for a format": (
        lambda: json.dumps({"nbformat": "<img src=x onerror=alert(1)>", "worksheets": 3}).encode(),
        "old notebook format",
    ),
}

# Ids that are odd and fine: full marks. Those in brackets come last, with nothing odd beside the notebook:
# nbgrader takes them for patterns, and does not see then that a path will be too long below `autograded`.
ODD_IDS = [
    "--force",
    "Aa honest",
    "*",
    "{student_id} %s %d",
    "ŝtudento 学生 ✓",
    "..ada; $HOME & ~",
    "[red]ann",
    "a[b]c",
]
# Names of folders that can be no id: a sentence, and not a success.
NO_IDS = ["two\nlines", "\x1b[2J\x1b[31mred", os.fsdecode(b"\xff\xfe"), "\u202egnp", "y" * 200, " ada"]
NO_IDS += ["<img src=x onerror=alert(1)>", '"+alert(1)+"', '" onmouseover="alert(1)', "a\\b"]
# Of the odd files those that are graded with the class; all of them are read.
GRADED = ("keys twice", "half characters", "huge ids", "30 MiB printed", "dotted line")
FULL_MARKS = ["aa honest", *ODD_IDS, "misnamed", "folder for a notebook", "zz honest"] + [
    *BESIDE,
    *GRADED,
] * ONE_AT_A_TIME
NO_MARKS = [*NO_NOTEBOOK, *NO_FOLDER, *REFUSED_NOTEBOOKS]


def hand_in_everything(root: Path) -> None:
    """All of the above, an honest student before and after."""
    for student in ["aa honest", *NO_IDS, "zz honest"]:
        hand_in(root, student, answered())
    for student, odd_file, lay_out in _odd_but_fine():
        folder = hand_in(root, student, ODD_NOTEBOOKS[odd_file]() if odd_file else answered())
        if lay_out:
            BESIDE_IN_A_CLASS[lay_out](folder)
    for student, lay_out in NO_NOTEBOOK.items():
        lay_out(hand_in(root, student, None))
    _folder_for_a_notebook(hand_in(root, "folder for a notebook", None))
    for student, put in NO_FOLDER.items():
        (root / "submitted" / student).mkdir()
        put(root / "submitted" / student / FOLDER)
    for student, (make, _) in REFUSED_NOTEBOOKS.items():
        hand_in(root, student, make())
    hand_in(root, "misnamed", answered(), HOSTILE_NAME)


def _odd_but_fine() -> Iterable[tuple[str, str, str]]:
    """Anyone who gets full marks all the same: their id, their odd file, what is beside it."""
    if ONE_AT_A_TIME:
        yield from ((student, "", "") for student in ODD_IDS)
        yield from ((file, file, "") for file in GRADED)
        yield from ((neighbour, "", neighbour) for neighbour in BESIDE)
    else:
        yield from zip_longest(ODD_IDS, GRADED, BESIDE, fillvalue="")
