"""`nbjudge exam` and `nbjudge exam-results`. What takes long to import is imported where it is used."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

NAME = "exam"
Name = Annotated[str, typer.Option(help="The exam's name: that of its assignment and its notebook.")]


def add_exam_commands(app: typer.Typer, console: Console, heading: str | None = None) -> None:
    """Add both commands to a program, below a heading of its help."""

    @app.command("exam", rich_help_panel=heading)
    def draw(
        students: Annotated[
            Path, typer.Option(help="A CSV table of the students, in the order in which they sit.")
        ],
        minutes: Annotated[int, typer.Option(help="How long the exam takes; a minute is a point.")] = 45,
        lessons: Annotated[
            str, typer.Option(help="What it is about: notebooks, with commas between them; all by default.")
        ] = "*",
        name: Name = NAME,
        key: Annotated[
            str | None,
            typer.Option(
                help="A secret of yours: the same one gives the same papers; the course's by default."
            ),
        ] = None,
        dry_run: Annotated[
            bool, typer.Option("--dry-run", help="Show what would be drawn, and write nothing.")
        ] = False,
    ) -> None:
        """Draw an exam in which each student has a paper of their own, and no two neighbours share anything.

        A paper has wrong code to fix, questions with a number and questions with choices, from the files
        checks/NOTEBOOK/exam.toml. All papers are about equally hard.
        """
        from nbjudge.exam.exams import draw_exam

        draw_exam(Path.cwd(), students, minutes, lessons, name, key, console, dry_run)

    @app.command("exam-results", rich_help_panel=heading)
    def results(
        name: Annotated[str, typer.Argument(help="The exam's name.")] = NAME,
        output: Annotated[
            Path | None, typer.Option(help="The folder to write to; reports/NAME-exam by default.")
        ] = None,
    ) -> None:
        """Compare the results of a graded exam fairly: what each paper was expected to earn counts.

        Writes a page, CSV files, and what was earned on each task, which the next exam is drawn with.
        """
        from nbjudge.exam.results import write_results

        write_results(Path.cwd(), name, output, console)
