"""The `nbjudge` command. What takes long to import is imported where it is used."""

from __future__ import annotations

import os
import shlex
import sys
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.console import Console
from rich.text import Text

from nbjudge.errors import CourseError, ExitStatus, without_grading
from nbjudge.exam.commands import add_exam_commands as add_exam_commands
from nbjudge.fast_start import skip_address_grammar
from nbjudge.lti.commands import add_commands as add_lti_commands
from nbjudge.skeletons.commands import add_commands as add_commands
from nbjudge.term.commands import add_commands as add_term_commands

if TYPE_CHECKING:
    from nbjudge.skeletons.notebooks import Form

app = typer.Typer(no_args_is_help=True, add_completion=False)
console = Console()


def version_option(program: str, package: str) -> Any:
    """Return the option `--version` of a program, which prints that of its package."""

    def print_version(is_given: bool) -> None:
        if is_given:
            console.print(f"{program} {import_module(package).__version__}", highlight=False)
            raise typer.Exit

    return typer.Option("--version", callback=print_version, is_eager=True, help="Print the version.")


@app.callback()
def nbjudge(
    version: Annotated[bool, version_option("nbjudge", "nbjudge")] = False,
) -> None:
    """Grade the submissions to an nbgrader course, and see what its class has understood."""


def main() -> None:
    """Run the command."""
    run(app, "nbjudge")


def run(program: typer.Typer, name: str) -> None:
    """Run a program; a broken course or a wrong name ends in one sentence, not in a traceback."""
    skip_address_grammar()
    # nbgrader calls alembic by its name, which is installed beside the interpreter.
    os.environ["PATH"] = f"{Path(sys.executable).parent}{os.pathsep}{os.environ.get('PATH', os.defpath)}"
    try:
        _finish_student_change()
        program()
    except (CourseError, ModuleNotFoundError) as error:
        shown = without_grading(error) if isinstance(error, ModuleNotFoundError) else error
        if shown is None:
            raise
        console.print(Text.assemble((f"{name}:", "bold red"), f" {shown}"), soft_wrap=True)
        raise SystemExit(ExitStatus.PROBLEM) from None


def _finish_student_change() -> None:
    """Finish what a command that was killed has begun to change of a student."""
    folders = (Path.cwd(), *Path.cwd().parents)
    if any((folder / ".student-change.json").exists() for folder in folders):
        from nbjudge.course.student_change import finish_change

        console.print(Text(finish_change(Path.cwd())), soft_wrap=True)


@app.command()
def grade(
    assignment: Annotated[
        str, typer.Argument(help="The assignment to grade: the name of its folder in source/.")
    ],
    students: Annotated[str, typer.Option(help="Only these: a name, or a pattern such as 'a*'.")] = "*",
    workers: Annotated[
        int | None, typer.Option(min=1, help="How many are graded at a time; one a core by default.")
    ] = None,
    scheduler: Annotated[
        str | None, typer.Option(help="Grade on this Dask cluster (tcp://HOST:8786) instead of here.")
    ] = None,
    force: Annotated[
        bool, typer.Option("--force", help="Grade what is graded and unchanged as well.")
    ] = False,
    no_sandbox: Annotated[
        bool, typer.Option("--no-sandbox", help="Run student code as you, without bubblewrap.")
    ] = False,
    timings: Annotated[
        bool, typer.Option("--timings", help="Print where the time went, phase by phase.")
    ] = False,
) -> None:
    """Grade what is new or changed of an assignment's submissions, all cores at once.

    Exits with status 0 if every submission has its grade, 1 if one has none, and 130 after Ctrl-C; the next
    run continues where this one stopped.
    """
    from nbjudge.batch.grade_command import Options, grade_class
    from nbjudge.course.folders import find_root, read_folders

    folders = read_folders(find_root(Path.cwd()))
    options = Options(students, workers, scheduler, force, False if no_sandbox else None, timings)
    raise typer.Exit(grade_class(folders, assignment, options, console))


@app.command()
def init() -> None:
    """Have the course in this folder graded with nbjudge: adds three lines to its nbgrader_config.py."""
    from nbjudge.course.folders import read_folders
    from nbjudge.course.gradebook import not_generated_reason
    from nbjudge.sandbox.bubblewrap import sandbox_refusal
    from nbjudge.skeletons.commands import add_to_configuration

    folders = read_folders(Path.cwd())
    if not folders.source.is_dir():
        raise CourseError(
            f"{folders.source} is not there: run this in the folder of a course, the one that holds its "
            "source notebooks."
        )
    console.print(Text(add_to_configuration(Path.cwd())), soft_wrap=True)
    assignments = folders.assignments()
    named = shlex.quote(assignments[0]) if assignments else "ASSIGNMENT"
    console.print(Text(f"Next: nbjudge grade {named}, then nbjudge report {named}."), soft_wrap=True)
    reasons = [sandbox_refusal(), not_generated_reason(folders, assignments[0]) if assignments else None]
    for reason in filter(None, reasons):
        console.print(Text.assemble(("Before that: ", "bold"), reason), soft_wrap=True)


