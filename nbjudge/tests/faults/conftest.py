import shutil
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from tiny_course import make_course


@pytest.fixture(scope="session")
def whole_course(once) -> Path:
    """The tiny course in a gradebook of its own; no one has handed in anything."""
    return once("whole_course", make_course)


@pytest.fixture
def course(whole_course: Path) -> Iterator[Path]:
    """A copy of the course for one test, on a short path: sockets lie below it."""
    with TemporaryDirectory(prefix="fault-") as folder:
        root = Path(folder).resolve() / "course"
        shutil.copytree(whole_course, root)
        yield root
