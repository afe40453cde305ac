"""An adapter counts what an answer holds and multiplies, in a kernel that has nothing of the judge's."""

from concurrent.futures import ThreadPoolExecutor

import pytest
import torch
from judged_answers import judged, judged_as_text, kinds, of_cases
from torch_exercise import Exercise

from nbjudge.authoring import case
from nbjudge.calls import calls_for
from nbjudge.probe import respond
from nbjudge.torch.memory import all_memory_of, memory_beside_torch, multiplications_of, without_gradients

LENGTH, WIDTH = 200, 4
PRODUCTS = LENGTH**2 * WIDTH
MATRIX = 4 * LENGTH**2  # bytes
table = Exercise("table", results=("sums",))
saved = []
tqdm = pytest.importorskip("tqdm")  # has a thread of its own


def case_of(draw, **options):
    return case(draw.normal(LENGTH, WIDTH), draw.normal(LENGTH, WIDTH), **options)


def report(cases, reports):
    saved[:] = reports
    return None if reports[0]["largest"] < MATRIX else "too large"


def few(cases, reports):
    return None if reports[0] <= PRODUCTS else "too many"


table.group("the numbers", points=1)(lambda draw: [case_of(draw)])
table.group("memory", points=1, verify=report)(
    lambda draw: [case_of(draw, measure=measure) for measure in (all_memory_of, memory_beside_torch)]
)
table.group("multiplications", points=1, verify=few)(lambda draw: [case_of(draw, measure=multiplications_of)])


def at_once(rows, columns):
    return (rows @ columns.mT).sum(dim=-1)


def row_by_row(rows, columns):
    return torch.stack([(columns @ row).sum() for row in rows])


def all_rows_kept(rows, columns):
    products = [columns @ row for row in rows]
    return torch.stack([product.sum() for product in products])


def in_numpy(rows, columns):
    return torch.from_numpy((rows.numpy() @ columns.numpy().T).sum(axis=-1))


def grade_answer(answer):
    """The points, and what was counted, by way of text as to a kernel."""

    verdict = judged_as_text(table, row_by_row, answer, seed=5)
    assert not saved or saved[0]["elsewhere"] == saved[1]
    return verdict, dict(saved[0]) if saved else {}


def test_a_second_measurement_gets_the_same_numbers():
    """A call that is measured twice is handed the same numbers again."""

    def answer(numbers):
        saved.append(numbers.tolist())
        return numbers.add_(1)  # changes what it is given, and returns it

    def twice(call):
        return call(), call().tolist()

    drawn_case = case(torch.zeros(2), measure=twice)
    saved.clear()
    (given,) = respond.answer_calls(answer, calls_for([drawn_case], [None]))
    assert saved == [[0, 0], [0, 0]]
    assert given["value"].tolist() == given["measured"] == [1, 1]
    assert given["changed"] == ["/args/0"]


