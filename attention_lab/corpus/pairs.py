"""Pairs of texts that only the order of their words tells apart.

Both texts of a pair have the same words, and in each the topic is that of the one who acts: "The bank has
sued the singer in court." is business, "The singer has sued the bank in court." is entertainment. The one who
acts is named first. Nothing else in such a text belongs to a topic, so a reader without word order can
only guess which of the two topics is meant.
"""

from __future__ import annotations

import random

from attention_lab.corpus.grammar import Writer
from attention_lab.corpus.tables import pair_templates, topic

Report = tuple[str, int]  # a text and its label
Pair = tuple[Report, Report]

# Of the meetings of two actors, one in this many is kept for the held-out pairs.
HELD_OUT_SHARE = 3
ENDING_SHARE = 0.5


def is_held_out(one: int, other: int) -> bool:
    """Whether two actors, by their places in their topics' lists, meet in the held-out pairs only."""
    return (one + other) % HELD_OUT_SHARE == 0


def draw_actors(topics: tuple[int, int], held_out: bool, rng: random.Random) -> tuple[str, str]:
    """One actor of each topic, from the meetings that are held out or from the others."""
    ones, others = (topic(index).actors for index in topics)
    meetings = [
        (one, other)
        for place, one in enumerate(ones)
        for other_place, other in enumerate(others)
        if is_held_out(place, other_place) == held_out
    ]
    return rng.choice(meetings)


def write_pair(topics: tuple[int, int], held_out: bool, rng: random.Random) -> Pair:
    """A text in which the actor of the first topic acts, and the same with the actors changed over."""
    one, other = draw_actors(topics, held_out, rng)
    templates = pair_templates()
    sentences = [rng.choice(templates.frames)]
    if rng.random() < ENDING_SHARE:
        sentences.append(rng.choice(templates.endings))
    first = Writer(templates.words, rng, {"A": one, "B": other})
    text = " ".join(map(first.sentence, sentences))
    second = Writer(templates.words, rng, first.chosen | {"A": other, "B": one})
    return (text, topics[0]), (" ".join(map(second.sentence, sentences)), topics[1])
