"""The picture in docs/how-it-works.md shows the folders that there are, and which way their imports run."""

from __future__ import annotations

import runpy
from pathlib import Path
from xml.etree import ElementTree

from test_rooms import GRADER, ROOT, rooms_of

PICTURE = runpy.run_path(str(ROOT / "docs" / "images" / "rooms.py"))
ROWS = PICTURE["ROWS"]
HOW = "change docs/images/rooms.py and run it"


def test_the_picture_is_the_one_that_its_program_draws():
    assert Path(PICTURE["FILE"]).read_text() == PICTURE["picture"](), HOW


def test_the_picture_has_every_room_and_no_other():
    drawn = [room.name for rooms in ROWS.values() for room in rooms]
    folders = {f"{folder.name}/" for folder in GRADER.iterdir() if (folder / "__init__.py").is_file()}
    assert {name for name in drawn if name.endswith("/")} == folders, HOW
    parts = [f"{room.name}{room.inside}" for rooms in ROWS.values() for room in rooms]
    assert [part for part in parts if not (GRADER / part).exists()] == [], HOW
    words = [text.text for text in ElementTree.fromstring(PICTURE["picture"]()).iter() if text.text]
    assert set(drawn) <= set(words)


def test_no_room_imports_from_a_row_above_it():
    rows = list(ROWS.values())
    row_of = {Path(room.name).stem: at for at, rooms in enumerate(rows) for room in rooms}
    upwards = [
        f"{room}/ imports {other}/"
        for room, others in rooms_of(GRADER).items()
        for other in others
        if room in row_of and other in row_of and row_of[other] < row_of[room]
    ]
    assert upwards == [], HOW
