"""Predictions to click: where they are, that their key is right, and that their numbers are computed."""

import re

import pytest
import torch
import torch.nn.functional as F
from lesson_cells import LESSONS, every_lesson, is_prediction, marks_of
from lesson_lengths import core_path
from test_lesson_numbers import is_printed, printed_numbers

from nbjudge.course import read_notebook

pytestmark = pytest.mark.lesson
NUMBER = re.compile(r"(?<![\w.])\d+(?:\.\d+)?(?![\w]|\.\d)")
FIRST_CHECKED = 10  # smaller whole numbers count things that the question shows
# What the code behind a question prints, from which its right answer follows.
EVIDENCE = {
    "predict-bank": ("a", r"bank alone is near: market.*shore"),
    "predict-sums": (
        "a",
        r"rows: *tensor\(\[1.0000, 1.0000, 1.0000, 1.0000\]\) \nsums of the columns: tensor\(\[1.14",
    ),
    "predict-race": ("a", r"raw: found +12% +28%(?s:.*)1/sqrt\(d_k\): found +3% +30%"),
    "predict-walk": ("b", r"d_k   8: typical distance   3\.3(?s:.*)d_k  32: typical distance   6\.2"),
    "predict-hide": ("c", r"0.0000\]\)  sum 0.33(?s:.*)0.0900\]\)  sum 1.0000\n3 .*0.0000\]\)  sum 1.0000"),
    "predict-noise": ("a", r"one ahead    loss 0.42(?s:.*)upside down  loss 0.71(?s:.*)ln 8 +2.08"),
    "predict-leak": ("b", r"causal(?s:.*)  learning replaced +0 +0    0.2989    0.1965"),
    "predict-is-causal": ("a", r"is_causal: +tensor\(\[\[(.*)\]\]\)\nfirst token: +tensor\(\[\[\1\]\]\)"),
    "predict-sea": ("b", r"sea: .* weights tensor\(\[0.5000, 0.5000\]\), output tensor\(\[6\.\]\)"),
    "predict-learned": ("a", r"right before training 26%, after 100%"),
    "predict-mix": ("c", r"the mix is 3: Ann paid Bob, Dot paid Eve"),
    "predict-second": (
        "a",
        r"wide head: .*errors 0.50(?s:.*)two heads: .*errors 0.00(?s:.*)twice: .*errors 0.50",
    ),
    "predict-causal-flag": ("c", r"with gradients: Need attn_mask(?s:.*)first query sees: 4"),
    "predict-view": ("b", r"tempting: \[\[10.0, 100.0\], \[40.0, 400.0\], \[20.0, 200.0\]\]"),
    "predict-round-trip": ("ac", r"round trip +✓ +✓ +✗ +✓ *\nleak +✓ +✓ +✗ +✓"),
    "predict-shuffle": (
        "a",
        r"how: 2.0630 2.1630(?s:.*)you: 2.0020(?s:.*)you: 2.0020(?s:.*)how: 2.0630 2.1630",
    ),
    "predict-pasted": ("b", r"attention only  loss at the end: 1.67(?s:.*)pasted +loss at the end: 1.68"),
    "predict-readers": (
        "a",
        r"without positions\n(.*for help\.)(.*)\n.*help\.\2\nwith positions\n.*0.998(?s:.*)0.999",
    ),
    "predict-pairs": ("b", r"without positions, pairs +: 0.488"),
    "predict-past": ("b", r"output, causal mask: +True\n output, without a mask: False"),
    "predict-read": (
        "c",
        r"without a cache: the layer read 14,950 tokens\n +with a cache: the layer read +199",
    ),
    "predict-turn": ("c", r"query at   4, key at   1: score (\S+)\nquery at  24, key at  21: score \1\n"),
    "predict-longer": (
        "a",
        r"table added, all.* 17%\n.*of 32:.* 44%\n.*all visible:.* 12%\n.*of 32:.* 100%\n",
    ),
    "predict-merge": ("c", r"all keys at once: +39.17"),
    "predict-double": ("b", r"plain: .*33.55  134.22 MB\n +in blocks: .*1.21    2.26 MB"),
}


