"""The picture in docs/how-it-works.md shows the packages that exist."""

from __future__ import annotations

import runpy
from pathlib import Path
from xml.etree import ElementTree

ROOT = Path(__file__).parents[1]
GRADER = ROOT / "nbjudge/src/nbjudge"
PICTURE = runpy.run_path(str(ROOT / "docs" / "images" / "architecture.py"))
ROWS = PICTURE["ROWS"]
HOW = "change docs/images/architecture.py and run it"


def test_the_picture_is_the_one_that_its_program_draws():
    assert Path(PICTURE["FILE"]).read_text() == PICTURE["picture"](), HOW


def test_the_picture_has_every_package_and_no_other():
    drawn = [package.name for packages in ROWS.values() for package in packages]
    folders = {f"{folder.name}/" for folder in GRADER.iterdir() if (folder / "__init__.py").is_file()}
    assert {name for name in drawn if name.endswith("/")} == folders, HOW
    parts = [f"{package.name}{package.inside}" for packages in ROWS.values() for package in packages]
    assert [part for part in parts if not (GRADER / part).exists()] == [], HOW
    words = [text.text for text in ElementTree.fromstring(PICTURE["picture"]()).iter() if text.text]
    assert set(drawn) <= set(words)
