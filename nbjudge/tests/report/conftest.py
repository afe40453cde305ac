import shutil
from pathlib import Path

import pytest
from reported_class import make_class
from typer.testing import CliRunner

from nbjudge.cli import app


@pytest.fixture(scope="session")
def graded_class(once) -> Path:
    """The class in its course's folder; no one may change it."""
    return once("reported_class", make_class)


@pytest.fixture
def class_copy(graded_class, tmp_path) -> Path:
    """The class, to be changed."""
    return Path(shutil.copytree(graded_class, tmp_path / "class"))


@pytest.fixture
def report(monkeypatch):
    """Runs `nbjudge report` in a folder; returns what it ended with."""

    def run(folder: Path, *arguments: object):
        monkeypatch.chdir(folder)
        return CliRunner().invoke(app, ["report", *map(str, arguments)])

    return run
