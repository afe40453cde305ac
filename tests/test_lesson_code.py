"""What lessons import beside pictures: given code, word vectors, examples, counts, drawings, tables."""

import importlib.resources
import json
import math
import re
import subprocess
import sys
from types import SimpleNamespace
from xml.etree import ElementTree

import ipywidgets as widgets
import nbformat
import pytest
import torch
import torch.nn as nn
from lesson_cells import LESSONS

from attention_lab.drawings import DRAWINGS, drawing
from attention_lab.examples import ExampleFailedError, at_most, refuses, same
from attention_lab.lesson_07 import given
from attention_lab.maintain.site.pages import WIDGET, _SolvedOutputs
from attention_lab.measurements import stored_table
from attention_lab.memory import multiplications, peak_bytes
from attention_lab.words import context_vectors, meaning_vectors, nearest_words
from nbjudge.torch import multiplications_of
from nbjudge.tutor.learner import live_box
from nbjudge.tutor.learner.live_box import AGAIN, LiveBox


@pytest.mark.parametrize(
    ("positions", "attends_to", "letters_left"),
    [("Positions", "itself", 11), (None, "all", 5), ("Pasted", "all", 5), ("Positions", "all", 1)],
)
def test_each_model_ends_at_the_loss_of_what_it_knows(positions, attends_to, letters_left):
    mask = torch.eye(6) if attends_to == "itself" else torch.ones(6, 6)
    layer = getattr(given, positions)() if positions else nn.Identity()
    _, losses = given.train(layer, mask.bool(), seed=0)
    assert abs(given.last_loss(losses) - math.log(letters_left)) < 0.15


def test_the_given_positions_are_those_of_the_lesson():
    angles = torch.arange(50)[:, None] / 10000 ** (torch.arange(0, 12, 2) / 12)
    expected = torch.stack([angles.sin(), angles.cos()], dim=-1).flatten(1)
    torch.testing.assert_close(given.clock_hands(50, 12), expected, rtol=0, atol=1e-4)


# ---- word vectors ----


@pytest.mark.parametrize(
    ("sentence", "word", "becomes", "not_any_more"),
    [
        ("the fisherman pulled the boat on the bank", "bank", {"sailor", "wave"}, {"market", "counter"}),
        ("the clerk counted the money in the bank", "bank", {"banker", "money"}, {"shore", "water"}),
        ("the cat chased the mouse in the barn", "mouse", {"farmer", "cheese"}, {"program"}),
        ("the student clicked the mouse on the keyboard", "mouse", {"programmer", "laptop"}, {"farmer"}),
        ("the actor was the star in the film", "star", {"actor", "singer"}, {"planet"}),
    ],
)
def test_attention_gives_a_word_its_sentences_meaning(sentence, word, becomes, not_any_more):
    words = sentence.split()
    meaning, context = meaning_vectors(words), context_vectors(words)
    output = torch.softmax(meaning @ context.T, dim=-1) @ meaning
    place = words.index(word)
    before, after = (nearest_words(each[place], 12) for each in (meaning, output))
    assert becomes <= set(after) and not not_any_more & set(after)
    assert not_any_more & set(before)


def test_a_word_that_it_does_not_know_is_said():
    with pytest.raises(ValueError, match=r"no vectors for zebra\. There are for: .*bank"):
        meaning_vectors(["bank", "zebra"])


# ---- the sentences of the examples under an answer, where one does not come out ----


COUNTED = torch.arange(24.0).view(2, 3, 4)
CAUSAL = torch.ones(5, 5).tril().bool()


@pytest.mark.parametrize(
    ("actual", "expected", "sentence"),
    [
        (torch.tensor([2.0, 5.0]), torch.tensor([2.0, 4.0]), "this: expected [2.0, 4.0], got [2.0, 5.0]."),
        (
            COUNTED.where((COUNTED < 14) | (COUNTED > 15), 0.5),
            COUNTED,
            "at [1, 0, 2] expected 14, got 0.5 (2 of 24 numbers differ)",
        ),
        (
            torch.ones_like(CAUSAL),
            CAUSAL,
            "at [0, 1] expected False, got True (10 of 25 values differ)",
        ),
        (
            torch.tensor([2.0004, 6.0]),
            torch.tensor([2.0, 6.0]),
            "at [0] expected 2, got 2.0004 (1 of 2 numbers differ)",
        ),
        (torch.tensor(1000.21), torch.tensor(1000.0), "at [] expected 1000, got 1000.2"),
    ],
)
def test_the_first_number_that_differs_is_shown(actual, expected, sentence):
    """Small tensors are shown whole; flags are flags; numbers get as many digits as it takes."""
    with pytest.raises(ExampleFailedError, match=re.escape(sentence)):
        same("this", actual, expected)


