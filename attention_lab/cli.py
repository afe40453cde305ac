"""The `attention-lab` command. What only instructors need is imported where it is used."""

from __future__ import annotations

import importlib.util
import os
from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Console

from nbjudge import CourseError
from nbjudge.cli import run, version_option

if TYPE_CHECKING:
    from nbjudge import Form
    from nbjudge.course import Assignment, Course

app = typer.Typer(no_args_is_help=True, add_completion=False)
console = Console()
# The headings of `attention-lab --help`, in the order in which each first command is added.
LEARNERS, INSTRUCTORS, AUTHORS = "For learners", "For instructors", "For authors of lessons"
ONLY_FOR_INSTRUCTORS = (
    "[bold red]attention-lab:[/] This command is for instructors, and the students' package leaves it out: "
    "install Attention Lab from the course's own folder."
)


@app.callback()
def attention_lab(
    version: Annotated[bool, version_option("attention-lab", "attention_lab")] = False,
) -> None:
    """Build the course, open it, and try its grader on a simulated class."""


def main() -> None:
    """Run the command; what only an instructor's installation has is told in one sentence."""
    try:
        run(app, "attention-lab")
    except ModuleNotFoundError as error:
        if not (error.name or "").startswith("attention_lab."):
            raise
        console.print(ONLY_FOR_INSTRUCTORS, soft_wrap=True)
        raise SystemExit(1) from None


@app.command(rich_help_panel=LEARNERS)
def start(
    folder: Annotated[
        Path, typer.Argument(metavar="DIR", help="Your work folder; it is made where there is none.")
    ],
    jupyter: Annotated[
        list[str] | None,
        typer.Argument(metavar="OPTION", help="After `--`: options of JupyterLab's own."),
    ] = None,
    no_browser: Annotated[
        bool, typer.Option("--no-browser", help="Print the address instead of opening it.")
    ] = False,
    port: Annotated[
        int | None, typer.Option(min=1, max=65535, help="The port, where 8888 is not the one.")
    ] = None,
) -> None:
    """Put the lessons into a folder of your own and open JupyterLab there; your work is kept."""
    from attention_lab.start.jupyter_lab import end, open_lessons
    from attention_lab.start.lessons import released_lessons

    options = [*(["--no-browser"] if no_browser else []), *([f"--port={port}"] if port else [])]
    open_lessons(released_lessons(), folder, console, [*options, *(jupyter or [])])
    end()


@app.command(rich_help_panel=LEARNERS)
def practice(
    folder: Annotated[
        Path,
        typer.Argument(
            metavar="DIR", show_default=False, help="Your work folder; by default the one you are in."
        ),
    ] = Path(),
    exercises: Annotated[
        bool, typer.Option("--exercises", help="Write the notebook of due exercises; ask no cards.")
    ] = False,
    before: Annotated[
        int | None, typer.Option(metavar="LESSON", help="Ask three cards of lessons before this one.")
    ] = None,
    anki: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Write all cards as a deck for Anki (.apkg).")
    ] = None,
) -> None:
    """Say what is due today, write due exercises into a notebook, and ask due cards."""
    from attention_lab.start.practice.cards import write_deck
    from attention_lab.start.practice.session import practise

    if anki is None:
        practise(folder, console, date.today(), before, with_cards=not exercises)
    else:
        console.print(f"{write_deck(anki)} cards for Anki: {anki}", highlight=False, soft_wrap=True)


@app.command(rich_help_panel=INSTRUCTORS)
def demo(
    lesson: Annotated[str, typer.Option(help="The lesson that the class hands in.")] = "01_dot_product",
    students: Annotated[int, typer.Option(min=1, help="How many students hand it in.")] = 24,
    no_sandbox: Annotated[
        bool, typer.Option("--no-sandbox", help="Run the invented students' code as you, without bubblewrap.")
    ] = False,
) -> None:
    """Build the course and grade a simulated class with nbgrader."""
    from attention_lab.maintain.demo.run_demo import run_demo

    chosen = _course().choose(lesson)[0]
    _make(chosen)
    run_demo(chosen, students, console, sandbox=not no_sandbox)


@app.command(rich_help_panel=AUTHORS)
def build(
    lesson: Annotated[str, typer.Argument(help="One lesson (02_scaling); all of them by default.")] = "*",
    check: Annotated[
        bool, typer.Option("--check", help="Change nothing; fail if anything is stale.")
    ] = False,
    force: Annotated[bool, typer.Option("--force", help="Remake what is up to date as well.")] = False,
) -> None:
    """Make release/ and solutions/ from source/."""
    # Matrices are small here: several threads gain nothing, and wait for each other for minutes where
    # another program needs a processor.
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    from attention_lab.maintain.build import stale
    from attention_lab.maintain.hosts import stale_documents
    from nbjudge import problems_of_checks

    course = _course()
    chosen = course.choose(lesson)
    if check:
        problems = [problem for each in chosen for problem in (*stale(each), *each.problems)]
        problems += [
            f"The links in {path} are not those of pyproject.toml." for path in stale_documents(course.root)
        ]
        for problem in problems:
            console.print(f"[red]✗[/] {problem}", highlight=False, soft_wrap=True)
        if problems:
            raise CourseError("Run `make build`, and commit what it makes.")
        console.print(f"{len(chosen)} lessons: release and solutions are what the sources make.")
        return
    for each in chosen:
        is_new = _make(each, force)
        # Someone who names a lesson is working on it, and may have changed its checks alone.
        for problem in problems_of_checks(each, console) if is_new or lesson != "*" else ():
            raise CourseError(problem)
    for path, text in stale_documents(course.root).items():
        path.write_text(text, encoding="utf-8")
        console.print(f"{path.name}: wrote the links of pyproject.toml", highlight=False)


