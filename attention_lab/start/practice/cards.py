r"""Cards of one question and one answer each, also as a deck for Anki.

`cards.toml` has them by lesson, with code in backticks and formulas in TeX between dollar signs.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from html import escape
from pathlib import Path

from attention_lab.errors import CourseError

FORMULA = re.compile(r"\$([^$]+)\$")
# What cards use of TeX, as it is written without.
SIGNS = {"-": "−", r"\sqrt": "√", r"^\top": "ᵀ", r"\pi": "π", r"\infty": "∞"}
SIGNS |= {r"\operatorname": "", r"\sin": "sin", r"\ln": "ln"}
# Anki knows deck, kind of note and note by these and by the cards' ids: a new import updates them.
DECK_ID, MODEL_ID = 1_611_947_205, 1_611_947_206
FIELDS = ("Question", "Answer", "Lesson", "Extra")  # one to spare: Anki does not update notes with a new one
BACK = "{{FrontSide}}<hr id=answer>{{Answer}}<p><small>{{Lesson}}</small></p>{{Extra}}"


@dataclass(frozen=True)
class PracticeCard:
    """A question of a lesson that is answered from memory."""

    id: str
    lesson: str  # the lesson's folder
    question: str
    answer: str

    @property
    def number(self) -> int:
        """The number of its lesson."""
        return int(self.lesson.partition("_")[0])


@cache
def read_cards() -> Mapping[str, PracticeCard]:
    """Return all cards by id, in the order of the lessons."""
    lessons = tomllib.loads(Path(__file__).with_name("cards.toml").read_text("utf-8"))
    cards = [PracticeCard(lesson=lesson, **card) for lesson, table in lessons.items() for card in table]
    return {card.id: card for card in cards}


def without_tex(text: str) -> str:
    """Return a card's text with formulas on one line, and code in backticks."""

    def plain(formula: re.Match[str]) -> str:
        tex = formula[1]
        for name, sign in SIGNS.items():
            tex = tex.replace(name, sign)
        return re.sub(r"\{(\w+)\}", r"\1", tex).replace("{", "(").replace("}", ")")

    return FORMULA.sub(plain, text)


def as_plain(text: str) -> str:
    """Return a card's text for a terminal."""
    return without_tex(text).replace("`", "")


def as_anki(text: str) -> str:
    r"""Return a card's text as a field of Anki: HTML, with formulas for MathJax in \( \)."""
    html = FORMULA.sub(r"\\(\1\\)", escape(text, quote=False))
    return re.sub(r"`([^`]+)`", r"<code>\1</code>", html)


def write_deck(file: Path) -> int:
    """Write all cards to a file that Anki imports; return how many.

    Raises CourseError if the package genanki is missing, or the file cannot be written.
    """
    try:
        import genanki
    except ModuleNotFoundError:
        raise CourseError(
            "The package genanki is missing, which writes decks for Anki: `pip install genanki`."
        ) from None
    template = {"name": "Card", "qfmt": "{{Question}}", "afmt": BACK}
    model = genanki.Model(MODEL_ID, "Attention Lab", [{"name": name} for name in FIELDS], [template])
    deck = genanki.Deck(DECK_ID, "Attention Lab")
    for card in read_cards().values():
        fields = [as_anki(card.question), as_anki(card.answer), card.lesson, ""]
        deck.add_note(genanki.Note(model, fields, guid=f"attention-lab-{card.id}", tags=[card.lesson]))
    try:
        genanki.Package(deck).write_to_file(file)
    except OSError as error:
        reason = error.strerror or error
        raise CourseError(f"The deck cannot be written to {file} ({reason}): name another file.") from error
    return len(deck.notes)
