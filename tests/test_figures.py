"""Figures in documents are those of the stored results of the benchmarks."""

import json
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]


def results(name):
    return json.loads((ROOT / "benchmarks/results" / f"{name}.json").read_text())


def text_of(document):
    """The document with all its spaces and line breaks as single spaces."""
    return " ".join((ROOT / document).read_text().split())


@pytest.mark.parametrize("document", ["README.md", "benchmarks/README.md"])
def test_the_class_is_that_of_the_last_run(document):
    """The seconds of each grader, and how many times stock's time ours is."""
    graders = {name: each["seconds"] for name, each in results("class")["graders"].items()}
    ours, stock, limit = round(graders["ours"]), graders["stock"], round(graders["limit"])
    text = text_of(document)
    if document == "README.md":
        assert f"took {ours} s, start included, and stock nbgrader {stock / 60:.0f} minutes" in text
        assert f"{stock / graders['ours']:.0f} times as long" in text
    else:
        assert f"| {stock:.0f} s |" in text and f"| {limit} s |" in text
        assert f"| {ours} s, {stock / graders['ours']:.1f} times" in text


def times_stock(graders, name="ours"):
    """The time that stock takes for a class, in times of another grader's."""
    return f"{graders['stock']['seconds'] / graders[name]['seconds']:.1f}"


def test_other_lessons_and_courses_are_of_the_last_run():
    """The row of all lessons, and both ways to grade another course."""
    text = text_of("benchmarks/README.md")
    lessons = results("lessons")["lessons"].values()
    assert f"| {' | '.join(times_stock(each) for each in lessons)} |" in text
    graders = results("other_course")["graders"]
    for name in ("ours", "plugged in"):
        assert re.search(rf"\b{times_stock(graders, name)} times", text), name


@pytest.mark.parametrize("document", ["README.md", "benchmarks/judges/README.md"])
def test_the_judges_are_those_of_the_last_run(document):
    """How many answers there are, and how many nbjudge judges rightly."""
    text, row = text_of(document), results("judges")["judges"]["nbjudge"]
    counts = {
        heading: (each["rightly"], each["judged"])
        for heading, each in row.items()
        if "accepted" in heading or "caught" in heading
    }
    assert all(rightly == judged for rightly, judged in counts.values()), counts
    for heading in ("right accepted", "mistakes caught", "mutations caught"):
        assert re.search(rf"\b{counts[heading][0]}\b", text), heading
    total = sum(counts[heading][1] for heading in ("right accepted", "mistakes caught", "mutations caught"))
    assert re.search(rf"\b{total} answers to (all )?49 exercises", text)
