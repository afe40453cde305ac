"""What a course may set in `nbgrader_config.py`, with the help texts that nbgrader itself shows."""

from __future__ import annotations

from collections.abc import Iterator

from traitlets.config import Configurable

from nbjudge.exports.canvas import CanvasExporter
from nbjudge.exports.moodle import MoodleExporter
from nbjudge.feedback import FeedbackExporter
from nbjudge.nbgrader_hooks import RunAndJudge

GRADER = "nbjudge"
SECTIONS: dict[str, type[Configurable]] = {
    "Running and judging": RunAndJudge,
    "The feedback page": FeedbackExporter,
    "Export to Canvas": CanvasExporter,
    "Export to Moodle": MoodleExporter,
}
SETTING = """
```{{confval}} c.{owner}.{name}
:type: {type}
:default: `{default!r}`

{help}
```
"""


def settings() -> str:
    """A section in Markdown for each class that has settings, in the order in which its code has them."""
    return "\n".join(f"## {title}\n{''.join(_settings_of(owner))}" for title, owner in SECTIONS.items())


def _settings_of(owner: type[Configurable]) -> Iterator[str]:
    """The grader's own: what nbgrader and nbconvert add is theirs to explain."""
    traits = owner.class_traits(config=True)
    for place in owner.mro():
        for name in vars(place):
            if place.__module__.startswith(f"{GRADER}.") and name in traits:
                trait = traits[name]
                yield SETTING.format(
                    owner=owner.__name__,
                    name=name,
                    type=trait.info(),
                    default=trait.default(),
                    help=trait.help,
                )
