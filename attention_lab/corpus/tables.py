"""The word lists and templates in `words/`, one file a topic and two that all share."""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any

from attention_lab.corpus.grammar import Words

TOPICS = ("tech", "business", "sports", "entertainment", "politics")


@dataclass(frozen=True)
class Topic:
    """What reports of one topic are made of: templates for `grammar.Writer`, and its word lists."""

    actors: list[str]  # who may act; {actor} is one of them
    openings: list[str]
    bodies: list[str]
    words: Words  # the topic's own lists, and those of the other files


@dataclass(frozen=True)
class SharedPhrases:
    """What every topic uses."""

    openings: list[str]  # only {actor} tells the topic
    follow_ups: list[str]  # {actor} is the one of the opening
    neutral: list[str]
    digests: list[str]  # lead in a sentence about something else
    words: Words


@dataclass(frozen=True)
class PairTemplates:
    """Sentences about {A}, who acts, and {B}."""

    frames: list[str]
    endings: list[str]
    meetings: list[str]
    words: Words


@cache
def shared() -> SharedPhrases:
    return SharedPhrases(**_file("shared"))


@cache
def topic(index: int) -> Topic:
    """The topic with the position `index` in `TOPICS`."""
    table = _file(TOPICS[index])
    words = {**pair_templates().words, **table.pop("words"), "actor": table["actors"]}
    return Topic(**table, words=words)


@cache
def pair_templates() -> PairTemplates:
    table = _file("pairs")
    return PairTemplates(**table | {"words": {**shared().words, **table["words"]}})


def _file(name: str) -> dict[str, Any]:
    return tomllib.loads(files("attention_lab.corpus").joinpath("words", f"{name}.toml").read_text("utf-8"))
