"""A decimal or a percentage in a lesson's sentence is one that a cell prints or a stored table holds."""

import json
import re
import tomllib
from pathlib import Path

import nbformat
import pytest
from lesson_cells import LESSONS, SCHEME, every_lesson, is_prediction, marks_of, release_of

from nbjudge.course import read_notebook

pytestmark = pytest.mark.lesson
# Where a number is worked out beside it, quoted or only named: formulas, code, tables, folded text, links.
NOT_SENTENCES = [
    re.compile(pattern, re.DOTALL | re.MULTILINE)
    for pattern in (
        r"```.*?```",
        r"\$\$.*?\$\$",
        r"\$[^$]*\$",
        r"`[^`]*`",
        r"<details>.*?</details>",
        r"^\|.*?\|$",
        r"\]\([^)]*\)",
        r"(?:[Ee]xercises?|[Ll]essons?|[Ss]ections?|torch|version|and|or|to) \d+\.\d+(?:\.\d+)?\b(?! %)",
        r"^#+ .*?$",
    )
]
NUMBER = re.compile(r"(?<![\w.,])(\d+(?:,\d{3})*(?:\.\d+)?) %|(?<![\w.,])(\d+(?:,\d{3})*\.\d+)(?![\w.]|,\d)")
PRINTED = re.compile(r"\d+(?:,\d{3})*(?:\.\d+)?(?:e[+-]?\d+)?")
# By lesson and cell: {number: why no cell prints it}.
EXCEPTIONS = tomllib.loads((Path(__file__).parent / "lesson_numbers.toml").read_text())


def sentences(text):
    for pattern in NOT_SENTENCES:
        text = pattern.sub(" ", text)
    return text


def printed_numbers(lesson):
    """All numbers in the outputs of the executed lesson and in its stored tables."""
    texts = []
    for cell in nbformat.read(lesson.solution_path, as_version=4).cells:
        if is_prediction(cell):
            continue  # its choices are guesses
        for output in cell.get("outputs", []):
            data = output.get("data", {})
            texts += [
                output.get("text", ""),
                *(str(data.get(kind, "")) for kind in ("text/plain", "text/html")),
            ]
    stored = Path(__file__).parents[1] / "attention_lab" / f"lesson_{lesson.folder[:2]}" / "measured.json"
    if stored.exists():
        texts.append(json.dumps(json.loads(stored.read_text())))
    return [float(found.replace(",", "")) for text in texts for found in PRINTED.findall(text)]


def is_printed(number, percent, printed):
    digits = len(number.partition(".")[2])
    wanted, half = float(number.replace(",", "")), 0.5001 * 10.0**-digits
    scales = (1, 100) if percent else (1,)
    return any(abs(value * scale - wanted) <= half for value in printed for scale in scales)


@every_lesson
def test_numbers_in_sentences_come_from_cells(lesson):
    """What a sentence says is what the cell above it printed: a figure that no program gives is not there."""
    printed = printed_numbers(lesson)
    unknown = []
    for cell in read_notebook(lesson.source_path).cells:
        if cell.cell_type != "markdown" or marks_of(cell):
            continue
        excepted = EXCEPTIONS.get(lesson.name, {}).get(cell.id, {})
        for percentage, decimal in NUMBER.findall(sentences(SCHEME.sub("", cell.source))):
            number = percentage or decimal
            if number not in excepted and not is_printed(number, bool(percentage), printed):
                unknown.append(f"{cell.id}: {number}{' %' if percentage else ''}")
    assert not unknown, (
        f"No cell of {lesson.folder} prints {', '.join(unknown)}: print it, take it out, or put it into "
        "tests/lesson_numbers.toml with the reason."
    )


def test_every_exception_is_still_needed():
    for lesson in LESSONS:
        cells = {cell.id: sentences(cell.source) for cell in release_of(lesson).cells}
        for name, numbers in EXCEPTIONS.get(lesson.name, {}).items():
            for number, reason in numbers.items():
                assert number in cells.get(name, "") and len(reason) > 10, f"{lesson.name}, {name}: {number}"
