"""An adapter counts what an answer holds and multiplies, in a kernel that has nothing of the judge's."""

import numpy as np
import pytest
import torch

from attention_lab.authoring import Exercise, ask
from nbjudge.ask.answers import read_reply
from nbjudge.ask.program import respond
from nbjudge.judge.judge import judge
from nbjudge.torch.memory import memory_of, multiplications_of
from nbjudge.values import packing

LENGTH, WIDTH = 200, 4
MATRIX = 4 * LENGTH**2  # bytes
table = Exercise("table", results=("sums",))
kept = []


@table.group("the numbers", points=1)
def the_numbers(draw):
    yield ask(draw.normal(LENGTH, WIDTH), draw.normal(LENGTH, WIDTH))


def report(cases, values):
    kept[:] = values
    return None if values[0]["largest"] < MATRIX else "too large"


@table.group("memory", points=1, verify=report, needs_values=True)
def memory(draw):
    yield ask(draw.normal(LENGTH, WIDTH), draw.normal(LENGTH, WIDTH), through=memory_of)


def at_once(rows, columns):
    return (rows @ columns.mT).sum(dim=-1)


def row_by_row(rows, columns):
    return torch.stack([(columns @ row).sum() for row in rows])


def all_rows_kept(rows, columns):
    products = [columns @ row for row in rows]
    return torch.stack([product.sum() for product in products])


def in_numpy(rows, columns):
    return torch.from_numpy((rows.numpy() @ columns.numpy().T).sum(axis=-1))


def asked(answer):
    """The points, and what was counted, by way of text as to a kernel."""

    def asking(name, calls, watch):
        request = packing.pack({"target": name, "calls": calls, "watch": watch})
        return read_reply(packing.unpack(respond.respond(request, {name: answer})), len(calls))

    verdict = judge(table, row_by_row, asking, seed=5)
    return verdict, dict(kept[0])


@pytest.mark.parametrize(
    ("answer", "largest", "most", "elsewhere"),
    [(at_once, 1, 1, 0), (row_by_row, 0, 0, 0), (all_rows_kept, 0, 1, 0), (in_numpy, 0, 0, 1)],
)
def test_matrices_made_at_once_or_bit_by_bit_or_beside_torch(answer, largest, most, elsewhere):
    verdict, told = asked(answer)
    counted_matrices = [told[name] // (0.95 * MATRIX) for name in ("largest", "most", "elsewhere")]
    assert counted_matrices == [largest, most, elsewhere]
    assert verdict.points == (1 if largest else 2)


@pytest.mark.parametrize(("answer", "products"), [(at_once, LENGTH**2 * WIDTH), (in_numpy, 0)])
def test_products_of_matrices_are_counted_exactly(answer, products):
    rows = torch.randn(LENGTH, WIDTH)
    assert multiplications_of(answer)(rows, rows) == products


def test_a_small_answer_that_is_wrong_earns_nothing():
    verdict, _ = asked(lambda rows, columns: rows.sum(dim=-1))
    assert verdict.points == 0


def test_nothing_is_said_on_the_way(capfd):
    asked(at_once)
    assert capfd.readouterr() == ("", "")
    assert np.isfinite(kept[0]["most"])
