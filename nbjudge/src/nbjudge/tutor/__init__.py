"""The tutor: the judge beside a learner's kernel, and help in steps.

A process of its own holds references, checks and mistakes. A kernel requests a check of an answer, receives
calls, and sends back what the answer gave: the calls are those of a grading run (`nbjudge.kernel.protocol`),
and so is the judge. Nothing that runs beside a learner's code knows what is right.

In a notebook::

    from nbjudge.tutor import check
    check("deviation")

The learner's half is `nbjudge.tutor.learner`, and the only part of nbjudge that the sandbox exposes to
notebooks. It reaches the tutor at the address in `NBJUDGE_TUTOR`, or starts the one of the course in
`NBJUDGE_COURSE` or around the notebook's folder. Without any, `check` says so.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from nbjudge.tutor.learner import has_tutor
    from nbjudge.tutor.learner.checking import begin_notebook, check
    from nbjudge.tutor.learner.hunting import hunt, hunts
    from nbjudge.tutor.learner.live_box import STORED, LiveBox
    from nbjudge.tutor.learner.record import ExerciseHistory, LearnerRecord
    from nbjudge.tutor.learner.result import with_code
    from nbjudge.tutor.material import tutor_options

# The modules of the public names.
_MODULES = {
    "nbjudge.tutor.learner": "has_tutor",
    "nbjudge.tutor.learner.checking": "begin_notebook check",
    "nbjudge.tutor.learner.hunting": "hunt hunts",
    "nbjudge.tutor.learner.live_box": "LiveBox STORED",
    "nbjudge.tutor.learner.record": "ExerciseHistory LearnerRecord",
    "nbjudge.tutor.learner.result": "with_code",
    "nbjudge.tutor.material": "tutor_options",
}
PUBLIC = {name: module for module, names in _MODULES.items() for name in names.split()}


def __getattr__(name: str) -> Any:
    """Import a public name when it is first used; `check` and `hunt` start the tutor meanwhile."""
    if name not in PUBLIC:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    if name in ("check", "hunt", "hunts"):
        import_module(PUBLIC["check"]).begin_notebook()
    return getattr(import_module(PUBLIC[name]), name)


__all__ = [
    "ExerciseHistory",
    "LearnerRecord",
    "LiveBox",
    "STORED",
    "begin_notebook",
    "check",
    "has_tutor",
    "hunt",
    "hunts",
    "tutor_options",
    "with_code",
]