def test_an_amount_is_held_against_its_limit(capsys):
    at_most("held at once", 1_200, 2_000, "bytes")
    assert capsys.readouterr().out == "✓ held at once: 1,200 bytes\n"
    with pytest.raises(
        ExampleFailedError, match=r"held at once: 2,000 bytes at most; yours takes 1,000,000\."
    ):
        at_most("held at once", 1_000_000, 2_000, "bytes")


def broken(sentence):
    def answer(*_args):
        raise ValueError(sentence)

    return answer


@pytest.mark.parametrize("sentence", ["5 is odd", "10 / 2 is odd"])
def test_a_refusal_may_name_one_or_the_other(sentence, capsys):
    refuses("odd", broken(sentence), naming=(5,), or_naming=(10, 2))
    assert sentence in capsys.readouterr().out


@pytest.mark.parametrize(
    ("answer", "message"),
    [
        (broken("10 is odd"), "odd: name 5, or 10 and 2 in the sentence; yours says “10 is odd”."),
        (int, "odd: raise a ValueError whose sentence names 5, or 10 and 2."),
        ([].pop, "names 5, or 10 and 2, not IndexError: pop from empty list"),
    ],
)
def test_a_refusal_says_which_numbers_are_wanted(answer, message):
    with pytest.raises(AssertionError, match=re.escape(message)):
        refuses("odd", answer, naming=(5,), or_naming=(10, 2))


# ---- what a function holds at once and how much it multiplies ----


def one_after_the_other(x):
    total = torch.zeros(())
    for _ in range(4):
        total = total + (x + 1).sum()
    return total


def all_kept(x):
    return sum(each.sum() for each in [x + 1, x + 2, x + 3, x + 4])


@pytest.mark.parametrize(("function", "tensors"), [(one_after_the_other, 1), (all_kept, 4), (torch.neg, 1)])
def test_it_is_the_most_at_once_and_not_all_together(function, tensors):
    x = torch.ones(1000, 100)  # was there before
    assert tensors * 4e5 <= peak_bytes(function, x) < tensors * 4e5 + 2000


def test_what_the_backward_pass_needs_stays():
    x = torch.ones(1000, 100)
    recorded = peak_bytes(lambda: (x.clone().requires_grad_().exp().exp().exp()).sum())
    with torch.no_grad():
        assert recorded > 1.5 * peak_bytes(lambda: x.clone().exp().exp().exp().sum())


VECTOR, OTHER = torch.ones(30), torch.ones(30)
X, Y = torch.ones(2, 3, 4), torch.ones(2, 4, 5)
# Each product, and how many numbers it multiplies.
PRODUCTS = {
    "matrix and vector": (lambda: torch.ones(40, 30) @ VECTOR, 1200),
    "two vectors": (lambda: torch.dot(VECTOR, OTHER), 30),
    "added to a vector": (lambda: torch.addmv(torch.ones(40), torch.ones(40, 30), VECTOR), 1200),
    "convolution": (lambda: torch.conv1d(torch.ones(1, 2, 9), torch.ones(4, 2, 3)), 168),
    "matmul": (lambda: X @ Y, 120),
    "einsum": (lambda: torch.einsum("bij,bjk->bik", X, Y), 120),
    "one by one": (lambda: torch.stack([one @ other for one, other in zip(X, Y, strict=True)]), 120),
    "added": (lambda: torch.baddbmm(torch.ones(2, 3, 5), X, Y), 120),
    "numbers": (lambda: X * X, 0),
}


@pytest.mark.parametrize(("product", "count"), PRODUCTS.values(), ids=PRODUCTS)
def test_products_are_counted_as_the_judge_counts(product, count):
    assert multiplications(product) == multiplications_of(product)[1] == count


