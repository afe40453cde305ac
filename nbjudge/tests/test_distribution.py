"""What the distribution installs: the base for learners and authors, the group `grading` for graders."""

from __future__ import annotations

import re
import subprocess
import sys
import tomllib
from importlib.metadata import packages_distributions
from pathlib import Path

import pytest

from nbjudge import cli
from nbjudge.errors import GRADING_MODULES, without_grading

PROJECT = tomllib.loads((Path(__file__).parents[1] / "pyproject.toml").read_text())["project"]
# What a learner's tutor, an author of checks and the `nbjudge` command import.
WITHOUT_GRADING = (
    "nbjudge.cli",
    "nbjudge.authoring",
    "nbjudge.course.course",
    "nbjudge.try_checks.command",
    "nbjudge.tutor.service",
    "nbjudge.tutor.tutor",
)


def names(requirements: list[str]) -> set[str]:
    """The names of the distributions, in lower case."""
    return {re.split(r"[^\w.-]", line)[0].lower().replace("_", "-") for line in requirements}


def test_the_modules_of_the_group_grading_are_those_that_it_installs():
    grading = names(PROJECT["optional-dependencies"]["grading"])
    provided = {
        module
        for module, distributions in packages_distributions().items()
        if names(distributions) & grading and not module.startswith("_")
    }
    assert provided >= GRADING_MODULES
    assert {name.lower().replace("_", "-") for name in GRADING_MODULES} | {"pyzmq"} >= grading


def test_the_base_installs_neither_nbgrader_nor_jupyterlab():
    assert names(PROJECT["dependencies"]) == {
        *("jupyter-core", "msgspec", "pylatexenc", "rich", "traitlets", "typer")
    }


def test_a_command_that_needs_a_missing_package_says_how_to_install_it(monkeypatch, capsys):
    def fail() -> None:
        raise ModuleNotFoundError("No module named 'nbgrader'", name="nbgrader.api")

    monkeypatch.setattr(cli, "app", fail)
    with pytest.raises(SystemExit):
        cli.main()
    output = capsys.readouterr().out
    assert "needs nbgrader, which is not installed" in output and "pip install 'nbjudge[grading]'" in output
    assert without_grading(ModuleNotFoundError(name="torch")) is None
    assert "runs on Linux only" in str(without_grading(ModuleNotFoundError(name="fcntl")))


@pytest.mark.integration
def test_the_tutor_and_the_command_load_without_the_packages_of_grading():
    code = (
        "import importlib, sys\n"
        f"sys.modules.update(dict.fromkeys({sorted(GRADING_MODULES)}))\n"  # importing one is an ImportError
        f"for name in {WITHOUT_GRADING}: importlib.import_module(name)\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
