"""Attention Lab: a notebook course on self-attention.

For lessons
    `plots`, `heads`, `training_plots`, `drawings` and `sliders` draw; `measurements` are stored tables;
    `corpus`, `words`, `encoder` and `characters` are data and models; `examples` holds the visible
    examples; `memory` measures memory; `earlier` asks questions of earlier lessons.
For learners
    `start` is `attention-lab start`, the start page and the progress page; `tutor` begins `check`.
For authors of checks
    `authoring`, with what can be measured of wrong attention weights.
For maintainers
    `maintain` builds lessons, the bundle, the demo and the site.
For all of these
    `cli` is the command, and `students` lists the modules that students have.

`lessons` and `course` are filled when a wheel is built. The grader is a package of its own, nbjudge.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

__version__ = "0.2.0"

if TYPE_CHECKING:
    from nbjudge.tutor import ask, check, hunt, hunts

__all__ = ["ask", "check", "hunt", "hunts"]


def __getattr__(name: str) -> object:
    """Import the tutor's names when they are first used: most of the package does not need them."""
    if name in __all__:
        from attention_lab.tutor import begin_notebook

        begin_notebook()
        import nbjudge.tutor

        return getattr(nbjudge.tutor, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