def test_products_of_products_are_counted():
    assert multiplications(lambda x, y: 2 * (x @ y) + x @ y, X, Y) == 2 * 120


@pytest.mark.integration
def test_nothing_is_printed():
    program = "import torch\nfrom attention_lab.memory import *\n"
    program += "peak_bytes(torch.ones, 3)\nmultiplications(torch.ones, 3)"
    run = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert run.stdout + run.stderr == ""


# ---- drawings and stored tables ----


@pytest.mark.parametrize("name", DRAWINGS)
def test_a_drawing_says_what_it_shows(name):
    """It is SVG with a text for those who do not see it, and no colour of words that a dark page hides."""
    svg = ElementTree.fromstring(drawing(name).data)
    assert len(svg.get("aria-label", "").split()) > 20
    width, height = map(float, svg.get("viewBox").split()[2:])
    for text in svg.iter("{http://www.w3.org/2000/svg}text"):
        assert text.get("fill") == "currentColor"
        assert 0 < float(text.get("x")) < width and 0 < float(text.get("y")) < height


def test_an_unknown_drawing_is_refused():
    with pytest.raises(ValueError, match="shapes, weighted_sum"):
        drawing("everything")


@pytest.mark.parametrize("lesson", [lesson.folder[:2] for lesson in LESSONS])
def test_a_stored_table_has_its_program(lesson):
    """Each table in measured.json is one of the lesson's functions, and has rows of one form."""
    package = importlib.import_module(f"attention_lab.lesson_{lesson}")
    file = importlib.resources.files(package) / "measured.json"
    if not file.is_file():
        with pytest.raises(ValueError, match="it has none"):
            stored_table(lesson, "anything")
        return
    tables = importlib.import_module(f"attention_lab.lesson_{lesson}.measured").TABLES
    stored = json.loads(file.read_text())
    assert set(stored) == set(tables)
    for name, rows in stored.items():
        assert len({tuple(row) for row in rows}) == 1
        assert f"lesson_numbers.py {lesson}" in stored_table(lesson, name).attrs["made_by"]


# ---- what a notebook keeps of controls: a text, which the site's pages leave out ----


@pytest.fixture
def displayed(monkeypatch):
    """What is displayed, in the shell that is put in place."""
    shown = []
    monkeypatch.setattr(live_box, "display", lambda data, **_: shown.append(data))
    monkeypatch.setattr(live_box, "update_display", lambda data, **_: shown.append(data))
    monkeypatch.setattr(live_box, "get_ipython", lambda: SimpleNamespace(kernel=None))
    return shown


def test_a_notebook_keeps_the_texts(displayed):
    text = widgets.HTML("<p>Key width 64.</p>")
    LiveBox([widgets.IntSlider(), text], [text])._ipython_display_()
    stored, controls = displayed
    assert "<p>Key width 64.</p>" in stored["text/html"] and AGAIN in stored["text/html"]
    assert WIDGET in controls and WIDGET not in stored


def test_a_notebook_keeps_the_texts_as_the_beginning_leaves_them(displayed):
    text = widgets.HTML("<p>nothing yet</p>")
    LiveBox(
        [text], [text], begin=lambda: setattr(text, "value", f"<p>{len(displayed)} displayed</p>")
    )._ipython_display_()
    assert "<p>2 displayed</p>" in displayed[-1]["text/html"] and len(displayed) == 3


def test_a_terminal_shows_the_controls_alone(displayed, monkeypatch):
    monkeypatch.setattr(live_box, "get_ipython", lambda: None)
    LiveBox([])._ipython_display_()
    assert len(displayed) == 1


def test_a_page_has_its_own_slider_only(displayed, monkeypatch):
    """The stored text asks to run the cell again, which a page cannot do."""
    LiveBox([])._ipython_display_()
    outputs = [nbformat.v4.new_output("display_data", data) for data in displayed]
    solved = object.__new__(_SolvedOutputs)
    solved.solution = {"c": nbformat.v4.new_code_cell(outputs=outputs)}
    monkeypatch.setattr(_SolvedOutputs, "_static_slider", lambda *_: "a slider for pages")
    assert solved.outputs(nbformat.v4.new_code_cell("width_slider()", id="c")) == ["a slider for pages"]
