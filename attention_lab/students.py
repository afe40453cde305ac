"""Which modules of this package students have: in their zip, and in the sandbox that grades them.

A module that is not named here stays with the instructor, a new one as well.
"""

from pathlib import Path

# What lessons import.
LESSON_MODULES = (
    "corpus",
    "drawings",
    "earlier",
    "encoder",
    "examples",
    "heads",
    *sorted(folder.name for folder in Path(__file__).parent.glob("lesson_[0-9]*")),
    "measurements",
    "memory",
    "plots",
    "sliders",
    "training_plots",
    "tutor",
    "words",
)
# `attention-lab start`, the model of the last page (which no grading runs), and what they take.
START_MODULES = ("__init__", "characters", "cli", "errors", "start", "students")
STUDENT_MODULES = (*LESSON_MODULES, *START_MODULES)
# By their full names, for `c.RunAndJudge.exposed_modules` in nbgrader_config.py.
EXPOSED_MODULES = tuple(f"attention_lab.{name}" for name in LESSON_MODULES)
