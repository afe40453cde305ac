"""The form of this course's lessons and exercises, for `attention-lab new-lesson` and `new-exercise`.

It is the grader's own form with this course's cells put in: what docs/writing-a-lesson.md asks for.
"""

from __future__ import annotations

from dataclasses import replace

from nbjudge.skeletons.form import Cell, ExerciseForm, Form
from nbjudge.skeletons.generic import GENERIC

TITLE = """# $heading

> **At the end you can** say what you can.
>
> $$$$y = 2 x$$$$
>
> ```python
> y = 2 * x  # (n,)
> ```
>
> **The trap:** what goes wrong without an error message.
>
> 22 to 30 minutes · builds on lesson 1"""
SETUP = """$setup
import matplotlib.pyplot as plt

from attention_lab import check
from attention_lab.examples import example, refuses, with_weights

torch.set_printoptions(precision=4, sci_mode=False)"""
BY_HAND_TEXT = """## The smallest example

One paragraph, with numbers that can be checked by hand.

**Before you run the next cell:** what will it print?"""
BY_HAND = """numbers = torch.tensor([1.0, 3.0])  # (n,)
print(2 * numbers)"""
BY_HAND_READ = "What was to be seen, and why it asks for what comes next."
ONE_PAGE_TEXT = """**To keep:** the whole lesson on one page, as you would write it in a project.
It is here once all your answers are right."""
EXCURSIONS = """## Excursions

Each is independent, and nothing later needs it:

- A side path (2 minutes)"""
EXCURSION = """### A side path · about 2 minutes

What is worth telling, and not needed for the rest."""
ONE_PAGE = '"""Lesson $heading, on one page."""\n'
# What no grading run needs, and what looks different on every run.
ASKED_OF_THE_TUTOR = {"tags": ["left-out-of-grading", "nbval-ignore-output"]}

TEST = """def test_$name():
EXAMPLES


test_$name()
### BEGIN HIDDEN TESTS
check("$name").points
### END HIDDEN TESTS"""
FUNCTIONS_EXAMPLES = """    example("two numbers", $name, torch.tensor([1.0, 3.0]), gives=[2.0, 6.0])
    example("whole numbers stay whole", $name, torch.tensor([1, 3]), gives=[2, 6])"""
LAYERS_EXAMPLES = """    numbers = torch.tensor([1.0, 2.0, 3.0, 4.0])
    layer = with_weights($name(4, 2), project=torch.diag(numbers))
    x = numbers.view(1, 1, 4)  # (B, T, D); projected, it is 1, 4, 9, 16
    example("four numbers in two parts", layer, x, gives=[[[5.0, 10.0]]])
    refuses("five numbers in two parts", $name, 5, 2, naming=(5, 2))"""


def _in_this_course(generic: ExerciseForm, examples: str, **values: str) -> ExerciseForm:
    """The same exercise with examples of the course's own kind, and below it the tutor and what was won."""
    text, answer, graded = generic.cells
    return replace(
        generic,
        cells=(
            text,
            answer,
            replace(graded, source=TEST.replace("EXAMPLES", examples)),
            Cell("check-$with_hyphens", 'check("$name")', "code", ASKED_OF_THE_TUTOR),
            Cell("$name-now", "**What you now have:** one line."),
        ),
        values={**generic.values, **values},
    )


FORM = Form(
    opening=(
        *(replace(cell, source={"title": TITLE, "setup": SETUP}[cell.id]) for cell in GENERIC.opening),
        Cell("by-hand-text", BY_HAND_TEXT),
        Cell("by-hand", BY_HAND, "code"),
        Cell("by-hand-read", BY_HAND_READ),
    ),
    ending=(
        Cell("one-page-text", ONE_PAGE_TEXT),
        Cell("one-page", "check()", "code", ASKED_OF_THE_TUTOR),
        Cell("excursions", EXCURSIONS, metadata={"jp-MarkdownHeadingCollapsed": True}),
        Cell("side-path", EXCURSION),
        *GENERIC.ending,
    ),
    function=_in_this_course(GENERIC.function, FUNCTIONS_EXAMPLES),
    layer=_in_this_course(
        GENERIC.layer,
        LAYERS_EXAMPLES,
        imports="from attention_lab.authoring import FLOATS, Exercise, LayerDraw, build, case",
        draw="\n    draw=LayerDraw,",
        weights="draw.linear(width, width, dtype=dtype)",
        floats="FLOATS",
        two_sizes="draw.heads()",
        four_sizes="draw.heads(2)",
        uncut="width, parts = draw.indivisible()",
    ),
    files={"__init__.py": '"""Lesson $heading."""\n', "one_page.py": ONE_PAGE},
    page="one_page.py",
    program="attention-lab",
    build="attention-lab build $folder",
    advice="What else the tests require is at the top of docs/writing-a-lesson.md.",
)