@app.command()
def config(
    changed: Annotated[
        bool, typer.Option("--changed", help="Print only the options that the course has set.")
    ] = False,
) -> None:
    """Print every option as a line of nbgrader_config.py, with the file that sets it and its default."""
    from nbjudge.course.configuration import DEFAULT, options_in_force
    from nbjudge.course.folders import find_root

    for option in options_in_force(find_root(Path.cwd())):
        is_default = option.source.startswith(DEFAULT)
        if is_default and changed:
            continue
        remark = option.source if is_default else f"set in {option.source}, default {option.default!r}"
        console.print(Text(f"{option.name} = {option.value!r}  # {remark}"), soft_wrap=True)


def _generic_form() -> Form:
    from nbjudge.skeletons.notebooks import Form

    return Form()


add_commands(app, _generic_form)


@app.command("try")
def try_checks(
    exercise: Annotated[
        str, typer.Argument(help="One exercise, assignment, notebook or ASSIGNMENT/NOTEBOOK; all by default.")
    ] = "*",
    answer: Annotated[str, typer.Argument(help="Only this mistake or accepted alternative of it.")] = "",
    seeds: Annotated[int, typer.Option(min=1, help="On how many inputs each is tried.")] = 5,
) -> None:
    """Try checks before a class meets them: the solution, the accepted alternatives and every mistake.

    A table says which group catches what. Without ANSWER, the solution is also graded once in a student's
    kernel. Exits with status 1 if anything needs fixing.
    """
    # As in a class's kernels: threads of a library gain nothing on small inputs, and wait for each other.
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    from nbjudge.course.course import find_course
    from nbjudge.try_checks.command import try_all

    raise typer.Exit(try_all(find_course(Path.cwd()), exercise, answer, seeds, console, in_a_kernel=True))


@app.command()
def coverage(
    assignment: Annotated[str, typer.Argument(help="One assignment or notebook; all by default.")] = "*",
    write: Annotated[
        Path | None, typer.Option(help="A Markdown page; the table goes between its two comments.")
    ] = None,
) -> None:
    """Print a table of what the cases of each exercise cover, such as dtypes, gradients and large values."""
    from nbjudge.course.course import find_course
    from nbjudge.try_checks.coverage import show_coverage

    show_coverage(find_course(Path.cwd()), assignment, write, console)


@app.command()
def visible(
    assignment: Annotated[str, typer.Argument(help="One assignment or notebook; all by default.")] = "*",
) -> None:
    """Print how many of the wrong answers in checks/ fail the tests that students see.

    Exits with status 1 if too few do, if a right answer fails them, or if they leave names behind.
    """
    from nbjudge.course.course import find_course
    from nbjudge.try_checks.visible import show_visible

    raise typer.Exit(show_visible(find_course(Path.cwd()), assignment, console))


@app.command("regrade")
def regrade_answer(
    exercise: Annotated[str, typer.Argument(help="The exercise, by its name.")],
    student: Annotated[str, typer.Argument(help="The student who gave the answer that you looked at.")],
    reason: Annotated[str, typer.Option(help="Why: the students read it on their feedback page.")] = "",
    points: Annotated[
        float | None, typer.Option(help="What the answer is worth; all points by default.")
    ] = None,
    withdraw: Annotated[
        bool, typer.Option("--withdraw", help="Take back what was decided for this answer.")
    ] = False,
) -> None:
    """Decide what an answer is worth, for everybody who gave the same one, and grade them again.

    It is kept in `regrades/` and holds for every later grading. Ends as `grade` does.
    """
    from nbjudge.batch import regrade
    from nbjudge.course.course import find_course

    course = find_course(Path.cwd())
    if withdraw:
        raise typer.Exit(regrade.withdraw(course, exercise, student, console))
    raise typer.Exit(regrade.regrade(course, exercise, student, points, reason, console))


@app.command("tutor-service")
def tutor_service(
    course: Annotated[Path, typer.Argument(help="The course's folder.")] = Path(),
) -> None:
    """Serve a class's tutor and its board: JupyterHub starts this, as one of its services."""
    from nbjudge.classroom.service import run

    run(course)


@app.command()
def report(
    assignment: Annotated[str, typer.Argument(help="The assignment: the name of its folder in source/.")],
    output: Annotated[
        Path | None, typer.Option(help="The folder to write to; reports/ASSIGNMENT by default.")
    ] = None,
    anonymous: Annotated[
        bool, typer.Option("--anonymous", help="Leave out who: a report that the class may see.")
    ] = False,
    compare: Annotated[
        list[Path] | None,
        typer.Option(help="The report.json of an earlier class: say what got harder. May be given again."),
    ] = None,
) -> None:
    """Write a page on what a graded class has understood of an assignment, with CSV files and JSON.

    c.CsvFiles in nbgrader_config.py sets the separator and the decimal sign of the CSV files.
    """
    from nbjudge.course.configuration import read_config
    from nbjudge.course.course import find_course
    from nbjudge.course.gradebook import not_generated_reason
    from nbjudge.csv_files import CsvFormat
    from nbjudge.report import write_report

    course = find_course(Path.cwd())
    csv_format = CsvFormat(config=read_config(course.root))
    folder = course.choose(assignment)[0].folder
    reason = not_generated_reason(course.folders, folder)
    if reason is not None:
        raise CourseError(reason)
    sentences, page = write_report(
        course.folders, folder, output, anonymous, console, compare or (), csv_format
    )
    for sentence in sentences:
        console.print(Text(sentence.replace("`", "")), soft_wrap=True)
    console.print(Text(f"The report: {page}"), soft_wrap=True)


add_exam_commands(app, console)
add_term_commands(app, console)
add_lti_commands(app, console)
