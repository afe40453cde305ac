"""`load_news`: the course's own news or, where a hub can be reached, those of the BBC."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import chain
from typing import TypeVar

from attention_lab.corpus.bbc import NAME, DatasetUnavailableError, load_bbc
from attention_lab.corpus.generate import Pair, Report, Split, generate, split_of
from attention_lab.corpus.grammar import TOPICS

CLASS_NAMES = TOPICS
SOURCES = ("generated", "bbc")
Item = TypeVar("Item")

TRAIN_SHARE = 0.7
# More of the pairs are for training: they are few, and `News.pairs` tests them.
TRAIN_SHARE_OF_PAIRS = 0.8


@dataclass(frozen=True)
class News:
    """A corpus, divided before anything is learned from it; no text is in two splits.

    In `pairs` the texts 2i and 2i + 1 have the same words in another order and different labels. Pairs of
    the same kind, about other actors, are among the generated training, validation and test texts; both
    texts of a pair are always in the same split.
    """

    train: Split
    validation: Split
    test: Split
    pairs: Split
    source: str  # "generated", "bbc" or "reuters": what was loaded, not what was asked for


def load_news(source: str = "generated", seed: int = 0) -> News:
    """News of the five topics in `CLASS_NAMES`; prints one line that says which, and why.

    source: "generated", the texts that the course writes itself (no network, same seed, same texts), or
    "bbc", the BBC news set from the Hugging Face hub. Where `datasets` is not installed or no hub answers,
    "bbc" gives the generated news as well. The pairs are generated ones in either case.
    """
    if source not in SOURCES:
        raise ValueError(f'load_news knows the sources "generated" and "bbc", not {source!r}.')
    all_reports, all_pairs, held_out = generate(seed)
    rng = random.Random(seed)
    pairs = split_of(chain.from_iterable(_mixed(held_out, rng)))
    if source == "bbc":
        try:
            news = News(*load_bbc(rng), pairs, "bbc")
            return _announced(news, f"the BBC set {NAME}; its order-sensitive pairs are generated")
        except DatasetUnavailableError as reason:
            why = f"the generated corpus (seed {seed}), because {reason}"
    else:
        why = f"the generated corpus (seed {seed}), which needs no network"
    train, validation, test = _divided(all_reports, all_pairs, rng)
    return _announced(News(train, validation, test, pairs, "generated"), why)


def _divided(all_reports: list[list[Report]], all_pairs: list[Pair], rng: random.Random) -> list[Split]:
    """Training, validation and test: the same share of every topic, pairs in one piece."""
    topics = [divide(reports, TRAIN_SHARE, rng) for reports in all_reports]
    pairs = divide(_mixed(all_pairs, rng), TRAIN_SHARE_OF_PAIRS, rng)
    splits = []
    for *of_topics, of_pairs in zip(*topics, pairs, strict=True):
        reports = [report for reports in of_topics for report in reports] + list(chain(*of_pairs))
        splits.append(split_of(rng.sample(reports, len(reports))))
    return splits


def divide(items: Sequence[Item], train_share: float, rng: random.Random) -> tuple[list[Item], ...]:
    """Training, validation and test items, shuffled; the last two get half of the rest each."""
    shuffled = rng.sample(items, len(items))
    first, second = round(train_share * len(items)), round((1 + train_share) / 2 * len(items))
    return shuffled[:first], shuffled[first:second], shuffled[second:]


def _mixed(pairs: list[Pair], rng: random.Random) -> list[Pair]:
    """In any order, and either text of a pair first."""
    turned = [pair if rng.random() < 0.5 else (pair[1], pair[0]) for pair in pairs]
    rng.shuffle(turned)
    return turned


def _announced(news: News, what: str) -> News:
    counts = f"{len(news.train)} training, {len(news.validation)} validation and {len(news.test)} test texts"
    print(f"News: {what}. {counts}, {len(news.pairs)} texts in pairs.")
    return news
