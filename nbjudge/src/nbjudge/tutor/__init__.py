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

from typing import TYPE_CHECKING, Any

from nbjudge import lazily

if TYPE_CHECKING:
    from nbjudge.tutor.learner import has_tutor as has_tutor
    from nbjudge.tutor.learner.asking import ask as ask
    from nbjudge.tutor.learner.checking import begin_notebook as begin_notebook
    from nbjudge.tutor.learner.checking import check as check
    from nbjudge.tutor.learner.checking import has_reader as has_reader
    from nbjudge.tutor.learner.hunting import hunt as hunt
    from nbjudge.tutor.learner.hunting import hunts as hunts
    from nbjudge.tutor.learner.live_box import STORED as STORED
    from nbjudge.tutor.learner.live_box import LiveBox as LiveBox
    from nbjudge.tutor.learner.record import ExerciseHistory as ExerciseHistory
    from nbjudge.tutor.learner.record import LearnerRecord as LearnerRecord
    from nbjudge.tutor.learner.result import with_code as with_code
    from nbjudge.tutor.material import tutor_options as tutor_options

_import_name, __all__ = lazily(
    __name__,
    {
        "nbjudge.tutor.learner": "has_tutor",
        "nbjudge.tutor.learner.asking": "ask",
        "nbjudge.tutor.learner.checking": "begin_notebook check has_reader",
        "nbjudge.tutor.learner.hunting": "hunt hunts",
        "nbjudge.tutor.learner.live_box": "LiveBox STORED",
        "nbjudge.tutor.learner.record": "ExerciseHistory LearnerRecord",
        "nbjudge.tutor.learner.result": "with_code",
        "nbjudge.tutor.material": "tutor_options",
    },
)


def __getattr__(name: str) -> Any:
    """Import a public name when it is used; `ask`, `check` and `hunt` start the tutor meanwhile."""
    if name in ("ask", "check", "hunt", "hunts"):
        _import_name("begin_notebook")()
    return _import_name(name)
