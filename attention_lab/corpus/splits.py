"""Texts with their labels, and how a corpus is divided."""

from __future__ import annotations

import random
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TypeVar

from attention_lab.corpus.pairs import Report

Item = TypeVar("Item")


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


def divide(items: Sequence[Item], train_share: float, rng: random.Random) -> tuple[list[Item], ...]:
    """Training, validation and test items, shuffled; the last two get half of the rest each."""
    shuffled = rng.sample(items, len(items))
    first, second = round(train_share * len(items)), round((1 + train_share) / 2 * len(items))
    return shuffled[:first], shuffled[first:second], shuffled[second:]
