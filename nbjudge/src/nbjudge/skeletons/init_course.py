"""A course that begins to be graded with this package: the lines in its nbgrader_config.py."""

from __future__ import annotations

import ast
from pathlib import Path

from nbjudge.course.configuration import CONFIG_FILE, read_config
from nbjudge.errors import CourseError

IMPORT = "from nbjudge import configure"
CALL = "configure(c)"
COMMENT = "# Graded with nbjudge: student code in a sandbox, judged from outside of it."
NEW_FILE = "c = get_config()  # noqa: F821 - nbgrader provides it\n"


def add_to_configuration(root: Path) -> str:
    """Add what a course needs to its configuration, or make one; what was done, as a sentence.

    Raises CourseError where the file cannot be read, or does not load before or with the new lines, and
    then leaves it as it was.
    """
    path = root / CONFIG_FILE
    read_config(root)
    old = path.read_text() if path.exists() else ""
    if is_configured(old):
        return f"{path} is left as it is: it calls configure(c) already."
    name = _config_name(old)
    new = (old or NEW_FILE).rstrip(
        "\n"
    ) + f"\n\n{COMMENT}\n{IMPORT}  # noqa: E402\n\n{CALL.replace('c)', name + ')')}\n"
    path.write_text(new)
    try:
        if not str(read_config(root).Autograde.get("exporter_class", "")).startswith("nbjudge."):
            raise CourseError(f"{path} has no line such as `c = get_config()`: add one, and try again.")
    except CourseError:
        if old:
            path.write_text(old)
        else:
            path.unlink()
        raise
    done = "Added three lines to" if old else "Made"
    return f"{done} {path}: submissions are graded with nbjudge from now on."


def is_configured(text: str) -> bool:
    """Whether a configuration calls `configure` already."""
    calls = (node.func for node in ast.walk(ast.parse(text)) if isinstance(node, ast.Call))
    return any(isinstance(called, ast.Name) and called.id == "configure" for called in calls)


def _config_name(text: str) -> str:
    """What the file calls its configuration: `c`, as a rule."""
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Assign) and isinstance(node.value, ast.Call):
            called, target = node.value.func, node.targets[0]
            if isinstance(called, ast.Name) and called.id == "get_config" and isinstance(target, ast.Name):
                return target.id
    return "c"
