"""The two wheels in the zip for students: nbjudge, and the course without what grades and builds it."""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Iterable, Mapping
from pathlib import Path

from attention_lab.maintain.bundle.contents import SETTINGS, grader_files, package_files
from nbjudge.errors import CourseError

FIRST_DATE = "315532800"  # the first second of 1980, before which no zip can go


def build_wheels(root: Path, folder: Path, for_tutor: Mapping[str, bytes] | None = None) -> tuple[Path, Path]:
    """Build the wheels of nbjudge and of the students' package.

    Each is built from a copy that holds nothing else, so nothing else can be in it, and with the
    installed setuptools: nothing is downloaded.

    Parameters
    ----------
    root
        The course's folder, a clone of the repository.
    folder
        Where the wheels are written to.
    for_tutor
        The checks, sources and settings that a tutor works with (`contents.tutor_files`), if there is one.

    Returns
    -------
    tuple of Path
        The wheel of nbjudge, and the one of the students' package.

    Raises
    ------
    CourseError
        If a wheel cannot be built.
    """
    grader, course = folder / "grader", folder / "course"
    # Not the grader's own folder: building a package leaves files beside it.
    _copy(root / "nbjudge", grader, [f"src/{name}" for name in grader_files(root)])
    release = sorted(path.relative_to(root).as_posix() for path in (root / "release").glob("*/*"))
    _copy(root, course, [*package_files(root, for_tutor is not None), *release])
    # setuptools looks for packages among the folders it finds, and pyproject.toml says what goes into them
    for name in ("lessons", *(("course/checks", "course/source") if for_tutor else ())):
        (course / "attention_lab" / name).mkdir(parents=True)
    for name, content in (for_tutor or {}).items():
        target = course / ("attention_lab/course" if name == SETTINGS else "") / name
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(content)
        target.chmod(0o644)
    for tree in (grader, course):
        (tree / "setup.cfg").write_text(f"[egg_info]\ntag_build = +{_digest(tree)}\n")
    return _build(grader, folder / "nbjudge"), _build(course, folder / "attention-lab")


def _digest(tree: Path) -> str:
    """Return the end of the wheel's version, which differs where its content does.

    pip does not install a wheel over an installed one of the same version.
    """
    digest = hashlib.sha256()
    for file in sorted(path for path in tree.rglob("*") if path.is_file()):
        digest.update(
            file.relative_to(tree).as_posix().encode() + b"\0" + hashlib.sha256(file.read_bytes()).digest()
        )
    return digest.hexdigest()[:12]


def _copy(root: Path, target: Path, names: Iterable[str]) -> None:
    """Copy the files of a distribution, all with the same rights, which a wheel keeps."""
    readme = tomllib.loads((root / "pyproject.toml").read_text())["project"]["readme"]
    about = {readme, "pyproject.toml", *(path.name for path in root.glob("LICENSE*"))}
    for name in (*names, *sorted(about)):
        if not (root / name).is_file():
            continue
        (target / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(root / name, target / name)
        (target / name).chmod(0o644)


def _build(tree: Path, folder: Path) -> Path:
    """Build the wheel of the distribution in `tree` into `folder`."""
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
            "The package for students cannot be built: install the course with its group `bundle`, "
            f"or read pip's last words: {run.stderr.strip()[-400:]}"
        )
    return built[0]
