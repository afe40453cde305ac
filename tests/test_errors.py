"""Exceptions: public ones are in errors.py, and only the command line ends a process."""

import ast
from pathlib import Path

import pytest

import nbjudge.errors
from nbjudge.errors import CourseError, NbgraderCommandError

ROOT = Path(__file__).parents[1]
PACKAGES = [ROOT / "nbjudge/src/nbjudge", ROOT / "attention_lab"]
# The command lines; the main functions of processes of their own, which end by it.
MAY_EXIT = {
    "cli.py",
    "__main__.py",
    "batch/cluster_worker.py",
    "batch/worker_process.py",
    "sandbox/inside/fork_server.py",
}


def exits(file: Path) -> bool:
    """Whether a file raises SystemExit or calls sys.exit or os._exit's like."""
    for node in ast.walk(ast.parse(file.read_text())):
        if isinstance(node, ast.Raise) and node.exc is not None:
            raised = node.exc.func if isinstance(node.exc, ast.Call) else node.exc
            if isinstance(raised, ast.Name) and raised.id == "SystemExit":
                return True
        if isinstance(node, ast.Call) and ast.unparse(node.func) == "sys.exit":
            return True
    return False


@pytest.mark.parametrize("package", PACKAGES, ids=lambda package: package.name)
def test_library_code_raises_and_only_commands_exit(package):
    found = {file.relative_to(package).as_posix() for file in package.rglob("*.py") if exits(file)}
    assert {name for name in found if name not in MAY_EXIT and Path(name).name != "__main__.py"} == set()


def test_an_exit_would_be_seen(tmp_path):
    for code in ("raise SystemExit", "raise SystemExit('no')", "import sys\nsys.exit(1)"):
        (tmp_path / "module.py").write_text(code)
        assert exits(tmp_path / "module.py")


def test_public_exceptions_end_in_error_and_have_a_sentence():
    public = vars(nbjudge.errors).values()
    classes = [each for each in public if isinstance(each, type) and issubclass(each, BaseException)]
    assert classes and all(each.__name__.endswith("Error") and each.__doc__ for each in classes)
    assert all(issubclass(each, CourseError | NbgraderCommandError) for each in classes)


@pytest.mark.parametrize("package", PACKAGES, ids=lambda package: package.name)
def test_every_exception_ends_in_error(package):
    classes = [
        node
        for file in package.rglob("*.py")
        for node in ast.walk(ast.parse(file.read_text()))
        if isinstance(node, ast.ClassDef)
        and any(ast.unparse(base).endswith(("Error", "Exception", "SystemExit")) for base in node.bases)
    ]
    assert classes and not [each.name for each in classes if not each.name.endswith("Error")]


def test_an_error_that_ends_nbgraders_command_is_not_caught_as_an_exception():
    with pytest.raises(SystemExit, match="The disk is full"):
        try:
            raise nbjudge.errors.GradingStoppedError("The disk is full.")
        except Exception:
            pytest.fail("nbgrader would go on with the next submission")
