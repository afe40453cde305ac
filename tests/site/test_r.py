"""Lessons 1 to 5 in R: what the files say they print, the numbers of Python's cells, and the tabs."""

import math
import re
import subprocess
from pathlib import Path

import matplotlib.pyplot as plt
import pytest
import torch

from attention_lab.maintain.site.pages import r_cells
from attention_lab.maintain.site.static_sliders import needed_cells
from nbjudge import CourseError
from nbjudge.course import open_course, read_notebook

HERE = Path(__file__).parent
COURSE = open_course(HERE.parents[1])
LESSONS = [lesson for lesson in COURSE.assignments.values() if "01" <= lesson.folder < "06"]
HELPERS = {"setup"}  # in Python it imports what R defines

pytestmark = [pytest.mark.integration, pytest.mark.lesson]
every_lesson = pytest.mark.parametrize("lesson", LESSONS, ids=lambda lesson: lesson.name)
needs_r = pytest.mark.requires("Rscript")


def file_of(lesson):
    return lesson.checks_path / f"{lesson.name}.R"


def run_r(program, *arguments):
    done = subprocess.run(
        ["Rscript", HERE / program, *arguments], capture_output=True, text=True, timeout=120, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def values_of(file):
    """Numbers by section and name, as R has them."""
    values = {}
    for line in run_r("values.R", file).splitlines():
        section, name, numbers = line.split("\t")
        found = [math.nan if number in ("NaN", "NA") else float(number) for number in numbers.split()]
        values.setdefault(section, {})[name] = found
    return values


def numbers_in(value):
    """A flat list of a Python value's numbers, row by row; None where it is something else."""
    if isinstance(value, torch.Tensor):
        return value.detach().double().flatten().tolist()
    if isinstance(value, int | float):
        return [float(value)]
    if isinstance(value, dict) and value and all(isinstance(part, int | float) for part in value.values()):
        return list(value.values())
    return None


def assert_six_digits(ours, reference, what):
    expected = torch.tensor(reference, dtype=torch.float64)
    found = torch.tensor(ours, dtype=torch.float64)
    torch.testing.assert_close(
        found, expected, rtol=1e-6, atol=1e-6, equal_nan=True, msg=lambda message: f"{what}: {message}"
    )


@every_lesson
def test_every_exercise_has_its_answer_in_r(lesson):
    assert set(lesson.exercises) <= set(r_cells(lesson))


@needs_r
def test_the_files_show_what_r_prints():
    run_r("knit.R", "--check", *map(file_of, LESSONS))


@needs_r
@every_lesson
def test_a_name_means_the_same_in_both_languages(lesson):
    in_r = values_of(file_of(lesson))
    cells = [cell for cell in read_notebook(lesson.solution_path).cells if cell.cell_type == "code"]
    codes, places = [cell.source for cell in cells], {cell.id: place for place, cell in enumerate(cells)}
    for section, code in r_cells(lesson).items():
        if section in HELPERS or section in lesson.exercises:
            continue
        variables = {}
        with plt.rc_context({"backend": "agg"}):
            for place in needed_cells(codes, places[section]):
                exec(compile(codes[place], section, "exec"), variables)
            plt.close("all")
        shared = {name: numbers_in(variables.get(name)) for name in in_r.get(section, {})}
        shared = {name: numbers for name, numbers in shared.items() if numbers is not None}
        for name, numbers in shared.items():
            assert_six_digits(in_r[section][name], numbers, f"{name} in {section}")
        if not shared:  # then at least what is printed
            printed = "".join(output.get("text", "") for output in cells[places[section]].outputs)
            shown = numbers_of("\n".join(re.findall("^#> .*", code, re.MULTILINE)))
            assert shown and shown <= numbers_of(printed), section


def numbers_of(printed):
    """Those in a text, without R's indices such as [1,] and Python's commas between thousands."""
    return set(map(float, re.findall(r"-?\d+\.?\d*", re.sub(r"\[[\d,]+\]|,", "", printed))))


def in_r(value):
    """The value as an R expression."""
    if value is None:
        return "NULL"
    if isinstance(value, dict):
        return f"list({', '.join(f'{name} = {in_r(part)}' for name, part in value.items())})"
    if isinstance(value, list):
        return f"list({', '.join(map(in_r, value))})"
    if isinstance(value, bool):
        return str(value).upper()
    if not isinstance(value, torch.Tensor):
        return repr(value)
    numbers = f"c({', '.join(in_r(number) for number in value.flatten().tolist())})"
    return numbers if value.dim() == 1 else f"matrix({numbers}, nrow = {len(value)}, byrow = TRUE)"


def drawn(*shape):
    return torch.randn(*shape, dtype=torch.float64)


def weights_of(layer):
    return {name: getattr(layer, name).weight.detach() for name in ("query", "key", "value")}


def functions():
    """An exercise, what it is asked in R, and what it is asked in torch."""
    causal = torch.ones(5, 5, dtype=torch.bool).tril()
    gaps = torch.tensor([[True, False, True], [False, False, False]])
    query, key, value = drawn(2, 4), drawn(3, 4), drawn(3, 6)
    yield "softmax", [900 * drawn(5)], None
    yield "softmax", [drawn(3, 5)], None
    yield "attention_scores", [query, key], None
    yield "dot_product_attention", [query, key, value], None
    yield "dot_product_attention", [query, key], None
    yield "dot_product_attention", [query[:1]], None
    yield "project", [key, drawn(4, 2), drawn(4, 2), drawn(4, 5)], None
    yield "scaled_scores", [query, key], None
    yield "scaled_dot_product_attention", [query, key, value], None
    yield "scaled_dot_product_attention", [key], None
    yield "softmax_jacobian", [torch.softmax(drawn(5), 0)], None
    yield "causal_mask", [5], None
    yield "masked_softmax", [drawn(2, 3), gaps], None
    yield "masked_attention", [query, key, value, gaps], None
    yield "masked_attention", [query, key], None

    text = torch.tensor([0, 4, 5, 0, 2, 0])
    padding = COURSE.assignments["mask"].reference_answer("padding_mask")(text.unsqueeze(0))
    yield "padding_mask", [text], padding.expand(1, 6, 6)
    head = COURSE.assignments["attention_head"].reference_answer("AttentionHead")(4, 3).double()
    yield "AttentionHead", [weights_of(head), query, key, key, gaps], head(query[None], key[None], mask=gaps)
    alone = COURSE.assignments["attention_head"].reference_answer("CausalSelfAttention")(4, 7).double()
    x = drawn(5, 4)
    parts = {"qkv": alone.qkv.weight.detach(), "bias": alone.qkv.bias.detach()}
    yield "CausalSelfAttention", [parts, x, 7], alone(x[None])
    layer = COURSE.assignments["multi_head"].reference_answer("MultiHeadAttention")(4, 2).double()
    heads = {"heads": [weights_of(head) for head in layer.heads], "output": layer.output.weight.detach()}
    yield "MultiHeadAttention", [heads, x, x, x, causal], layer(x[None], mask=causal)


@needs_r
@every_lesson
def test_answers_in_r_are_those_of_the_reference(lesson, tmp_path):
    torch.manual_seed(11)
    cases = [case for case in functions() if case[0] in lesson.exercises]
    assert {name for name, _, _ in cases} | {"score_variance"} >= set(lesson.exercises)
    calls = [
        f"# cell: {number}\nanswer <- {name}({', '.join(map(in_r, arguments))})\n"
        for number, (name, arguments, _) in enumerate(cases)
    ]
    file = tmp_path / "asked.R"
    file.write_text(file_of(lesson).read_text() + "\n" + "\n".join(calls))
    answers = values_of(file)
    for number, (name, arguments, expected) in enumerate(cases):
        if expected is None:
            expected = lesson.reference_answer(name)(*arguments)
        parts = expected if isinstance(expected, tuple) else (expected,)
        names = [f"answer.{place + 1}" for place in range(len(parts))] if len(parts) > 1 else ["answer"]
        for part, of in zip(parts, names, strict=True):
            assert_six_digits(answers[str(number)][of], numbers_in(part), f"{name}: {of}")


@needs_r
def test_a_variance_drawn_by_r_is_near_the_width(tmp_path):
    file = tmp_path / "asked.R"
    calls = "# cell: asked\nfirst <- score_variance(24)\nagain <- score_variance(24)\n"
    file.write_text(file_of(COURSE.assignments["scaling"]).read_text() + calls)
    values = values_of(file)["asked"]
    assert values["first"] == values["again"] and values["first"][0] == pytest.approx(24, rel=0.08)


@every_lesson
def test_a_page_has_both_languages_in_tabs(pages, lesson):
    page = pages[f"{lesson.folder}/{lesson.name}.html"]
    tabs, in_both = page.select(".sd-tab-set.languages"), r_cells(lesson)
    assert len(tabs) == len(in_both)
    for tab, (name, code) in zip(tabs, in_both.items(), strict=True):
        assert [label.text.strip() for label in tab.select(".sd-tab-label")] == ["Python", "R"]
        assert tab.select_one("input[checked]").find_next("label").text.strip() == "Python"
        in_python, in_other = tab.select(".sd-tab-content")
        assert len(in_python.select("div.cell")) == 1 and not in_other.select("div.cell")
        assert re.sub(r"\s+", "", in_other.select_one("pre").text) == re.sub(r"\s+", "", code)
        assert bool(in_other.select("details")) == (name in lesson.exercises)
        assert bool(in_python.select(".tag_answer")) == (name in lesson.exercises)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("# cell: nowhere\nx <- 1\n", "translates a cell 'nowhere', which 01_dot_product does not have"),
        ("# cell: tokens\nx <- 1\n# cell: tokens\ny <- 2\n", "translates the cell 'tokens' twice"),
    ],
)
def test_a_section_without_its_cell_is_refused(monkeypatch, text, message):
    monkeypatch.setattr(Path, "read_text", lambda path, **_: text)
    with pytest.raises(CourseError, match=message):
        r_cells(COURSE.assignments["dot_product"])
