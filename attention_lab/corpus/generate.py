"""The course's own news: the same texts for the same seed, on every machine.

The rule of the labels: **a report belongs to the topic that its opening sentence is about, and that is the
topic of the one who acts in it.** Later sentences may digress to another topic; they do not change the label.
"""

from __future__ import annotations

import random
from dataclasses import dataclass
from itertools import combinations

from attention_lab.corpus.pairs import Pair, Report, write_pair
from attention_lab.corpus.reports import write_report
from attention_lab.corpus.tables import TOPICS

REPORTS_A_TOPIC = 320
PAIRS_A_COMBINATION = 10  # for each two of the five topics
HELD_OUT_A_COMBINATION = 8


@dataclass(frozen=True)
class GeneratedCorpus:
    """Everything that one seed gives; no text occurs twice."""

    reports: list[list[Report]]  # a list for each topic
    pairs: list[Pair]  # to be divided with the reports
    held_out: list[Pair]  # for testing only: their actors meet in no other text


def generate(seed: int) -> GeneratedCorpus:
    """Write all reports and pairs."""
    newsroom = _Newsroom(seed)
    topics = range(len(TOPICS))
    two_topics = list(combinations(topics, 2))
    return GeneratedCorpus(
        reports=[[newsroom.report(topic) for _ in range(REPORTS_A_TOPIC)] for topic in topics],
        pairs=[newsroom.pair(two, False) for two in two_topics for _ in range(PAIRS_A_COMBINATION)],
        held_out=[newsroom.pair(two, True) for two in two_topics for _ in range(HELD_OUT_A_COMBINATION)],
    )


class _Newsroom:
    """Writes until a text is a new one."""

    def __init__(self, seed: int) -> None:
        self._rng = random.Random(seed)
        self._seen: set[str] = set()

    def report(self, topic: int) -> Report:
        while True:
            report = write_report(topic, self._rng)
            if self._is_new(report):
                return report

    def pair(self, topics: tuple[int, int], held_out: bool) -> Pair:
        while True:
            pair = write_pair(topics, held_out, self._rng)
            if self._is_new(*pair):
                return pair

    def _is_new(self, *reports: Report) -> bool:
        texts = {text for text, _ in reports}
        is_new = not texts & self._seen
        self._seen |= texts
        return is_new
