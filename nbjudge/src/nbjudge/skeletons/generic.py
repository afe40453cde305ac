"""The form that a course gets which has none of its own: cells and checks that run anywhere."""

from __future__ import annotations

from nbjudge.skeletons.form import Cell, ExerciseForm, Form
from nbjudge.skeletons.layer import LAYER
from nbjudge.skeletons.text import exercise_text

TITLE = """# $heading

What this assignment is about, in one paragraph. At the end you can say what you can. About 20 minutes. From
the assignment before you need nothing."""
CLOSING = "## What you now have"
END = f"""{CLOSING}

One sentence.

## Test yourself

1. A first question?
2. A second one?
3. A third?

<details>
<summary>Answer 1</summary>

Its answer.

</details>

<details>
<summary>Answer 2</summary>

Its answer.

</details>

<details>
<summary>Answer 3</summary>

Its answer.

</details>

## Where to read more

A source that you would read yourself."""
STATEMENT = """Write `$name(x)`: what it is given, what it returns, and one example. Here `x` is a vector,
`(n,)`, and each number comes back doubled: `[1, 3]` gives `[2, 6]`."""
ANSWER = '''def $name(x):
    """Twice each number.

    x: (n,)      returns: (n,)
    """
    ### BEGIN SOLUTION
    return 2 * x
    ### END SOLUTION'''
TEST = """def test_$name():
    returned = $name($array)
    assert isinstance(returned, $array_type), f"$noun, not {type(returned).__name__}: is there a return?"
    assert returned.tolist() == [2.0, 6.0], f"[1, 3] gives [2, 6], not {returned.tolist()}"
    whole = $name($whole_numbers)
    assert whole.dtype == $whole_numbers.dtype, f"whole numbers stay whole, not {whole.dtype}"


test_$name()
### BEGIN HIDDEN TESTS
from nbjudge import check
check("$name")
### END HIDDEN TESTS"""
CHECKS = '''"""The exercise `$name`, and the mistakes it can name."""

$imports

$variable = Exercise(
    "$name",
    results=("doubled vector",),
    axes=(("numbers",),),$draw
)


@$variable.group("vectors", points=1)
def fresh_vectors(draw):
    """Fresh numbers, of a size that is nowhere in the notebook."""
    (size,) = draw.sizes(1)
    yield case(draw.normal(size))


@$variable.group("whole numbers", points=1)
def whole_numbers(draw):
    """Another dtype, and another size."""
    yield case(draw.integers(-9, 9, *draw.sizes(1)))


@$variable.mistake("The numbers come back squared: 3 gives 6, not 9.")
def squared_instead(x):
    return x * x


@$variable.mistake("Whole numbers come back as fractions: keep the dtype.")
def always_fractions(x):
    return 2.0 * x


@$variable.accepted_alternative
def added_to_itself(x):
    return x + x


@$variable.accepted_alternative
def doubled_from_the_right(x):
    return x * 2
'''
FUNCTION = ExerciseForm(
    cells=(
        Cell("$name-text", exercise_text(STATEMENT)),
        Cell("$name", ANSWER, "answer"),
        Cell("test_$name", TEST, "graded", points=2),
    ),
    checks=CHECKS,
)
GENERIC = Form(
    opening=(Cell("title", TITLE), Cell("setup", "$setup", "given")),
    ending=(Cell("closing", END),),
    function=FUNCTION,
    layer=LAYER,
)
