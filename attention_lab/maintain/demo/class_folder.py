"""The demo's own course folder, made again each time, and the invented class that hands in there."""

from __future__ import annotations

import copy
import itertools
import random
import shutil
from pathlib import Path

import nbformat
from nbformat import NotebookNode

from attention_lab.maintain.build import register
from attention_lab.maintain.demo.hand_ins import HandIn
from nbjudge import CourseError
from nbjudge.course import CACHE_FOLDERS, CONFIG_FILE, Assignment, Course, CourseFolders, read_notebook

FOLDER = "demo"
MARKER = ".attention-lab-demo"  # only a folder that holds it is ever removed
OWN_SETTINGS = """
# The demo's invented students write endless loops on purpose: a short limit keeps the demo quick.
c.RunAndJudge.cell_seconds = 8
c.RunAndJudge.answer_seconds = 4
# The class's own gradebook may be in a database server: invented students have no business there.
c.CourseDirectory.db_url = "sqlite:///" + __file__.replace("nbgrader_config.py", "gradebook.db")
"""


def fresh_course(lesson: Assignment) -> Assignment:
    """The same lesson in a course folder of its own, with a release and a new gradebook."""
    folder = lesson.course.root / FOLDER
    if folder.is_symlink() or (folder.exists() and not (folder / MARKER).is_file()):
        raise CourseError(f"{folder} is not a demo's folder, and is left alone: move it away and try again.")
    if folder.exists():
        shutil.rmtree(folder)
    folder.mkdir()
    (folder / MARKER).write_text("`make demo` removes this folder and makes it again.\n")
    # Under nbgrader's default names: the class's own folders may lie anywhere, and are not the demo's.
    folders = CourseFolders(folder)
    fresh = Assignment(Course(folder, folders), lesson.folder, lesson.name)
    _copy(lesson.source_path.parent, fresh.source_path.parent)
    _copy(lesson.solution_path.parent, fresh.solution_path.parent)
    for path in lesson.checks_files:
        _copy(path, folders.checks / path.name)
    own = [f"c.CourseDirectory.{name} = {value!r}" for name, value in folders.as_settings().items()]
    config = (lesson.course.root / CONFIG_FILE).read_text(encoding="utf-8")
    (folder / CONFIG_FILE).write_text("\n".join([config + OWN_SETTINGS, *own, ""]), encoding="utf-8")
    register(fresh)
    return fresh


def submit(lesson: Assignment, student: str, hand_in: HandIn) -> None:
    """Write one submission: the release, with the student's answers in it, in the form it was handed in."""
    folder = lesson.course.folders.submitted(student, lesson.folder)
    _copy(lesson.release_path.parent, folder)
    path = folder / f"{lesson.name}.ipynb"
    notebook = filled_in(read_notebook(lesson.release_path), hand_in)
    text: str = nbformat.writes(notebook, version=4)
    if hand_in.form == "cut off":
        text = text[: len(text) * 2 // 3]
    path.write_text(text, encoding="utf-8")
    if hand_in.form == "misnamed":
        path.rename(folder / f"{lesson.name} (1) final.ipynb")


def filled_in(release: NotebookNode, hand_in: HandIn) -> NotebookNode:
    """A copy of the release with the answers in their cells, rearranged as the student has it."""
    notebook = copy.deepcopy(release)
    for cell in notebook.cells:
        marks = cell.metadata.get("nbgrader", {})
        if cell.cell_type == "code" and marks.get("solution"):
            cell.source = hand_in.answers.get(marks["grade_id"], cell.source)
    if hand_in.arrange is not None:
        hand_in.arrange(notebook)
    return notebook


def _copy(path: Path, target: Path) -> None:
    target.parent.mkdir(parents=True, exist_ok=True)
    if path.is_dir():
        shutil.copytree(path, target, ignore=shutil.ignore_patterns(*CACHE_FOLDERS))
    else:
        shutil.copyfile(path, target)


# A comma, quotes, accents, brackets, a hyphen, an ampersand, no family name, letters of other scripts.
DIFFICULT = (
    "Zoë O'Brien, jr",
    'Nguyễn "Minh" Anh',
    "Łucja Żółć-Wiśniewska",
    "Siobhán Ní Dhálaigh",
    "José María d'Ávila y Muñoz",
    "Åse & Bjørn Sæther",
    "Suharto",
    "王小明",
    "Jürgen Groß (ERASMUS)",
    "Ἑλένη Παππά",
)
GIVEN = (
    "Amara",
    "Aroha",
    "Beatriz",
    "Chidi",
    "Daniela",
    "Emre",
    "Farida",
    "Giorgos",
    "Hana",
    "Ibrahim",
    "Ji-woo",
    "Kofi",
    "Leilani",
    "Mateo",
    "Nadia",
    "Priya",
    "Rania",
    "Søren",
    "Viktor",
    "Zsófia",
)
FAMILY = (
    "Abebe",
    "Cohen",
    "Dubois",
    "Fernández",
    "Haddad",
    "Ivanova",
    "Kowalczyk",
    "Lindqvist",
    "Mbeki",
    "Novák",
    "Okafor",
    "Quispe",
    "Rossi",
    "Tanaka",
    "Watanabe",
    "Yılmaz",
)


def invented_names(count: int, seed: int) -> list[str]:
    """`count` different names, the same ones for the same seed; every second is difficult while they last."""
    ordinary = [f"{given} {family}" for given, family in itertools.product(GIVEN, FAMILY)]
    if count > len(ordinary):
        turns = range(2, 2 + count // len(ordinary))
        ordinary += [f"{name} {number}" for number in turns for name in ordinary]
    random.Random(seed).shuffle(ordinary)
    between = itertools.chain.from_iterable(zip(DIFFICULT, ordinary, strict=False))
    return [*between, *ordinary[len(DIFFICULT) :]][:count]
