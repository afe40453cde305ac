"""Reports on one topic: an opening that is about it, then anything from nothing to five sentences.

The shares below set how hard the news are. With them a classifier that only counts words is right nine
times in ten or more, and not always: in some openings one word tells the topic, some reports end on
another topic, and the pairs of `pairs.py` are in between as well.
"""

from __future__ import annotations

import random

from attention_lab.corpus.grammar import Writer
from attention_lab.corpus.pairs import Report, draw_actors
from attention_lab.corpus.tables import TOPICS, Topic, pair_templates, shared, topic

LENGTHS = (0, 0, 1, 1, 2, 2, 3, 3, 4, 5)  # how many sentences follow the opening, drawn evenly
SHARED_OPENING_SHARE = 0.25
MEETING_SHARE = 0.2
NEUTRAL_SHARE = 0.25
DIGRESSION_SHARE = 0.2
FEWEST_BEFORE_DIGRESSION = 3


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


def _rest(own: Topic, length: int, rng: random.Random) -> list[str]:
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
