"""`nbjudge similar` on classes that write the course's answers, each student in a way of their own."""

import json
import lzma
from collections import defaultdict
from pathlib import Path

import pytest
from made_authors import made_class, with_copies

from nbjudge.similar.rarity import Class

ANSWERS = Path(__file__).parents[1] / "benchmarks" / "judges" / "answers.jsonl.xz"
LESSONS = ("01_dot_product", "02_scaling", "11_flash", "13_real_model")
SEEDS = [0, *(pytest.param(seed, marks=pytest.mark.long) for seed in range(1, 5))]


@pytest.fixture(scope="module")
def answers():
    """Right and wrong answers by lesson and exercise."""
    right, wrong = (defaultdict(lambda: defaultdict(list)) for _ in range(2))
    with lzma.open(ANSWERS, "rt") as lines:
        for row in map(json.loads, lines):
            if row["kind"] in ("reference", "accepted"):
                right[row["lesson"]][row["exercise"]].append(row["code"])
            elif row["kind"] == "mistake":
                wrong[row["lesson"]][row["exercise"]].append((row["id"], row["code"]))
    return right, wrong


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("lesson", LESSONS)
def test_copies_are_listed_and_right_works_are_not(answers, lesson, seed):
    """Of ten disguised copies among 100 works nine are in the first ten pairs; of 1,035 right pairs none."""
    right, wrong = (each[lesson] for each in answers)
    given = [answer for ways in right.values() for answer in ways]
    works = with_copies(made_class(right, 100, seed, wrong), 10, seed)
    first = [(pair.first.name, pair.second.name) for pair in Class(works, given).compare().pairs[:10]]
    assert sum(len({name.partition("'")[0] for name in pair}) == 1 for pair in first) >= 9
    assert Class(made_class(right, 46, seed + 1_000), given).compare().pairs == ()
