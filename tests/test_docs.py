"""What the README and the pages under docs/ name exists, and the contract is the one that is graded."""

import ast
import json
import re
from pathlib import Path

import pytest
import typer
from nbgrader.apps import NbGraderApp
from nbgrader.preprocessors import NbGraderPreprocessor

from attention_lab.authoring import Tolerance
from attention_lab.cli import app
from nbjudge.cli import app as nbjudge_app
from nbjudge.course import open_course
from nbjudge.nbgrader_hooks import RunAndJudge
from nbjudge.skeletons.commands import add_to_configuration

ROOT = Path(__file__).resolve().parents[1]
DOCS = ROOT / "docs"
JUDGE_DOCS = ROOT / "nbjudge" / "docs"
GRADER = ROOT / "nbjudge" / "src" / "nbjudge"
PAGES = [
    *(ROOT / name for name in ("README.md", "CONTRIBUTING.md", "SECURITY.md", "CHANGELOG.md")),
    *(ROOT / name for name in ("checks/README.md", "nbjudge/README.md", "nbjudge/CHANGELOG.md")),
    *sorted(DOCS.glob("*.md")),
    *sorted(JUDGE_DOCS.glob("*.md")),
    *sorted(page for page in (ROOT / "source").glob("*/*.md") if page.name != "torch-attention.md"),
]
# The first page asks for nothing, so the contract has nothing to say of it.
LESSONS = {name: lesson for name, lesson in open_course(ROOT).assignments.items() if name != "start_here"}
# What a class leaves behind and what `make` makes: named in the pages, not in a fresh clone.
NOT_IN_A_CLONE = {"submitted", "autograded", "feedback", "build", "demo", "reports", "_site", "dist"}
PLACEHOLDER = re.compile(r"\b([A-Z]{3,}|NN)\b|NN_")

every_page = pytest.mark.parametrize("page", PAGES, ids=lambda page: page.relative_to(ROOT).as_posix())


def fences(page: Path, language: str = r"\w*") -> list[str]:
    """The fenced blocks of a page, those of one language or all."""
    return re.findall(rf"^```{language}\n(.*?)^```", page.read_text(), flags=re.DOTALL | re.MULTILINE)


def code_spans(page: Path) -> list[str]:
    """Return what is between single backticks, outside fenced blocks, on one line each."""
    prose = re.sub(r"^```.*?^```", "", page.read_text(), flags=re.DOTALL | re.MULTILINE)
    return [" ".join(span.split()) for span in re.findall(r"`([^`]+)`", prose)]


def commands(page: Path, program: str) -> list[list[str]]:
    """The words after `program` wherever the page shows or mentions a command of it."""
    lines = [line for block in fences(page) for line in block.splitlines()] + code_spans(page)
    shown = (re.sub(r"\s+#.*$", "", line).removeprefix("$ ").split() for line in lines)
    called = [words for words in shown if len(words) > 1 and Path(words[0]).name == program]
    return [words[1:] for words in called]


def repository_paths(page: Path) -> set[str]:
    """The words in backticks that begin with a folder of the repository, or of the grader."""
    folders = {entry.name for place in (ROOT, GRADER) for entry in place.iterdir() if entry.is_dir()}
    folders -= NOT_IN_A_CLONE
    words = {word.rstrip(".,;:") for span in code_spans(page) for word in span.split()}
    paths = {word for word in words if re.fullmatch(r"[\w.*-]+/[\w./*:-]*", word)}
    return {path for path in paths if path.partition("/")[0] in folders and not PLACEHOLDER.search(path)}


def table_rows(text: str) -> list[list[str]]:
    """The cells of every table row in a text, without the rules between head and body."""
    rows = [line.strip().strip("|").split("|") for line in text.splitlines() if line.startswith("|")]
    return [[cell.strip() for cell in row] for row in rows if not set("".join(row)) <= set("-: ")]


def contract() -> dict[str, dict[str, tuple[str, bool]]]:
    """By lesson folder and exercise: the signature, and whether anything is not allowed."""
    sections = re.split(r"^## Lesson \d+ · ", (DOCS / "contract.md").read_text(), flags=re.MULTILINE)[1:]
    return {
        section.split("`")[1]: {
            name.strip("`"): (signature.strip("`"), bool(not_allowed))
            for name, signature, _, not_allowed in table_rows(section)[1:]
        }
        for section in sections
    }


def answer_cells(folder: str) -> dict[str, str]:
    """The code of the answer cells in the source notebooks of a lesson."""
    cells = [
        cell
        for notebook in (ROOT / "source" / folder).glob("*.ipynb")
        for cell in json.loads(notebook.read_text())["cells"]
        if cell["cell_type"] == "code" and cell["metadata"].get("nbgrader", {}).get("solution")
    ]
    return {cell["metadata"]["nbgrader"]["grade_id"]: "".join(cell["source"]) for cell in cells}


def signature_of(name: str, code: str) -> str:
    """Return how the function is called, or the class is made: its name, arguments and defaults."""
    definition = next(node for node in ast.parse(code).body if getattr(node, "name", None) == name)
    if isinstance(definition, ast.ClassDef):
        definition = next(node for node in definition.body if getattr(node, "name", None) == "__init__")
        definition.args.args.pop(0)
    return f"{name}({ast.unparse(definition.args)})"


@every_page
def test_every_relative_link_resolves(page):
    targets = re.findall(r"\]\(([^)\s]+)\)", page.read_text())
    relative = [target.partition("#")[0] for target in targets if not re.match(r"\w+:", target)]
    missing = [target for target in relative if not (page.parent / target).exists()]
    assert missing == []


