"""The reference has every name that people type, and says of each what its code says."""

from __future__ import annotations

import ast
import inspect
import re

import pytest
import typer
from lesson_cells import NOTEBOOKS, code_of, release_of
from nbgrader.preprocessors import NbGraderPreprocessor

from attention_lab import cli
from nbjudge import authoring
from nbjudge import cli as nbjudge_cli
from nbjudge.nbgrader_hooks import RunAndJudge

pytestmark = pytest.mark.integration

CHECKS, LESSONS, SETTINGS = (f"reference/{name}.html" for name in ("checks", "lessons", "settings"))


def entry(page, name: str) -> str:
    """What is under a name, without its signature; empty where there is nothing."""
    term = page.find(id=name)
    assert term is not None, f"{name} is not on the page"
    return " ".join(term.find_next_sibling("dd").text.split())


@pytest.mark.parametrize("name", authoring.__all__)
def test_every_name_for_authors_of_checks_is_there(pages, name):
    """With its docstring, which is no signature that `dataclass` writes."""
    text, thing = entry(pages[CHECKS], f"nbjudge.authoring.{name}"), getattr(authoring, name)
    if inspect.isclass(thing) or inspect.isroutine(thing):
        written = inspect.getdoc(thing)
        assert written and not written.startswith(f"{name}(")
        assert text.startswith(re.match(r"\w+", written).group())


def test_methods_of_an_exercise_are_there(pages):
    assert entry(pages[CHECKS], "nbjudge.check")
    for name, member in vars(authoring.Exercise).items():
        if inspect.isfunction(member) and not name.startswith("_") and member.__doc__:
            assert entry(pages[CHECKS], f"nbjudge.authoring.Exercise.{name}")


@pytest.mark.lesson
def test_every_name_that_a_lesson_imports_is_there(pages):
    imported = {
        f"{node.module}.{alias.name}"
        for lesson in NOTEBOOKS
        for cell in release_of(lesson).cells
        if cell.cell_type == "code"
        for node in ast.walk(ast.parse(code_of(cell)))
        if isinstance(node, ast.ImportFrom) and node.module.startswith("attention_lab")
        if not node.module.startswith("attention_lab.lesson_")  # whose code is beside the lesson's page
        for alias in node.names
    }
    assert len(imported) > 15
    assert [name for name in sorted(imported) if not entry(pages[LESSONS], name)] == []


def test_signatures_are_python_and_of_our_own_names(pages):
    for path in (CHECKS, LESSONS):
        signatures = [term.text for term in pages[path].select("dt.sig")]
        assert len(signatures) > 20
        assert [text for text in signatures if re.search(r"<factory>|ForwardRef|~|\bat 0x", text)] == []


def test_every_setting_is_there_with_default_and_help(pages):
    own = set(RunAndJudge.class_trait_names(config=True)) - set(NbGraderPreprocessor.class_trait_names())
    page = pages[SETTINGS]
    assert page.find(id="confval-c.PlatformExporter.columns")
    for name in own:
        trait, text = RunAndJudge.class_traits()[name], entry(page, f"confval-c.RunAndJudge.{name}")
        assert repr(trait.default()) in text and trait.help.split()[0] in text


@pytest.mark.parametrize(("program", "app"), [("attention-lab", cli.app), ("nbjudge", nbjudge_cli.app)])
def test_every_command_is_there_with_its_options(pages, program, app):
    sections = {
        section.h2.text.rstrip("¶"): section.text
        for section in pages[f"reference/{program}.html"].select("section section")
    }
    commands = typer.main.get_command(app).commands.values()
    shown = {f"{program} {command.name}": command for command in commands if not command.hidden}
    assert sections.keys() == shown.keys()
    for name, command in shown.items():
        options = [parameter.opts[0] for parameter in command.params if parameter.opts[0].startswith("--")]
        assert command.help.split()[0] in sections[name]
        assert [option for option in options if option not in sections[name]] == []
