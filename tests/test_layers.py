"""Imports between packages and between modules run one way, and every package says what it is for."""

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


def package_imports(package: Path) -> dict[str, set[str]]:
    """Return the imports between a package's folders and the modules next to them."""
    found: dict[str, set[str]] = {}
    for file in package.rglob("*.py"):
        folder = file.relative_to(package).with_suffix("").parts[0]
        names = (name.split(".") for name in imported(file) if name.startswith(f"{package.name}."))
        found.setdefault(folder, set()).update(name[1] for name in names)
    return {name: {other for other in others if other in found} - {name} for name, others in found.items()}


def module_imports(package: Path) -> dict[str, set[str]]:
    """Return the imports between the modules of a package, at their tops and inside functions."""
    files = {module_name(package, file): file for file in package.rglob("*.py")}
    found: dict[str, set[str]] = {name: set() for name in files}
    for name, file in files.items():
        for node in ast.walk(ast.parse(file.read_text())):
            if isinstance(node, ast.Import):
                found[name].update(alias.name for alias in node.names)
            elif isinstance(node, ast.ImportFrom) and node.module:
                # `from a import b` imports the module `a.b` if there is one, otherwise a name in `a`.
                members = [f"{node.module}.{alias.name}" for alias in node.names]
                found[name].update(member if member in files else node.module for member in members)
    return {name: (others & files.keys()) - {name} for name, others in found.items()}


def module_name(package: Path, file: Path) -> str:
    """Return the dotted name of a module."""
    parts = (package.name, *file.relative_to(package).with_suffix("").parts)
    return ".".join(parts).removesuffix(".__init__")


def find_circle(imports: dict[str, set[str]]) -> list[str]:
    """Return modules that import from each other, or an empty list."""
    try:
        list(TopologicalSorter(imports).static_order())
    except CycleError as error:
        return list(error.args[1])
    return []


@pytest.mark.parametrize("package", PACKAGES)
def test_imports_between_packages_run_one_way(package):
    assert find_circle(package_imports(package)) == []


@pytest.mark.parametrize("package", PACKAGES)
def test_no_modules_import_from_each_other(package):
    assert find_circle(module_imports(package)) == []


@pytest.mark.parametrize("find_imports", [package_imports, module_imports])
def test_a_circle_is_found(tmp_path, find_imports):
    for name, other in (("read", "judge"), ("judge", "read")):
        (tmp_path / "grader" / name).mkdir(parents=True)
        module = tmp_path / "grader" / name / "one.py"
        module.write_text(f"def imports_late():\n    from grader.{other} import one\n")
    assert find_circle(find_imports(tmp_path / "grader"))


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
def test_every_package_says_what_it_is_for(package):
    for file in package.rglob("__init__.py"):
        assert ast.get_docstring(ast.parse(file.read_text())), file