@every_page
def test_every_named_path_exists(page):
    missing = [
        path
        for path in repository_paths(page)
        if not any(list(place.glob(path.partition("::")[0].rstrip("/"))) for place in (ROOT, GRADER))
    ]
    assert missing == []
    for span in code_spans(page):
        file, _, test = span.partition("::")
        if test:
            assert re.search(rf"^def {test}\(", (ROOT / file).read_text(), flags=re.MULTILINE), span


@every_page
def test_every_make_verb_that_is_named_exists(page):
    makefile = (ROOT / "Makefile").read_text()
    verbs = set(re.findall(r"^([a-z-]+):", makefile, flags=re.MULTILINE))
    for words in commands(page, "make"):
        variables = {word.partition("=")[0] for word in words if "=" in word}
        assert set(words) - {word for word in words if "=" in word} <= verbs
        assert all(f"$({variable})" in makefile for variable in variables)


@every_page
def test_every_command_and_option_that_is_named_exists(page):
    for program, its_app in (("attention-lab", app), ("nbjudge", nbjudge_app)):
        known = typer.main.get_command(its_app).commands
        for name, *words in commands(page, program):
            assert name in known, name
            group = getattr(known[name], "commands", {})
            command = group[words[0]] if group else known[name]
            options = {option for parameter in command.params for option in parameter.opts}
            assert {word for word in words if word.startswith("--")} <= options, (name, words)
    named = {words[0] for words in commands(page, "nbgrader") if words[0].islower()}
    assert named <= set(NbGraderApp.subcommands)


@every_page
def test_nothing_outside_the_repository_is_named(page):
    text = page.read_text()
    assert re.findall(r"(?<![\w.:/])/(?:home|root|tmp|work|Users|mnt)\b\S*", text) == []
    for path in re.findall(r"(?:\.\./)+[\w./-]+", text):
        target = (page.parent / path).resolve()
        assert target.is_relative_to(ROOT) and target.exists(), path


@pytest.mark.lesson
def test_the_contract_names_the_exercises():
    graded: dict[str, set[str]] = {}
    for lesson in LESSONS.values():
        graded.setdefault(lesson.folder, set()).update(lesson.exercises)
    # It may run ahead: an exercise is written down there before its lesson is.
    named = {folder: set(exercises) for folder, exercises in contract().items() if folder in graded}
    assert named == graded


@pytest.mark.lesson
@pytest.mark.parametrize("lesson", LESSONS.values(), ids=lambda lesson: lesson.name)
def test_the_contract_has_the_signatures(lesson):
    promised, cells = contract()[lesson.folder], answer_cells(lesson.folder)
    for name, (signature, _) in promised.items():
        assert signature_of(name, f"def {signature}: ...") == signature_of(name, cells[name])
    forbidding = {name for name, (_, not_allowed) in promised.items() if not_allowed}
    enforced = {name for name, exercise in lesson.exercises.items() if exercise.not_allowed}
    assert forbidding & set(lesson.exercises) == enforced


def test_the_contracts_tolerances_are_the_judges():
    stated = re.findall(r"float(32|64): `rtol=(\S+)`, `atol=([\de-]+)`", (DOCS / "contract.md").read_text())
    numbers = {width: (float(rtol), float(atol)) for width, rtol, atol in stated}
    assert numbers == {"32": Tolerance().float32, "64": Tolerance().float64}


def test_every_promise_names_its_test():
    promised = (JUDGE_DOCS / "threat-model.md").read_text().split("## What is promised")[1].split("\n## ")[0]
    rows = [row for row in table_rows(promised) if row[0] != "promise"]
    assert len(rows) > 20
    for promise, shown_by in rows:
        assert "::test_" in shown_by or shown_by.endswith(".py`"), promise


def test_the_stated_limits_are_the_graders():
    rows = table_rows((DOCS / "instructors.md").read_text())
    stated = {row[0].strip("`"): row[1] for row in rows if row[0].startswith("`c.RunAndJudge.")}
    own = set(RunAndJudge.class_trait_names(config=True)) - set(NbGraderPreprocessor.class_trait_names())
    defaults = {name: RunAndJudge.class_traits()[name].default() for name in own}
    known = {
        f"c.RunAndJudge.{name}": f"{default:g}"
        if type(default) in (int, float)
        else str(default if type(default) is bool else default or "none")
        for name, default in defaults.items()
    }
    assert stated and stated.items() <= known.items()


def test_the_documented_lines_are_those_of_init(tmp_path):
    (snippet,) = [
        block for block in fences(JUDGE_DOCS / "other-courses.md", "python") if "configure" in block
    ]
    (tmp_path / "nbgrader_config.py").write_text("c = get_config()\n")
    add_to_configuration(tmp_path)
    added = ast.parse((tmp_path / "nbgrader_config.py").read_text()).body[1:]
    assert [ast.unparse(node) for node in added] == [ast.unparse(node) for node in ast.parse(snippet).body]


def test_the_table_of_checks_has_every_folder():
    page = (ROOT / "checks" / "README.md").read_text()
    rows = re.findall(r"^\| (\d+) \| \[(\w+)\]\(\2\) \|", page, re.MULTILINE)
    lessons = sorted(lesson.folder.split("_", 1) for lesson in LESSONS.values())
    assert rows == [(str(int(number)), name) for number, name in lessons]
