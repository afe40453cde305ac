"""The reference has every name that people type, and says of each what its code says."""

from __future__ import annotations

import ast
import inspect
import re
from dataclasses import dataclass
from pathlib import Path

import pytest
import typer
from nbgrader.preprocessors import NbGraderPreprocessor

from attention_lab import cli
from nbjudge import authoring
from nbjudge import cli as nbjudge_cli
from nbjudge.course.course import open_course
from nbjudge.course.loading import read_notebook
from nbjudge.nbgrader_hooks import RunAndJudge

pytestmark = pytest.mark.integration

ROOT = Path(__file__).resolve().parents[2]
RELEASES = [ROOT / "release" / lesson.folder for lesson in open_course(ROOT).assignments.values()]
CHECKS, LESSONS, SETTINGS = (f"reference/{name}.html" for name in ("checks", "lessons", "settings"))


def written_docstring(thing: object) -> str:
    """What someone wrote: not what a class inherits, nor the signature that `dataclass` puts there."""
    text = (thing.__dict__.get("__doc__") or "") if inspect.isclass(thing) else (thing.__doc__ or "")
    return "" if text.startswith(f"{getattr(thing, '__name__', '')}(") else text.strip()


def entry(page, name: str) -> str:
    """What is under a name, without its signature; empty where there is nothing."""
    term = page.find(id=name)
    assert term is not None, f"{name} is not on the page"
    return " ".join(term.find_next_sibling("dd").text.split())


@pytest.mark.parametrize("name", authoring.__all__)
def test_every_name_for_authors_of_checks_has_a_docstring(name):
    thing = getattr(authoring, name)
    if inspect.isclass(thing) or inspect.isroutine(thing):
        assert re.match(r"[A-Z].*[.:]", written_docstring(thing)), f"{name} has no docstring"


def test_what_no_one_wrote_is_no_docstring():
    @dataclass
    class Bare:
        number: int

    class Heir(authoring.Exercise):
        pass

    assert Bare.__doc__.startswith("Bare(number: ") and inspect.getdoc(Heir)
    assert written_docstring(Bare) == written_docstring(Heir) == written_docstring(lambda: 0) == ""


@pytest.mark.parametrize("name", authoring.__all__)
def test_every_name_for_authors_of_checks_is_on_their_page(pages, name):
    text, thing = entry(pages[CHECKS], f"nbjudge.authoring.{name}"), getattr(authoring, name)
    if inspect.isclass(thing) or inspect.isroutine(thing):
        first_word = re.match(r"\w+", written_docstring(thing)).group()
        assert text.startswith(first_word)


def test_check_and_the_decorators_of_an_exercise_are_there(pages):
    assert entry(pages[CHECKS], "nbjudge.check").startswith("Judge an exercise")
    for name, member in vars(authoring.Exercise).items():
        if inspect.isfunction(member) and not name.startswith("_") and member.__doc__:
            assert entry(pages[CHECKS], f"nbjudge.authoring.Exercise.{name}")


@pytest.mark.lesson
def test_every_name_that_a_lesson_imports_is_on_the_students_page(pages):
    imported = {
        f"{node.module}.{alias.name}"
        for folder in RELEASES
        for notebook in folder.glob("*.ipynb")
        for cell in read_notebook(notebook).cells
        if cell.cell_type == "code"
        for node in ast.walk(ast.parse(cell.source))
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


def test_every_setting_is_there_with_its_default_and_its_help(pages):
    own = set(RunAndJudge.class_trait_names(config=True)) - set(NbGraderPreprocessor.class_trait_names())
    page = pages[SETTINGS]
    shown = {term["id"] for term in page.select("dl.confval > dt")}
    assert {name for name in shown if "RunAndJudge" in name} == {
        f"confval-c.RunAndJudge.{name}" for name in own
    }
    assert any("PlatformExporter.columns" in name for name in shown)
    for name in own:
        trait, text = RunAndJudge.class_traits()[name], entry(page, f"confval-c.RunAndJudge.{name}")
        assert repr(trait.default()) in text
        assert trait.help.split()[0] in text


@pytest.mark.parametrize(("program", "app"), [("attention-lab", cli.app), ("nbjudge", nbjudge_cli.app)])
def test_every_command_is_there_with_its_arguments_and_options(pages, program, app):
    page = pages[f"reference/{program}.html"]
    sections = {section.h2.text.rstrip("¶"): section for section in page.select("section section")}
    commands = {
        name: command for name, command in typer.main.get_command(app).commands.items() if not command.hidden
    }
    assert set(sections) == {f"{program} {name}" for name in commands}
    for name, command in commands.items():
        text = sections[f"{program} {name}"].text
        assert command.help.split("\n")[0].split()[0] in text
        for parameter in command.params:
            words = [parameter.opts[0]] if parameter.opts[0].startswith("--") else []
            assert [word for word in words if word not in text] == [], name


def test_the_front_page_leads_to_every_page_of_the_reference(pages):
    linked = {link["href"] for link in pages["index.html"].select("article a[href]")}
    assert {path for path in pages if path.startswith("reference/")} <= linked
