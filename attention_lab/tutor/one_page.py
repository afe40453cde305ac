"""All the code of a lesson on one page, for learners who have written it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from attention_lab.tutor.learner_record import Memory
from attention_lab.tutor.result import Help, Sentence, ask_for_help

if TYPE_CHECKING:
    from attention_lab.tutor.result import Converse


class OnePage:
    """Code to keep open, coloured by the notebook."""

    def __init__(self, code: str) -> None:
        self.code = code

    def __repr__(self) -> str:
        return self.code

    def _repr_markdown_(self) -> str:
        return f"```python\n{self.code}\n```"


def one_page(folder: str, memory: Memory, converse: Converse) -> OnePage | Sentence:
    """The page of the lesson in a folder, or which of its answers are still open."""
    right = [
        name
        for name, remembered in memory.all().items()
        if remembered.lesson == folder and remembered.is_right
    ]
    from nbjudge.tutor.messages import OnePageRequest

    shown = ask_for_help(converse, OnePageRequest(folder=folder, right=right), folder)
    if not isinstance(shown, Help):
        return shown
    (part,) = shown.parts
    return OnePage(part.text) if part.kind == "code" else Sentence(part.text)
