"""Grade any instructor's nbgrader sources with stock nbgrader and with nbjudge, and compare cell by cell.

    python tests/peers/real_courses.py FOLDER

FOLDER holds `source/ASSIGNMENT/*.ipynb`, or folders of notebooks, or notebooks. They are only read.
Six students hand in each assignment: the instructor's solution, the released notebook as it is, half of the
answers, an answer that does not compile, a deleted test cell, and own failing cells and warnings.
"""

import argparse
import sys
import tempfile
from collections import Counter
from collections.abc import Iterable
from pathlib import Path

import nbformat
from compare_graders import OURS, STOCK, VERDICTS, Graded, compare, run_both
from jupyter_client.kernelspec import KernelSpecManager
from nbformat import NotebookNode
from peer_courses import CLASS, Assignment, is_answer, is_test

LARGEST_FILE = 50 * 2**20  # of what is copied beside the notebooks
PYTHON = "python3"


def assignments_in(folder: Path, who: Iterable[str] = CLASS) -> list[Assignment]:
    """Find the assignments of a course, each to be handed in by these of the class of six.

    A notebook without automatically graded cells or in another language than Python is left out; see
    `left_out`.
    """
    found = []
    for each in _folders(folder):
        notebooks = {
            path.stem: notebook
            for path in sorted(each.glob("*.ipynb"))
            if isinstance(notebook := _read(path), NotebookNode)
        }
        if notebooks:
            students = {name: dict.fromkeys(notebooks, CLASS[name]) for name in who}
            found.append(Assignment(_name(each), notebooks, students, extra_files=_files_beside(each)))
    return found


def left_out(folder: Path) -> Counter[str]:
    """Return how many notebooks below a folder are not graded, by the reason."""
    paths = [path for each in _folders(folder) for path in each.glob("*.ipynb")]
    return Counter(reason for path in paths if isinstance(reason := _read(path), str))


def _folders(folder: Path) -> list[Path]:
    """The assignments' folders; the folder itself where none inside it holds notebooks."""
    source = folder / "source" if (folder / "source").is_dir() else folder
    return sorted({path.parent for path in source.glob("[!.]*/*.ipynb")}) or [source]


def _read(path: Path) -> NotebookNode | str:
    """The notebook with a kernel that is installed here, or why it is left out."""
    try:
        notebook = nbformat.reads(path.read_text(encoding="utf-8"), as_version=4)
    except Exception as error:
        return f"cannot be read ({type(error).__name__})"
    if not any(map(is_test, notebook.cells)):
        return "has no automatically graded test cell"
    if not any(map(is_answer, notebook.cells)):
        return "has no answer cell"
    kernel = notebook.metadata.get("kernelspec", {})
    if kernel.get("name") not in KernelSpecManager().find_kernel_specs():
        language = notebook.metadata.get("language_info", {}).get("name") or kernel.get("language", PYTHON)
        if not language.startswith("python"):
            return f"is in {language}"
        notebook.metadata["kernelspec"] = {"name": PYTHON, "language": "python", "display_name": "Python 3"}
    return notebook


def _name(folder: Path) -> str:
    """The folder's name, as nbgrader takes it for an assignment."""
    return folder.resolve().name.replace("+", "-").replace(" ", "_")


def _files_beside(folder: Path) -> tuple[Path, ...]:
    """The data files and folders of an assignment."""
    return tuple(
        path
        for path in sorted(folder.iterdir())
        if path.suffix != ".ipynb"
        and not path.name.startswith(".")
        and (path.is_dir() or path.stat().st_size < LARGEST_FILE)
    )


def main() -> int:
    """Run the command; returns its exit status."""
    options = _options()
    if not options.folder.is_dir():
        print(f"There is no folder {options.folder}: name the one that holds the instructor's sources.")
        return 2
    assignments = assignments_in(options.folder)
    notebooks = sum(len(assignment.source) for assignment in assignments)
    for reason, count in left_out(options.folder).items():
        print(f"{count} notebooks are left out: each {reason}.")
    if not notebooks:
        print(f"{options.folder} has no nbgrader notebook in Python that can be graded automatically.")
        return 2
    lines = options.config.read_text() if options.config else ""
    folder = Path(tempfile.mkdtemp(prefix="real-course-")) if options.keep is None else options.keep
    folder.mkdir(parents=True, exist_ok=True)
    configs = {"stock": STOCK + lines, "ours": STOCK + lines + OURS.removeprefix(STOCK)}
    print(f"Grading {notebooks * len(options.students)} notebooks with each grader in {folder}.", flush=True)
    graded = run_both(folder, [str(options.folder.resolve()), *options.students], configs)
    return _report(graded)


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__.partition("\n")[0],
        epilog="Exits with status 1 if any cell is worse for the student without a listed reason.",
    )
    parser.add_argument("folder", type=Path, help="the course, its source/, or a folder of notebooks")
    parser.add_argument(
        "--students", nargs="+", choices=CLASS, default=list(CLASS), help="only these of the six students"
    )
    parser.add_argument(
        "--config", type=Path, help="a file of further lines for the nbgrader_config.py of both graders"
    )
    parser.add_argument("--keep", type=Path, help="a new folder for the two graded courses (default: /tmp)")
    return parser.parse_args()


def _report(graded: dict[str, Graded]) -> int:
    compared = compare(graded["stock"], graded["ours"])
    for one in compared:
        if one.verdict != "equal":
            print(f"{one.verdict:7}{one.work}, {one.cell}: {one.stock} and {one.ours}. {one.reason}")
    for name, grader in graded.items():
        print(f"{name}: {len(grader.scores)} notebooks have a grade.")
        for what in ("not released", "stopped"):
            if grader.report[what]:
                print(f"{name}: {what}: {', '.join(grader.report[what])}")
        works = [work["grades"].values() for work in grader.scores.values() if work["student"] == "solution"]
        cells = [grade for grades in works for grade in grades]
        points = sum(score or 0 for score, _, _ in cells)
        print(f"{name}: the solutions have {points:g} of {sum(most for _, most, _ in cells):g} points.")
    counts = Counter(each.verdict for each in compared)
    print(f"{len(compared)} cells: " + ", ".join(f"{counts[each]} {each}" for each in VERDICTS))
    unknown = Counter(each.verdict for each in compared if each.verdict != "equal" and not each.reason)
    print(f"Without a known reason: {unknown['better']} better, {unknown['WORSE']} WORSE")
    return 1 if unknown["WORSE"] else 0


if __name__ == "__main__":
    sys.exit(main())
