import shutil
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from small_class import make_class
from tiny_course import FOLDER, succeed


@pytest.fixture(scope="session")
def whole_class(once) -> Path:
    """A course with a class that has handed in; nothing is graded."""
    return once("handed_in_class", make_class)


@pytest.fixture(scope="session")
def graded_one_by_one(once, whole_class) -> Path:
    """The same class, as `nbgrader autograde` leaves it: one after the other, in SQLite."""

    def grade(folder: Path) -> None:
        shutil.copytree(whole_class, folder, dirs_exist_ok=True)
        succeed(folder, "autograde", FOLDER)

    return once("graded_one_by_one", grade)


@pytest.fixture
def copy_of_class(whole_class: Path) -> Iterator[Path]:
    """A copy for one test, on a short path: sockets lie below it."""
    with TemporaryDirectory(prefix="class-") as folder:
        root = Path(folder).resolve() / "course"
        shutil.copytree(whole_class, root, copy_function=shutil.copy2)
        yield root
