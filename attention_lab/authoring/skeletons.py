"""The form of this course's lessons and exercises, for `attention-lab new-lesson` and `new-exercise`.

The templates hold what differs from nbjudge's own; docs/writing-a-lesson.md says what a lesson needs.
"""

from __future__ import annotations

from pathlib import Path

from nbjudge.skeletons.notebooks import Form

FORM = Form(
    folder=Path(__file__).with_name("templates"),
    package="attention_lab/lesson_{number}",
    program="attention-lab",
    build="attention-lab build {folder}",
    advice="What else the tests require is at the top of docs/writing-a-lesson.md.",
)
