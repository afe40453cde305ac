"""The course's own news: the same texts for the same seed, on every machine.

The rule of the labels: **a report belongs to the topic that its opening sentence is about, and that is the
topic of the one who acts in it.** Later sentences may digress to another topic; they do not change the label.

Pairs of texts are told apart only by the order of their words: both have the same words, and in each the
topic is that of the one who acts. "The bank has sued the singer in court." is business, "The singer has sued
the bank in court." is entertainment. The one who acts is named first. Nothing else in such a text belongs to
a topic, so a reader without word order can only guess which of the two topics is meant.

The shares below set how hard the news are. With them a classifier that only counts words is right nine
times in ten or more, and not always: in some openings one word tells the topic, some reports end on
another topic, and the pairs are in between as well.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from itertools import combinations
from types import SimpleNamespace
from typing import Any

from attention_lab.corpus.grammar import TOPICS, Writer, pair_templates, shared, topic

Report = tuple[str, int]  # a text and its label
Pair = tuple[Report, Report]
# Of the meetings of two actors, one in this many is kept for the held-out pairs.
HELD_OUT_SHARE = 3
ENDING_SHARE = 0.5
LENGTHS = (0, 0, 1, 1, 2, 2, 3, 3, 4, 5)  # how many sentences follow the opening, drawn evenly
SHARED_OPENING_SHARE = 0.25
MEETING_SHARE = 0.2
NEUTRAL_SHARE = 0.25
DIGRESSION_SHARE = 0.2
FEWEST_BEFORE_DIGRESSION = 3
REPORTS_A_TOPIC = 320
PAIRS_A_COMBINATION = 10  # for each two of the five topics
HELD_OUT_A_COMBINATION = 8


@dataclass(frozen=True)
class Split:
    """Texts and, at the same places, their labels: positions in `CLASS_NAMES`."""

    texts: list[str]
    labels: list[int]

    def __len__(self) -> int:
        return len(self.texts)


def split_of(reports: Iterable[Report]) -> Split:
    reports = list(reports)
    return Split([text for text, _ in reports], [label for _, label in reports])


def draw_actors(topics: tuple[int, int], held_out: bool, rng: random.Random) -> tuple[str, str]:
    """One actor of each topic, from the meetings that are held out or from the others."""
    ones, others = (topic(index).actors for index in topics)
    meetings = [
        (one, other)
        for place, one in enumerate(ones)
        for other_place, other in enumerate(others)
        if ((place + other_place) % HELD_OUT_SHARE == 0) == held_out
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


def write_report(index: int, rng: random.Random) -> Report:
    """A text on the topic with the position `index` in `TOPICS`, and that label."""
    own = topic(index)
    writer = Writer(own.words, rng)
    length = rng.choice(LENGTHS)
    if length and rng.random() < MEETING_SHARE:
        # The next sentence tells the topic too, so that this is no order-sensitive text.
        templates = [_meeting(index, writer, rng), rng.choice(own.bodies)]
    else:
        openings = shared().openings if rng.random() < SHARED_OPENING_SHARE else own.openings
        templates = [rng.choice(openings)]
    templates += _rest(own, length + 1 - len(templates), rng)
    sentences = [writer.sentence(template) for template in dict.fromkeys(templates)]
    if len(sentences) > FEWEST_BEFORE_DIGRESSION and rng.random() < DIGRESSION_SHARE:
        sentences[-1] = _digression(index, writer, rng)
    return " ".join(sentences), index


def _rest(own: SimpleNamespace, length: int, rng: random.Random) -> list[str]:
    """Templates of `length` sentences, no two alike: the topic's own, and some that say nothing of it."""
    neutral = sum(rng.random() < NEUTRAL_SHARE for _ in range(length))
    templates = rng.sample(own.bodies + shared().follow_ups, length - neutral)
    templates += rng.sample(shared().neutral, neutral)
    rng.shuffle(templates)
    return templates


def _meeting(index: int, writer: Writer, rng: random.Random) -> str:
    """The template of an opening in which an actor of this topic acts and one of another is at the end."""
    actor, other = draw_actors((index, _another_topic(index, rng)), False, rng)
    writer.chosen.update({"A": actor, "actor": actor, "B": other})
    return rng.choice(pair_templates().meetings)


def _digression(index: int, writer: Writer, rng: random.Random) -> str:
    """A last sentence about another topic."""
    other = topic(_another_topic(index, rng))
    days = {slot: day for slot, day in writer.chosen.items() if slot.startswith("day")}
    plain = [template for template in other.bodies if not template.startswith('"')]
    return Writer(other.words, rng, days).sentence(f"{rng.choice(shared().digests)} {rng.choice(plain)}")


def _another_topic(index: int, rng: random.Random) -> int:
    return rng.choice([other for other in range(len(TOPICS)) if other != index])


def generate(seed: int) -> tuple[list[list[Report]], list[Pair], list[Pair]]:
    """Write all reports, by topic, the pairs, and the held-out pairs, whose actors meet in no other text.

    No text occurs twice.
    """
    rng, seen = random.Random(seed), set[str]()

    def new(write: Callable[..., Any], *about: Any) -> Any:
        """Write until a text, or both of a pair, are new."""
        while True:
            written = write(*about, rng)
            texts = {written[0]} if write is write_report else {text for text, _ in written}
            is_new = not texts & seen
            seen.update(texts)
            if is_new:
                return written

    topics = range(len(TOPICS))
    two_topics = list(combinations(topics, 2))
    return (
        [[new(write_report, index) for _ in range(REPORTS_A_TOPIC)] for index in topics],
        [new(write_pair, two, False) for two in two_topics for _ in range(PAIRS_A_COMBINATION)],
        [new(write_pair, two, True) for two in two_topics for _ in range(HELD_OUT_A_COMBINATION)],
    )
