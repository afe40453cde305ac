"""How fast classes are graded on two cores.

- stock: `nbgrader autograde` without the plug-in; the hidden regions call `check` in the kernel.
- ours: `attention-lab grade --workers 2`.
- limit: the cells that ours runs, in forks of two warm Python processes, and no more.
- limit of 1: the same with one process. What the limit gains from the second one is what two workers can
  gain on this machine, whose cores may be two halves of one.
- cluster of 1, of 2: `attention-lab grade --scheduler` with one Dask worker, and with two.

The class, which has everything right in ways of its own, is cut into blocks; each block goes through every
grader in turn, so that whatever else slows the machine hits all alike. A grader is started again for each
block. Its start (until the first notebook is done, less what a notebook takes) is measured apart and counted
once for the class, as one command would have it.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Annotated, Any

import other_course
import results
import typer
from class_runs import CORES, NBJUDGE, OURS, RUNS, STOCK, measure, run_ours, run_stock, table_of
from courses import ROOT, hand_in, lesson_named, new_course, right_class

from nbjudge.course import Assignment, Course

app = typer.Typer(add_completion=False, help=__doc__, rich_markup_mode="markdown")
RESULTS, FIGURE = results.FOLDER / "class.json", ROOT / "docs" / "images" / "class.svg"
CLASS = 60
Students = Annotated[int, typer.Option(min=2, help="The size of the class.")]
ByStock = Annotated[int | None, typer.Option(help="How many of them stock grades; all by default.")]
Blocks = Annotated[int, typer.Option(min=1, help="How many blocks the class is cut into.")]
Output = Annotated[Path, typer.Option(help="Where the results go.")]
LABELS = {
    "stock": "nbgrader autograde",
    "ours": "attention-lab grade",
    "limit": "the cells alone, nothing judged",
    "cluster of 1": "attention-lab grade, 1 Dask worker",
    "cluster of 2": "attention-lab grade, 2 Dask workers",
}
# Told apart without colour: dark, with strokes, light.
LOOKS: dict[str, dict[str, Any]] = {
    "stock": {"facecolor": "#555555"},
    "limit": {"facecolor": "white", "hatch": "////"},
}
LIGHT: dict[str, Any] = {"facecolor": "#9ecae1"}


@app.command()
def lesson(
    name: Annotated[str, typer.Argument(help="The folder of the lesson.")] = "02_scaling",
    students: Students = CLASS,
    by_stock: ByStock = None,
    blocks: Blocks = 3,
    output: Output = RESULTS,
    figure: Annotated[Path, typer.Option(help="Where the figure goes.")] = FIGURE,
) -> None:
    """Grade one lesson with every grader, and draw the figure."""
    console = results.console()
    content = results.surroundings(console) | {"lesson": name, "students": students, "cores_used": CORES}
    content["graders"] = _graded(name, RUNS, students, by_stock, blocks)
    console.print(table_of(content["graders"], f"Seconds, {students} notebooks of {name}", {OURS: 20}))
    results.write(output, content, console)
    draw(content, figure)


@app.command("figure")
def draw_again(source: Annotated[Path, typer.Argument()] = RESULTS, figure: Path = FIGURE) -> None:
    """Draw the figure from earlier results."""
    draw(results.read(source), figure)


@app.command()
def lessons(
    names: Annotated[list[str] | None, typer.Argument(help="Their folders; all with an exercise.")] = None,
    students: Students = 12,
    by_stock: ByStock = 2,
    output: Output = results.FOLDER / "lessons.json",
) -> None:
    """Grade a part of a class of each lesson, and reckon what a class of 60 takes."""
    console = results.console()
    content = results.surroundings(console) | {"students": CLASS, "lessons": {}}
    with_exercises = [
        assignment.folder for assignment in Course(ROOT).assignments.values() if assignment.exercises
    ]
    for name in names or with_exercises:
        graders = _graded(name, (STOCK, OURS), students, by_stock, 1)
        for figures in graders.values():
            work = figures["seconds"] - figures["start_up_seconds"]
            figures["seconds"] = figures["start_up_seconds"] + work / students * CLASS
        content["lessons"][name] = graders
        console.print(table_of(graders, f"Seconds, a class of {CLASS} of {name}", {OURS: 10}))
        results.write(output, content, console)


@app.command()
def other(
    students: Students = CLASS, blocks: Blocks = 3, output: Output = results.FOLDER / "other_course.json"
) -> None:
    """Grade a NumPy and pandas course without checks, by stock, plugged in, and by `nbjudge grade`."""
    console = results.console()
    content = results.surroundings(console) | {"students": students}
    runs = {STOCK: run_stock, "plugged in": run_stock, OURS: partial(run_ours, program=NBJUDGE)}
    with TemporaryDirectory(prefix="nbjudge-benchmark-") as folder:
        courses = {
            name: other_course.make(Path(folder) / name.replace(" ", "_"), name != STOCK) for name in runs
        }
        names = [f"student_{number:03}" for number in range(students)]
        arguments = (other_course.hand_in, names, students, blocks, console)
        content["graders"] = measure(courses, runs, *arguments)
    goals = {"plugged in": 4.0, OURS: 8.0}
    console.print(table_of(content["graders"], f"Seconds, {students} notebooks of another course", goals))
    results.write(output, content, console)


def _graded(
    name: str, graders: Collection[str], students: int, by_stock: int | None, blocks: int
) -> dict[str, Any]:
    """The figures of a class of a lesson, with a course for each grader: no one finds what another did."""
    ours = lesson_named(name)
    console = results.console()
    with TemporaryDirectory(prefix="attention-lab-benchmark-") as place:
        folder = Path(place)
        with console.status("Making the courses and the class …"):
            courses = {grader: new_course(folder / grader, ours, grader == STOCK) for grader in graders}
            hand_ins = right_class(courses[OURS], students)

        def hand_in_block(course: Assignment, block: Sequence[str]) -> None:
            hand_in(course, hand_ins, block)

        arguments = (list(hand_ins), students if by_stock is None else by_stock, blocks, console)
        return measure(courses, RUNS, hand_in_block, *arguments)


def draw(content: dict[str, Any], path: Path) -> None:
    """Draw the results of `lesson`; the same results make the same file."""
    import matplotlib

    matplotlib.use("agg")
    import matplotlib.pyplot as plt

    plt.rcParams |= {"svg.hashsalt": "attention-lab", "font.size": 10}
    figure, axes = plt.subplots(figsize=(8, 2.9), layout="constrained")
    graders = content["graders"]
    names = [name for name in LABELS if name in graders]
    for row, name in enumerate(names):
        seconds = graders[name]["seconds"]
        axes.barh(row, seconds, height=0.66, edgecolor="black", **LOOKS.get(name, LIGHT))
        duration = f"{seconds:.0f} s" if seconds < 120 else f"{seconds // 60:.0f} min {seconds % 60:02.0f} s"
        axes.text(seconds, row, f"  {duration}", va="center")
    axes.set_yticks(range(len(names)), [LABELS[name] for name in names])
    axes.invert_yaxis()
    axes.margins(x=0.16)
    axes.set_xlabel("seconds, start included")
    axes.set_title(
        f"A class of {content['students']} hands in lesson {content['lesson']}, "
        f"graded on {content['cores_used']} cores",
        loc="left",
        fontsize=10,
    )
    axes.spines[["top", "right"]].set_visible(False)
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, dpi=150, metadata={"Date": None} if path.suffix == ".svg" else None)
    plt.close(figure)


if __name__ == "__main__":
    app()
