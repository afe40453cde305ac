"""A small course that is a checkout of its own, the zip that it makes for students, and zips to spoil."""

from __future__ import annotations

import io
import shutil
import zipfile
from pathlib import Path

import nbformat
from fresh_clone import ROOT
from rich.console import Console
from tiny_course import FOLDER, NAME
from written_question import write_course

from attention_lab.maintain.bundle.make_bundle import make_bundle
from nbjudge.course.assignment_forms import released
from nbjudge.course.configuration import read_config
from nbjudge.course.course import Course

NOTEBOOK = f"attention-lab/lessons/{FOLDER}/{NAME}.ipynb"
INSIDE = f"attention_lab/lessons/{FOLDER}/{NAME}.ipynb"
Members = dict[str, bytes]


def read_zip(content: bytes) -> Members:
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def write_zip(members: Members) -> bytes:
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w") as archive:
        for name, data in members.items():
            archive.writestr(name, data)
    return content.getvalue()


def wheel_in(members: Members, package: str = "attention_lab") -> str:
    return next(name for name in members if name.startswith(f"attention-lab/{package}-"))


def make_school(root: Path) -> None:
    """Fill a folder with the tiny course, its package and its release, and make the zip in `dist/`."""
    write_course(root)
    unwanted = shutil.ignore_patterns("__pycache__")
    shutil.copytree(ROOT / "attention_lab", root / "attention_lab", ignore=unwanted)
    shutil.copytree(ROOT / "nbjudge/src/nbjudge", root / "nbjudge/src/nbjudge", ignore=unwanted)
    for name in ("LICENSE", "README.md", "pyproject.toml"):
        shutil.copy(ROOT / "nbjudge" / name, root / "nbjudge")
    for name in ("LICENSE", "LICENSE-CONTENT", "environment.yml", "pyproject.toml"):
        shutil.copy(ROOT / name, root)
    (root / "source" / FOLDER / "given.py").write_text("ANSWER = 42\n")
    release = root / "release" / FOLDER
    release.mkdir(parents=True)
    source = nbformat.read(root / "source" / FOLDER / f"{NAME}.ipynb", as_version=4)
    nbformat.write(released(source, read_config(root)), release / f"{NAME}.ipynb")
    shutil.copy(root / "source" / FOLDER / "given.py", release)
    make_bundle(Course(root), root / "dist", Console(quiet=True))


def course_and_zip(root: Path) -> tuple[Course, Path]:
    (bundle,) = (root / "dist").iterdir()
    return Course(root), bundle
