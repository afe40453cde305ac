"""The commands `new-lesson` and `new-exercise`; a course's own program passes its form."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from string import Template
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Console
from rich.text import Text

if TYPE_CHECKING:  # it imports what takes long
    from nbjudge.skeletons.templates import Form


def add_commands(app: typer.Typer, form: Callable[[], Form]) -> None:
    """Add both commands to a program; `form` is called when one of them is typed."""

    @app.command("new-lesson")
    def add_assignment(
        folder: Annotated[str, typer.Argument(help="The folder of the assignment: ps2.")],
    ) -> None:
        """Begin an assignment: a notebook with the cells that every assignment has, and no exercise yet."""
        begin_assignment(folder, form())

    @app.command("new-exercise")
    def add_exercise(
        assignment: Annotated[
            str, typer.Argument(help="The notebook that it is added to: ps2, or ps2/problem1 of several.")
        ],
        name: Annotated[
            str, typer.Argument(help="The name of the function, or of the layer, that students write.")
        ],
    ) -> None:
        """Begin an exercise: a text, an answer cell and a graded cell, and checks that run as they are."""
        begin_exercise(assignment, name, form())


def begin_assignment(folder: str, form: Form) -> None:
    from nbjudge.course.folders import find_root, read_folders
    from nbjudge.skeletons.assignment import new_assignment

    created = new_assignment(read_folders(find_root(Path.cwd())), folder, form)
    _say(f"Made {created}. Next: {form.program} new-exercise {folder} NAME")


def begin_exercise(assignment: str, name: str, form: Form) -> None:
    from nbjudge.course.course import find_course
    from nbjudge.skeletons.exercise import new_exercise

    chosen = find_course(Path.cwd()).choose_one(assignment)
    notebook, checks = new_exercise(chosen, name, form)
    _say(f"Added {name} to {notebook}, and its checks as {checks}.")
    build = Template(form.build).substitute(folder=chosen.folder)
    _say(f"Next: {build}, then {form.program} try {name}")
    if form.advice:
        _say(form.advice)


def _say(sentence: str) -> None:
    Console().print(Text(sentence), soft_wrap=True)
