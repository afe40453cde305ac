"""The `attention-lab` command. What only instructors need is imported where it is used."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Console

from attention_lab.errors import CourseError

if TYPE_CHECKING:
    from attention_lab.grading.course import Course, Lesson

app = typer.Typer(no_args_is_help=True, add_completion=False)
console = Console()


@app.callback()
def attention_lab() -> None:
    """Build the course, open it, and try its grader on a simulated class."""


def main() -> None:
    """Run the command; a broken course or a wrong name ends in one sentence, not in a traceback."""
    try:
        app()
    except CourseError as error:
        console.print(f"[bold red]attention-lab:[/] {error}", highlight=False, soft_wrap=True)
        raise SystemExit(1) from None


@app.command()
def build(
    lesson: Annotated[str, typer.Argument(help="One lesson (02_scaling); all of them by default.")] = "*",
    check: Annotated[
        bool, typer.Option("--check", help="Change nothing; fail if anything is stale.")
    ] = False,
    force: Annotated[bool, typer.Option("--force", help="Remake what is up to date as well.")] = False,
) -> None:
    """Make release/ and solutions/ from source/."""
    from attention_lab.build import build_lesson, is_registered, register, stale

    course = _course()
    chosen = _choose(course, lesson)
    if check:
        problems = [problem for each in chosen for problem in (*stale(each), *each.problems())]
        for problem in problems:
            console.print(f"[red]✗[/] {problem}", highlight=False, soft_wrap=True)
        if problems:
            raise CourseError("Run `make build`, and commit what it makes.")
        console.print(f"{len(chosen)} lessons: release and solutions are what the sources make.")
        return
    for each in chosen:
        with console.status(f"{each.folder} …"):
            done = build_lesson(each, force)
            if not is_registered(course, each):
                register(each)
                done.append("entered it into the gradebook")
        console.print(f"{each.folder}: {', '.join(done) or 'up to date'}", highlight=False, soft_wrap=True)
        for problem in each.problems():
            raise CourseError(problem)


@app.command()
def demo(
    lesson: Annotated[str, typer.Option(help="The lesson that the class hands in.")] = "01_dot_product",
    students: Annotated[int, typer.Option(min=1, help="How many students hand it in.")] = 24,
    no_sandbox: Annotated[
        bool, typer.Option("--no-sandbox", help="Run the invented students' code as you, without bubblewrap.")
    ] = False,
) -> None:
    """Build the course and grade a simulated class with nbgrader."""
    from attention_lab.demo import run_demo

    chosen = _choose(_course(), lesson)[0]
    build(chosen.folder)
    run_demo(chosen, students, console, sandbox=not no_sandbox)


@app.command()
def lab(
    folder: Annotated[Path, typer.Option(help="Where the student's copy is kept.")] = Path("build/lab"),
) -> None:
    """Open JupyterLab on a student's copy of the release."""
    from attention_lab.lab import open_lab

    open_lab(_course(), folder, console)


def _course() -> Course:
    from attention_lab.grading.course import find_course

    return find_course(Path.cwd())


def _choose(course: Course, pattern: str) -> list[Lesson]:
    """The lessons whose folder or notebook has this name, `*` for all."""
    lessons = list(course.lessons.values())
    chosen = [each for each in lessons if pattern in ("*", each.folder, each.name)]
    if not chosen:
        known = ", ".join(each.folder for each in lessons)
        raise CourseError(f"There is no lesson {pattern!r}. There are: {known}.")
    return chosen
