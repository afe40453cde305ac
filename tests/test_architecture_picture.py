"""The picture in docs/how-it-works.md shows the packages that exist and the direction of their imports."""

from __future__ import annotations

import runpy
from pathlib import Path
from xml.etree import ElementTree

from test_layers import GRADER, ROOT, package_imports

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


def test_no_package_imports_from_a_row_above_it():
    rows = list(ROWS.values())
    row_of = {Path(package.name).stem: at for at, packages in enumerate(rows) for package in packages}
    upwards = [
        f"{package}/ imports {other}/"
        for package, others in package_imports(GRADER).items()
        for other in others
        if package in row_of and other in row_of and row_of[other] < row_of[package]
    ]
    assert upwards == [], HOW