@pytest.mark.parametrize(
    ("answer", "largest", "peak", "elsewhere"),
    [(at_once, 1, 1, 0), (row_by_row, 0, 0, 0), (all_rows_kept, 0, 1, 0), (in_numpy, 0, 0, 1)],
)
def test_matrices_are_counted_in_torch_and_beside_it(answer, largest, peak, elsewhere, capfd):
    """Matrices made at once or bit by bit or beside torch, and nothing is printed on the way."""
    verdict, told = grade_answer(answer)
    assert capfd.readouterr() == ("", "")
    counted_matrices = [told[name] // (0.95 * MATRIX) for name in ("largest", "most", "elsewhere")]
    assert counted_matrices == [largest, peak, elsewhere]
    assert verdict.points == (2 if largest else 3)


def number_by_number(rows, columns):
    return torch.stack([torch.stack([column @ row for column in columns]).sum() for row in rows])


@pytest.mark.parametrize(
    ("answer", "products"),
    [(at_once, PRODUCTS), (row_by_row, PRODUCTS), (number_by_number, PRODUCTS), (in_numpy, 0)],
)
def test_products_are_counted_exactly(answer, products):
    rows = torch.randn(LENGTH, WIDTH)
    value, report = multiplications_of(lambda: answer(rows, rows))
    assert report == products
    assert torch.allclose(value, row_by_row(rows, rows), atol=1e-3)


def switching(with_gradients, without):
    """An answer that does something else without gradients, which measured calls do not have."""
    return lambda *tables: (with_gradients if torch.is_grad_enabled() else without)(*tables)


def sums_of_rows(rows, columns):
    return rows.sum(dim=-1)


def at_once_with_a_profiler(rows, columns):
    with torch.profiler.profile(profile_memory=True):
        return at_once(rows, columns)


# Torch has one profiler at a time, and the one that starts last would count.
profiled = switching(row_by_row, at_once_with_a_profiler)


@pytest.mark.parametrize(
    ("answer", "points", "verified"),
    [
        (at_once, 2, ["too large"]),
        (lambda *tables: (at_once(*tables) + at_once(*tables)) / 2, 1, ["too large", "too many"]),
        (sums_of_rows, 0, []),
        (switching(at_once, lambda *_: None), 1, []),
        (switching(at_once, lambda *_: torch.zeros(LENGTH)), 1, []),
        (switching(at_once, row_by_row), 3, []),
        (switching(sums_of_rows, at_once), 1, ["too large"]),  # its multiplications are right
        (profiled, 2, []),
    ],
)
def test_what_is_measured_costs_points(answer, points, verified):
    """It comes behind what is wrong with values, which earn nothing where they are wrong."""
    verdict, _ = grade_answer(answer)
    assert verdict.points == points
    last = [finding.sentence for finding in verdict.findings if finding.kind == "verifier"]
    behind = kinds(verdict)[len(verdict.findings) - len(last) :]
    assert last == verified and set(behind) <= {"verifier"}


def test_values_are_compared_without_gradients():
    exercise = of_cases("table", lambda draw: case_of(draw, through=without_gradients), base=Exercise)
    answers = (row_by_row, switching(row_by_row, lambda *_: None))
    assert [judged(exercise, row_by_row, answer).points for answer in answers] == [1, 0]


POOL, MONITORS = ThreadPoolExecutor(1), []


def in_a_thread(rows, columns):
    with ThreadPoolExecutor(1) as new:
        return new.submit(at_once, rows, columns).result()


def in_a_pool_that_was_there(rows, columns):
    return POOL.submit(at_once, rows, columns).result()


@pytest.mark.parametrize("answer", [in_a_thread, in_a_pool_that_was_there])
def test_what_other_threads_do_is_not_measured(answer):
    """The memory and the products of another Python thread are in no count: both groups are lost."""
    POOL.submit(int).result()
    verdict, _ = grade_answer(answer)
    assert verdict.points == 1
    assert kinds(verdict)[0] == "other_thread"


def with_a_progress_bar(rows, columns):
    MONITORS.append(tqdm.TMonitor(tqdm.tqdm, 10))
    return row_by_row(rows, columns)


def with_a_backward_pass(rows, columns):
    with torch.enable_grad():
        rows.clone().requires_grad_().sum().backward()
    return row_by_row(rows, columns)


def beside_an_idle_thread(rows, columns):
    if torch.is_grad_enabled():  # measured calls have no gradients
        POOL.submit(int).result()
    return row_by_row(rows, columns)


@pytest.mark.parametrize("answer", [with_a_progress_bar, with_a_backward_pass, beside_an_idle_thread])
def test_threads_of_libraries_cost_nothing(answer):
    threads = torch.get_num_threads()
    torch.set_num_threads(2)
    try:
        assert grade_answer(answer)[0].points == 3
    finally:
        torch.set_num_threads(threads)
        while MONITORS:
            MONITORS.pop().exit()