def predictions_of(lesson):
    """Each question of a lesson, with the text above it and the code cell that answers it."""
    cells = read_notebook(lesson.source_path).cells
    for place, cell in enumerate(cells):
        if is_prediction(cell):
            behind = next((each.id for each in cells[place + 1 :] if each.cell_type == "code"), None)
            yield lesson.questions[cell.id], cells[place - 1].source, behind


def printed_by(lesson, cell_id):
    cell = next(each for each in read_notebook(lesson.solution_path).cells if each.id == cell_id)
    return "".join(o.get("text", "") + str(o.get("data", {}).get("text/plain", "")) for o in cell.outputs)


@every_lesson
def test_a_prediction_is_asked_and_worth_nothing(lesson):
    cells = [cell for cell in read_notebook(lesson.source_path).cells if is_prediction(cell)]
    assert [cell.id for cell in cells] == list(lesson.questions)
    assert all(marks_of(cell)["points"] == 0 for cell in cells), "points are the instructor's choice"
    for question, above, _ in predictions_of(lesson):
        assert "**Before you " in above.split("\n\n")[-1], f"the text above {question.name} does not ask it"
        assert question.several or len(question.right) == 1
    in_core = sum(map(is_prediction, core_path(read_notebook(lesson.source_path)).cells))
    wanted = (2, 3) if int(lesson.folder[:2]) <= 11 else (0, 3)
    assert wanted[0] <= in_core <= wanted[1]


@every_lesson
def test_the_key_is_what_the_code_prints(lesson):
    for question, _, behind in predictions_of(lesson):
        if question.name == "predict-offset":
            continue  # no cell: computed below
        right, pattern = EVIDENCE[question.name]
        assert question.right == right
        assert re.search(pattern, printed_by(lesson, behind)), (
            f"{behind} does not print what {question.name} says"
        )


def test_every_piece_of_evidence_is_used():
    names = {name for lesson in LESSONS for name in lesson.questions}
    assert names == {*EVIDENCE, "predict-offset"}


@every_lesson
def test_numbers_in_replies_come_from_cells(lesson):
    """A reply's number is one that a cell prints, or the question itself has it."""
    printed, unknown = printed_numbers(lesson), []
    for question, above, _ in predictions_of(lesson):
        asked = NUMBER.findall(f"{above} {' '.join(question.choices.values())}")
        for number in NUMBER.findall(" ".join(question.replies.values()).replace(",", "")):
            is_small = "." not in number and int(number) < FIRST_CHECKED
            if not is_small and number not in asked and not is_printed(number, True, printed):
                unknown.append(f"{question.name}: {number}")
    assert not unknown, f"no cell prints {', '.join(unknown)}"


def test_torch_aligns_its_causal_mask_at_the_top_left():
    """Lesson 9's mask A is what `is_causal=True` makes of two queries and five keys."""
    lesson = next(lesson for lesson in LESSONS if lesson.folder.startswith("09"))
    question = lesson.questions["predict-offset"]
    torch.manual_seed(0)
    query, key, value = torch.randn(1, 2, 4), torch.randn(1, 5, 4), torch.randn(1, 5, 4)
    made = F.scaled_dot_product_attention(query, key, value, is_causal=True)
    masks = {"A": torch.ones(2, 5).tril().bool(), "B": torch.ones(2, 5).tril(3).bool()}
    table = next(above for asked, above, _ in predictions_of(lesson) if asked is question)
    for name, mask in masks.items():
        rows = ["| " + " | ".join(map(str, row)) for row in mask.int().tolist()]
        assert all(row in table for row in rows)
        same = torch.allclose(made, F.scaled_dot_product_attention(query, key, value, attn_mask=mask))
        assert same == (name == "A")
    assert question.choices[question.right] == "B is right, torch makes A"
