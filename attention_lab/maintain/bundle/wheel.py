"""The helper package for students, as a wheel: the package without what grades and builds the course."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Mapping
from pathlib import Path

from attention_lab.errors import CourseError
from attention_lab.maintain.bundle.contents import JUDGE, RECORDED, judge_files, package_files
from nbjudge.submission.files import CACHE_FOLDERS

# What of pyproject.toml is the instructors': the optional groups, and how Jupyter finds the sandbox.
INSTRUCTORS_TABLES = ("project.optional-dependencies", "project.entry-points")
FIRST_DATE = "315532800"  # the first second of 1980, before which no zip can go


def build_wheel(root: Path, folder: Path, recorded: Mapping[str, bytes]) -> Path:
    """Build the wheel from the course in `root` into `folder`; CourseError where it cannot be built.

    With the files that a tutor asks with (`recorded`, by name), it holds the judge as well.

    It is built from a tree that holds nothing else, so nothing else can be in it, and with the
    installed setuptools: nothing is downloaded.
    """
    tree = folder / "tree"
    _lay_out(root, tree)
    if recorded:
        _add_tutor(tree, recorded)
    run = subprocess.run(
        [sys.executable, "-m", "pip", "--disable-pip-version-check", "--no-cache-dir", "wheel", "--quiet"]
        + ["--no-deps", "--no-index", "--no-build-isolation", "--wheel-dir", str(folder), str(tree)],
        capture_output=True,
        text=True,
        env=os.environ | {"SOURCE_DATE_EPOCH": FIRST_DATE},
    )
    built = list(folder.glob("*.whl"))
    if run.returncode != 0 or len(built) != 1:
        raise CourseError(
            "The helper package cannot be built: install the course with its group `bundle`, "
            f"or read pip's last words: {run.stderr.strip()[-400:]}"
        )
    return built[0]


def _lay_out(root: Path, tree: Path) -> None:
    """The files that the wheel is built from; all with the same rights, which a wheel keeps."""
    lessons = sorted(path.relative_to(root).as_posix() for path in (root / "release").glob("*/*"))
    licences = sorted(path.name for path in root.glob("LICENSE*"))
    for name in [*package_files(root), *lessons, *licences]:
        goal = tree / name
        if CACHE_FOLDERS & set(goal.parts) or not (root / name).is_file():
            continue
        goal.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(root / name, goal)
        goal.chmod(0o644)
    (tree / "attention_lab/lessons").mkdir()  # setuptools looks for packages among the folders it finds
    (tree / "pyproject.toml").write_text(for_students((root / "pyproject.toml").read_text()))


def _add_tutor(tree: Path, recorded: Mapping[str, bytes]) -> None:
    # Where the package's own pyproject.toml says that the judge is.
    files = {f"nbjudge/src/{name}": file.read_bytes() for name, file in judge_files().items()}
    files |= {f"{RECORDED}/{name}": content for name, content in recorded.items()}
    (tree / JUDGE).mkdir(parents=True)
    for name, content in files.items():
        goal = tree / name
        goal.parent.mkdir(parents=True, exist_ok=True)
        goal.write_bytes(content)
        goal.chmod(0o644)


def for_students(pyproject: str) -> str:
    """`pyproject.toml` without the tables that only instructors need."""
    tables = re.split(r"^(?=\[)", pyproject, flags=re.MULTILINE)
    names = tuple(f"[{name}" for name in INSTRUCTORS_TABLES)
    kept = "".join(table for table in tables if not table.startswith(names))
    tomllib.loads(kept)
    return kept
