"""The commands `new-lesson` and `new-exercise`, to which a course passes its form, and what `init` writes."""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Console
from rich.text import Text

if TYPE_CHECKING:
    from nbjudge.skeletons.notebooks import Form


def add_commands(app: typer.Typer, make_form: Callable[[], Form], heading: str | None = None) -> None:
    """Add both commands to a program, below a heading of its help; each calls `make_form` when it runs."""

    @app.command("new-lesson", rich_help_panel=heading)
    def add_assignment(
        folder: Annotated[str, typer.Argument(help="The folder of the assignment: ps2.")],
    ) -> None:
        """Begin an assignment: a notebook with the cells that every assignment has, and no exercise yet."""
        from nbjudge.course.folders import find_root, read_folders
        from nbjudge.skeletons.notebooks import new_assignment

        form = make_form()
        created = new_assignment(read_folders(find_root(Path.cwd())), folder, form)
        _print(f"Made {created}. Next: {form.program} new-exercise {folder} NAME")

    @app.command("new-exercise", rich_help_panel=heading)
    def add_exercise(
        assignment: Annotated[
            str, typer.Argument(help="The notebook that it is added to: ps2, or ps2/problem1 of several.")
        ],
        name: Annotated[
            str, typer.Argument(help="The name of the function, or of the layer, that students write.")
        ],
    ) -> None:
        """Begin an exercise: a text, an answer cell and a graded cell, and checks that run as they are."""
        from nbjudge.course.course import find_course
        from nbjudge.skeletons.notebooks import new_exercise

        form, chosen = make_form(), find_course(Path.cwd()).choose_one(assignment)
        notebook, checks = new_exercise(chosen, name, form)
        _print(f"Added {name} to {notebook}, and its checks as {checks}.")
        _print(
            f"Next: {form.build.format(folder=shlex.quote(chosen.folder))}, then {form.program} try {name}"
        )
        if form.advice:
            _print(form.advice)


def _print(sentence: str) -> None:
    Console().print(Text(sentence), soft_wrap=True)


LINES = """
# Graded with nbjudge: student code in a sandbox, judged from outside of it.
from nbjudge import configure  # noqa: E402

configure(get_config())  # noqa: F821
"""
NEW_FILE = "c = get_config()  # noqa: F821 - nbgrader provides it\n"


def add_to_configuration(root: Path) -> str:
    """Add what a course needs to its configuration, or make one; what was done, as a sentence.

    Raises CourseError where the file does not load.
    """
    from nbjudge.course.configuration import CONFIG_FILE, read_config

    path = root / CONFIG_FILE
    read_config(root)
    old = path.read_text() if path.exists() else ""
    if re.search(r"^\s*configure\(", old, re.MULTILINE):
        return f"{path} is left as it is: it calls `configure` already."
    path.write_text((old or NEW_FILE).rstrip("\n") + f"\n{LINES}")
    done = "Added three lines to" if old else "Made"
    return f"{done} {path}: submissions are graded with nbjudge from now on."
