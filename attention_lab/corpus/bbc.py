"""The BBC news set of the Hugging Face hub, loaded with `datasets` where that is installed.

Source: D. Greene and P. Cunningham, "Practical Solutions to the Problem of Diagonal Dominance in Kernel
Document Clustering", ICML 2006; 2,225 articles of 2004 and 2005, whose rights the BBC holds.
"""

from __future__ import annotations

import importlib
import os
import random
import urllib.error
import urllib.request
from typing import Any

from attention_lab.corpus.generate import Report, Split, split_of
from attention_lab.corpus.grammar import TOPICS

NAME = "SetFit/bbc-news"
COLUMNS = ("text", "label_text")
TOPIC_OF = {"sport": "sports"}  # the set's other names are the course's own
SECONDS_TO_ANSWER = 5.0
VALIDATION_SHARE = 0.15


class DatasetUnavailableError(Exception):
    """The set can not be had; the message is the end of a sentence that begins with "because"."""


def load_bbc(rng: random.Random) -> tuple[Split, Split, Split]:
    """Training, validation (cut from the set's training texts by `rng`) and the set's own test texts.

    Raises DatasetUnavailableError without the package `datasets`, without a hub, and for another format.
    """
    try:
        datasets = importlib.import_module("datasets")
    except ImportError as error:
        raise DatasetUnavailableError(
            "the package datasets is not installed (pip install datasets)"
        ) from error
    _ask_hub()
    try:
        loaded = datasets.load_dataset(NAME)
    except Exception as error:  # whatever goes wrong on the way, the lesson goes on with its own news
        raise DatasetUnavailableError(f"datasets could not load {NAME} ({_first_line(error)})") from error
    test = _reports(loaded, "test")
    known = {text for text, _ in test}
    # Some articles are in the set twice, and a test text must not be trained on.
    rest = [report for report in dict.fromkeys(_reports(loaded, "train")) if report[0] not in known]
    rng.shuffle(rest)
    validation = round(VALIDATION_SHARE * len(rest))
    return split_of(rest[validation:]), split_of(rest[:validation]), split_of(test)


def _ask_hub() -> None:
    """Return at once when a hub answers; `datasets` itself would try for minutes when none does."""
    hub = os.environ.get("HF_ENDPOINT", "https://huggingface.co")
    try:
        urllib.request.urlopen(f"{hub}/api/datasets/{NAME}", timeout=SECONDS_TO_ANSWER).close()
    except (OSError, ValueError) as error:  # no network, an error page, an address that is none
        raise DatasetUnavailableError(
            f"no hub with {NAME} answers at {hub} ({_first_line(error)})"
        ) from error


def _reports(loaded: Any, split: str) -> list[Report]:
    try:
        columns = [list(loaded[split][column]) for column in COLUMNS]
    except KeyError as error:
        raise DatasetUnavailableError(
            f"{NAME} has changed: its split {split!r} with the columns text and label_text is not there"
        ) from error
    names = [TOPIC_OF.get(name, name) for name in columns[1]]
    if unknown := sorted(set(names) - set(TOPICS)):
        raise DatasetUnavailableError(
            f"{NAME} has changed: its topic {unknown[0]!r} is not one of {', '.join(TOPICS)}"
        )
    return [(text, TOPICS.index(name)) for text, name in zip(columns[0], names, strict=True)]


def _first_line(error: Exception) -> str:
    return next(iter(str(error).splitlines()), "") or type(error).__name__