def _make(lesson: Assignment, force: bool = False) -> bool:
    """Bring a lesson's release, solution and gradebook up to date; whether a notebook was rebuilt."""
    from attention_lab.maintain.build import build_lesson, is_registered, register

    with console.status(f"{lesson.folder} …"):
        done_by_build = build_lesson(lesson, force)
        entered = not is_registered(lesson)
        if entered:
            register(lesson)
    done = [*done_by_build, *(["entered it into the gradebook"] if entered else [])]
    console.print(f"{lesson.folder}: {', '.join(done) or 'up to date'}", highlight=False, soft_wrap=True)
    for problem in lesson.problems:
        raise CourseError(problem)
    return bool(done_by_build)


@app.command(rich_help_panel=AUTHORS)
def lab(
    folder: Annotated[Path, typer.Option(help="Where the student's copy is kept.")] = Path("build/lab"),
) -> None:
    """Open JupyterLab on a student's copy of the release."""
    from attention_lab.start.jupyter_lab import end, open_lab

    open_lab(_course(), folder, console)
    end()


@app.command(rich_help_panel=INSTRUCTORS)
def bundle(
    folder: Annotated[Path, typer.Option(help="The folder that the zip goes to.")] = Path("dist"),
    tutor: Annotated[
        str, typer.Option(help="`full` brings the tutor, and with it the checks and the solutions.")
    ] = "",
) -> None:
    """Make the zip that students get, and look through it for anything that gives an answer away."""
    from attention_lab.maintain.bundle.make_bundle import make_bundle

    if tutor not in ("", "full"):
        raise CourseError(
            f"A zip for students cannot bring the tutor {tutor!r}: `--tutor full` (with make, TUTOR=full) "
            "brings the whole one, and without the option there is none."
        )
    zip_file = make_bundle(_course(), folder, console, bool(tutor))
    size = f"{zip_file.stat().st_size / 2**20:.1f} MiB"
    contents = "with the tutor" if tutor else "without a tutor"
    console.print(f"For students: {zip_file} ({size}, {contents})", highlight=False, soft_wrap=True)
    if tutor:
        console.print(
            "Students who look for them can read all checks and solutions in this zip.", soft_wrap=True
        )


@app.command(rich_help_panel=AUTHORS)
def site(
    folder: Annotated[Path, typer.Option(help="Where the pages go, in place of earlier ones.")] = Path(
        "_site"
    ),
) -> None:
    """Write every lesson as a static page, to be read on the web or straight from the folder."""
    try:
        from attention_lab.maintain.site.build_site import build_site
    except ModuleNotFoundError as error:
        raise CourseError(
            f"{error.name} is missing, which the site is made with: install the course with its group `site`."
        ) from None
    first_page = build_site(_course(), folder, console)
    console.print(f"The first page: {first_page}", highlight=False, soft_wrap=True)


def _course() -> Course:
    from nbjudge.course import find_course

    return find_course(Path.cwd())


def _add_the_graders_commands() -> None:
    """Add the grader's commands; in a class's zip, commands that say that they are for instructors."""
    if importlib.util.find_spec("attention_lab.maintain") is None:
        checking = ("try", "visible", "coverage", "new-lesson", "new-exercise")
        for name in ("grade", "regrade", "report", "exam", "exam-results", *checking):
            app.command(name, hidden=True, context_settings={"ignore_unknown_options": True})(_not_here)
        return
    from nbjudge.cli import (
        add_commands,
        add_exam_commands,
        coverage,
        grade,
        regrade_answer,
        report,
        try_checks,
        visible,
    )

    add_commands(app, _this_courses_form, AUTHORS)
    app.command("try", rich_help_panel=AUTHORS)(try_checks)
    app.command(rich_help_panel=AUTHORS)(coverage)
    app.command(rich_help_panel=AUTHORS)(visible)
    app.command(rich_help_panel=INSTRUCTORS)(grade)
    app.command("regrade", rich_help_panel=INSTRUCTORS)(regrade_answer)
    app.command(rich_help_panel=INSTRUCTORS)(report)
    add_exam_commands(app, console, INSTRUCTORS)


def _this_courses_form() -> Form:
    """The form of new lessons and exercises; its templates hold what differs from nbjudge's own."""
    from nbjudge import Form

    return Form(
        folder=Path(__file__).parent / "authoring" / "templates",
        package="attention_lab/lesson_{number}",
        program="attention-lab",
        build="attention-lab build {folder}",
        advice="What else the tests require is at the top of docs/writing-a-lesson.md.",
    )


def _not_here(arguments: Annotated[list[str] | None, typer.Argument()] = None) -> None:
    raise ModuleNotFoundError(name="attention_lab.maintain")


_add_the_graders_commands()
