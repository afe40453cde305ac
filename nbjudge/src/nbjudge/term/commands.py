"""The commands of a term. What takes long to import is imported where it is used."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

DryRun = Annotated[bool, typer.Option("--dry-run", help="Show what would change, and change nothing.")]
Assignment = Annotated[str, typer.Argument(help="The assignment: the name of its folder in source/.")]


def add_commands(app: typer.Typer, console: Console) -> None:
    """Add the commands to a program."""

    @app.command()
    def due(
        assignment: Assignment,
        date: Annotated[
            str | None, typer.Argument(help="The deadline: '2026-12-01 23:59', in c.Course.timezone.")
        ] = None,
        remove: Annotated[bool, typer.Option("--remove", help="Remove the deadline.")] = False,
        received: Annotated[
            Path | None,
            typer.Option(help="A CSV table with the times of submissions that have none (from an archive)."),
        ] = None,
        dry_run: DryRun = False,
    ) -> None:
        """Show or set a deadline, and bring the late penalties up to date without grading again."""
        from nbjudge.term.deadlines import Deadlines

        Deadlines(Path.cwd(), assignment, console, dry_run).set_due(date, remove, received)

    @app.command()
    def extend(
        student: Annotated[str, typer.Argument(help="The student's id.")],
        assignment: Assignment,
        until: Annotated[
            str | None, typer.Option(help="The student's own deadline: '2026-12-04 12:00'.")
        ] = None,
        days: Annotated[
            int | None, typer.Option(min=1, help="Days after the deadline of the class, at its time of day.")
        ] = None,
        remove: Annotated[bool, typer.Option("--remove", help="Take the extension back.")] = False,
        dry_run: DryRun = False,
    ) -> None:
        """Give a student a deadline of their own, also before anything is handed in."""
        from nbjudge.term.deadlines import Deadlines

        Deadlines(Path.cwd(), assignment, console, dry_run).extend(student, until, days, remove)

    @app.command("return")
    def return_feedback(
        assignment: Assignment,
        moodle: Annotated[bool, typer.Option("--moodle", help="As Moodle takes feedback files.")] = False,
        canvas: Annotated[bool, typer.Option("--canvas", help="As Canvas takes feedback files.")] = False,
        folders: Annotated[bool, typer.Option("--folders", help="A folder for each student.")] = False,
        mail_merge: Annotated[
            bool, typer.Option("--mail-merge", help="The folders, and mail.csv with addresses and points.")
        ] = False,
        output: Annotated[
            Path | None, typer.Option(help="The zip; returned/ASSIGNMENT-….zip by default.")
        ] = None,
        dry_run: DryRun = False,
    ) -> None:
        """Write the feedback pages of a class into a zip, named as a platform takes them."""
        from nbjudge.errors import CourseError
        from nbjudge.term.feedback import NAMINGS, Feedback

        given = [moodle, canvas, folders, mail_merge]
        if sum(given) != 1:
            raise CourseError(f"Give one of {', '.join(f'--{naming}' for naming in NAMINGS)}.")
        Feedback(Path.cwd(), assignment, console, dry_run).write(NAMINGS[given.index(True)], output)

    @app.command()
    def similar(
        assignment: Assignment,
        against: Annotated[
            list[Path] | None,
            typer.Option(help="A folder of other works, such as an earlier class's. May be given again."),
        ] = None,
        output: Annotated[
            Path | None, typer.Option(help="The folder to write to; reports/ASSIGNMENT-similar by default.")
        ] = None,
        as_json: Annotated[bool, typer.Option("--json", help="Print JSON, and write no page.")] = False,
    ) -> None:
        """Write a page with the pairs of works that are closer than chance explains, graded or not."""
        from nbjudge.similar import similar_as_json, write_similar

        if as_json:
            typer.echo(similar_as_json(Path.cwd(), assignment, against or (), Console(stderr=True)))
        else:
            write_similar(Path.cwd(), assignment, against or (), output, console)

    student = typer.Typer(no_args_is_help=True, help="Students: another id, two that are one, a roster.")
    app.add_typer(student, name="student")

    @student.command()
    def rename(
        old: Annotated[str, typer.Argument(help="The id so far.")],
        new: Annotated[str, typer.Argument(help="The id from now on, which no one has.")],
        dry_run: DryRun = False,
    ) -> None:
        """Give a student another id in folders, gradebook, decisions, extensions and feedback."""
        from nbjudge.term.students import Class

        raise typer.Exit(Class(Path.cwd(), console, dry_run).rename(old, new))

    @student.command()
    def merge(
        old: Annotated[str, typer.Argument(help="The id that goes.")],
        new: Annotated[str, typer.Argument(help="The id that the work of both has then.")],
        dry_run: DryRun = False,
    ) -> None:
        """Make one student of two ids. Exits with status 1 if both have work in an assignment."""
        from nbjudge.term.students import Class

        raise typer.Exit(Class(Path.cwd(), console, dry_run).merge(old, new))

    @student.command("import")
    def import_students(
        table: Annotated[Path, typer.Argument(help="A CSV table: Canvas's or Moodle's export, or your own.")],
        dry_run: DryRun = False,
    ) -> None:
        """Enter the students of a table into the gradebook; c.Course.roster_columns names its columns."""
        from nbjudge.term.students import Class

        Class(Path.cwd(), console, dry_run).import_roster(table)
