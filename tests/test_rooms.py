"""Imports between the folders of a package run one way, and every folder says what it is for."""

import ast
import re
from collections.abc import Iterator
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
GRADER = ROOT / "nbjudge" / "src" / "nbjudge"
COURSE = ROOT / "attention_lab"
PACKAGES = [pytest.param(GRADER, id="nbjudge"), pytest.param(COURSE, id="attention_lab")]


def imported(file: Path) -> Iterator[str]:
    """The modules that a file imports, at its top or inside a function."""
    for node in ast.walk(ast.parse(file.read_text())):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            yield node.module
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


def rooms_of(package: Path) -> dict[str, set[str]]:
    """For each folder of a package, and each file beside them, the others that it imports from."""
    found: dict[str, set[str]] = {}
    for file in package.rglob("*.py"):
        room = file.relative_to(package).with_suffix("").parts[0]
        names = (name.split(".") for name in imported(file) if name.startswith(f"{package.name}."))
        found.setdefault(room, set()).update(name[1] for name in names)
    return {room: {other for other in others if other in found} - {room} for room, others in found.items()}


@pytest.mark.parametrize("package", PACKAGES)
def test_imports_between_rooms_run_one_way(package):
    try:
        list(TopologicalSorter(rooms_of(package)).static_order())
    except CycleError as error:
        pytest.fail(f"these import from each other: {' <- '.join(error.args[1])}")


def test_a_circle_would_be_seen(tmp_path):
    for room, other in (("read", "judge"), ("judge", "read")):
        (tmp_path / "grader" / room).mkdir(parents=True)
        (tmp_path / "grader" / room / "one.py").write_text(
            f"def late():\n    from grader.{other} import one\n"
        )
    with pytest.raises(pytest.fail.Exception, match="read"):
        test_imports_between_rooms_run_one_way(tmp_path / "grader")


def test_the_grader_knows_no_course():
    wrong = {
        f"{file.relative_to(GRADER)} imports {name}"
        for file in GRADER.rglob("*.py")
        for name in imported(file)
        if name.partition(".")[0] in ("attention_lab", "checks")
    }
    assert not wrong


# What only this course is about: its subject, its folders, and what its instructors type.
THE_COURSES = re.compile(
    r"attention|softmax|\bheads?\b|\bmask(s|ed)?\b|\bqueries\b|dot_product|\b0\d_\w+|\bmake (build|demo)\b",
    re.IGNORECASE,
)


def test_the_grader_does_not_name_the_course():
    named = {
        f"{file.relative_to(GRADER)}: {found.group(0)}"
        for file in GRADER.rglob("*.py")
        for found in THE_COURSES.finditer(file.read_text())
    }
    assert not named


def test_its_core_imports_no_library_that_only_some_courses_have():
    """It grades ordinary asserts with nothing installed but nbgrader and what pyproject.toml's core names."""
    for file in GRADER.rglob("*.py"):
        if "torch" not in file.relative_to(GRADER).parts:
            top = ast.Module([node for node in ast.parse(file.read_text()).body if _is_import(node)], [])
            assert not {"torch", "pandas", "matplotlib", "seaborn"} & set(_names(top)), file


def _is_import(node: ast.stmt) -> bool:
    return isinstance(node, (ast.Import, ast.ImportFrom))


def _names(tree: ast.Module) -> Iterator[str]:
    for node in tree.body:
        names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else [node.module or ""]
        yield from (name.partition(".")[0] for name in names)


@pytest.mark.parametrize("package", PACKAGES)
def test_every_folder_says_what_it_is_for(package):
    for file in package.rglob("__init__.py"):
        assert ast.get_docstring(ast.parse(file.read_text())), file
