"""Sentences from the word lists and templates in `words/`, one file a topic and two that all share.

A slot of a template is `{place}`: an entry of the word list `place`, which may hold slots itself. `{place.2}`
is another entry of the same list, and `{3..40}` a whole number in that range. Within one text the same slot
is always filled alike, so that a report keeps to its people and places. `a/an` becomes whichever article is
said before the next word.
"""

from __future__ import annotations

import random
import re
import tomllib
from collections.abc import Mapping, Sequence
from functools import cache
from importlib.resources import files
from types import SimpleNamespace
from typing import Any

Words = Mapping[str, Sequence[str]]
TOPICS = ("tech", "business", "sports", "entertainment", "politics")

SLOT = re.compile(r"\{([^{}]+)\}")
RANGE = re.compile(r"(\d+)\.\.(\d+)")
ARTICLE = re.compile(r"\ba/an (\w+)")
# Spelt with a vowel but said with a consonant ("a union"), and the other way round ("an hour", "an 8").
SAID_WITH_CONSONANT = ("one", "uni", "use", "euro")
SAID_WITH_VOWEL = ("hour", "honest", "honour", "heir", "8", "11", "18")


class Writer:
    """Fills the slots of one text. It remembers its choices in `chosen`, so each text needs its own."""

    def __init__(self, words: Words, rng: random.Random, chosen: Mapping[str, str] | None = None) -> None:
        self._words = words
        self._rng = rng
        self.chosen: dict[str, str] = dict(chosen or {})

    def sentence(self, template: str) -> str:
        """The template with every slot filled, beginning with a capital letter."""
        filled = self._fill(template)
        return _with_capital(ARTICLE.sub(lambda found: f"{article(found[1])} {found[1]}", filled))

    def _fill(self, template: str) -> str:
        return SLOT.sub(lambda slot: self._choice(slot[1]), template)

    def _choice(self, slot: str) -> str:
        if slot not in self.chosen:
            self.chosen[slot] = self._fill(self._draw(slot))
        return self.chosen[slot]

    def _draw(self, slot: str) -> str:
        if span := RANGE.fullmatch(slot):
            return str(self._rng.randint(int(span[1]), int(span[2])))
        name = slot.split(".")[0]
        taken = {entry for other, entry in self.chosen.items() if other.split(".")[0] == name}
        return self._rng.choice([entry for entry in self._words[name] if entry not in taken])


def article(word: str) -> str:
    """`a` or `an`, whichever is said before `word`."""
    small = word.lower()
    if small.startswith(SAID_WITH_VOWEL):
        return "an"
    return "an" if small[0] in "aeiou" and not small.startswith(SAID_WITH_CONSONANT) else "a"


def _with_capital(sentence: str) -> str:
    """The first letter large, also after an opening quotation mark."""
    first = next(index for index, letter in enumerate(sentence) if letter.isalnum())
    return sentence[:first] + sentence[first].upper() + sentence[first + 1 :]


@cache
def shared() -> SimpleNamespace:
    """The phrases of every topic: openings, follow-ups, neutral ones, digests that lead in another topic."""
    return SimpleNamespace(**_file("shared"))


@cache
def topic(index: int) -> SimpleNamespace:
    """The material of the topic with the position `index` in `TOPICS`: actors, openings, bodies, words."""
    table = _file(TOPICS[index])
    words = {**pair_templates().words, **table.pop("words"), "actor": table["actors"]}
    return SimpleNamespace(**table, words=words)


@cache
def pair_templates() -> SimpleNamespace:
    """Sentences about {A}, who acts, and {B}: frames, endings, meetings, words."""
    table = _file("pairs")
    return SimpleNamespace(**table | {"words": {**shared().words, **table["words"]}})


def _file(name: str) -> dict[str, Any]:
    return tomllib.loads(files("attention_lab.corpus").joinpath("words", f"{name}.toml").read_text("utf-8"))
