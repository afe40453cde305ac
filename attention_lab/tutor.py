"""The course's tutor: where it finds checks, and where it records what a learner has done."""

from __future__ import annotations

import importlib
import os
import sys
from pathlib import Path

import nbjudge.tutor

RECORD = Path(".attention-lab") / "exercises.json"  # in the work folder
PRACTICE = "practice"  # in the work folder: a folder for each day's practice notebook
FIRST_LESSON = "00_start_here"  # only a learner's work folder has it beside the lessons
for _name in ("TUTOR", "TUTOR_KEY"):  # as hubs have set them since the first version
    if _value := os.environ.get(f"ATTENTION_LAB_{_name}"):
        os.environ.setdefault(f"NBJUDGE_{_name}", _value)


def course_folder() -> Path | None:
    """Return the folder of the course's checks and sources: in the installed package, or around it."""
    package = Path(__file__).resolve().parent
    for folder in (package / "course", package.parent):
        if any(folder.glob("checks/**/*.py")) and any(folder.glob("source/*/*.ipynb")):
            return folder
    return None


def has_tutor() -> bool:
    """Return whether `check` has a tutor."""
    return nbjudge.tutor.has_tutor(course_folder())


def begin_notebook() -> None:
    """Start the tutor while the learner reads."""
    folder, day = Path.cwd(), ""
    work = folder.parent
    if work.name == PRACTICE and (work.parent / FIRST_LESSON).is_dir():
        work, day = work.parent, folder.name
    record = nbjudge.tutor.LearnerRecord(work / RECORD, day) if (work / FIRST_LESSON).is_dir() else None
    nbjudge.tutor.begin_notebook(course_folder(), record, _load_for_pictures)


def _load_for_pictures() -> None:
    if "attention_lab.plots" in sys.modules:
        importlib.import_module("seaborn")
