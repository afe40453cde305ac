"""An exercise whose answer is a layer: a class of torch's, built on weights that the judge draws."""

from __future__ import annotations

from nbjudge.skeletons.form import Cell, ExerciseForm
from nbjudge.skeletons.text import exercise_text

STATEMENT = """Write the layer `$name(width, parts)`. It has one projection, `project`, linear and
without a bias, from `width` to `width` numbers. Called with `x`, `(B, T, width)`, it projects each row, cuts
the result into `parts` equal parts, one after the other, and returns their mean, `(B, T, width / parts)`.
With a projection that changes nothing and two parts, `[1, 2, 3, 4]` gives `[2, 3]`.

Where `parts` does not divide `width`, making the layer raises a `ValueError` whose sentence names both."""
ANSWER = '''class $name(nn.Module):
    """The mean of the equal parts that each projected row is cut into.

    width: D      parts: P, which divides D (else ValueError)
    forward(x): (B, T, D)      returns: (B, T, D / P)
    """

    def __init__(self, width, parts):
        super().__init__()
        ### BEGIN SOLUTION
        # What cannot be cut into equal parts is refused, with both numbers.
        if width % parts:
            raise ValueError(f"a width of {width} cannot be cut into {parts} equal parts")
        self.parts = parts
        self.project = nn.Linear(width, width, bias=False)
        ### END SOLUTION

    def forward(self, x):
        ### BEGIN SOLUTION
        # The parts become an axis of their own, before the numbers of each.
        cut = self.project(x).unflatten(-1, (self.parts, -1))  # (B, T, P, D / P)
        return cut.mean(dim=-2)  # (B, T, D / P)
        ### END SOLUTION'''
TEST = """layer = $name(4, 2)
with torch.no_grad():
    layer.project.weight.copy_(torch.diag(torch.tensor([1.0, 2.0, 3.0, 4.0])))
returned = layer(torch.tensor([[[1.0, 2.0, 3.0, 4.0]]]))
assert isinstance(returned, torch.Tensor), f"a tensor, not {type(returned).__name__}: is there a return?"
assert returned.tolist() == [[[5.0, 10.0]]], f"1, 4, 9 and 16 in two parts give 5 and 10, not {returned}"
### BEGIN HIDDEN TESTS
from nbjudge import check
check("$name")
### END HIDDEN TESTS"""
CHECKS = '''"""The exercise `$name`, and the mistakes it can name."""

import torch
import torch.nn as nn

$imports

$variable = Exercise(
    "$name",
    results=("means",),
    axes=(("batch", "rows", "numbers"),),$draw
)


def _made(draw, width, parts, dtype=torch.float32, **how):
    """The layer on weights that the judge draws: `state` holds a tensor for each parameter."""
    state = {"project.weight": $weights}
    return build(width, parts, state=state, double=dtype == torch.float64, **how)


@$variable.group("names and shapes of the parameters", points=1)
def parameters(draw):
    """Names and shapes only: numbers are compared where `state` is given."""
    parts, size = $two_sizes
    yield case(build=build(parts * size, parts, look=("parameters",)))


@$variable.group("several rows, in both dtypes", points=2)
def several_rows(draw):
    """The usual case: no two axes are of one size."""
    for dtype in $floats:
        parts, size, batch, length = $four_sizes
        x = draw.normal(batch, length, parts * size, dtype=dtype)
        yield case(x, build=_made(draw, parts * size, parts, dtype))
    yield case(x, build=_made(draw, parts * size, parts, dtype, eval=True))


@$variable.group("gradients", points=1)
def gradients(draw):
    """Of the input, and of the projection."""
    parts, size, batch, length = $four_sizes
    x = draw.normal(batch, length, parts * size)
    yield case(x, build=_made(draw, parts * size, parts), gradients=True)


@$variable.group("widths that cannot be cut", points=1)
def refusals(draw):
    """A ValueError when the layer is made, whose sentence holds both numbers."""
    $uncut
    yield case(build=build(width, parts, look=()), refuses=(width, parts))


class Right(nn.Module):
    """A correct layer: each mistake inherits from it, and changes one thing."""

    def __init__(self, width, parts):
        super().__init__()
        self.refuse(width, parts)
        self.parts = parts
        self.project = nn.Linear(width, width, bias=False)

    def refuse(self, width, parts):
        if width % parts:
            raise ValueError(f"{parts} parts do not fit into a width of {width}")

    def cut(self, projected):
        return projected.unflatten(-1, (self.parts, -1))

    def join(self, cut):
        return cut.mean(dim=-2)

    def forward(self, x):
        return self.join(self.cut(self.project(x)))


@$variable.mistake("The parts are added up: take their mean.")
class Summed(Right):
    def join(self, cut):
        return cut.sum(dim=-2)


@$variable.mistake("Only the first part comes back, not the mean of all.")
class FirstPart(Right):
    def join(self, cut):
        return cut[..., 0, :]


@$variable.mistake(
    "Neighbours are averaged: the parts lie one after the other, so the new axis of the parts comes first, "
    "and that of the numbers in a part behind it."
)
class Neighbours(Right):
    def cut(self, projected):
        return projected.unflatten(-1, (-1, self.parts)).transpose(-1, -2)


@$variable.mistake("The projection has a bias: leave it out.")
class WithBias(Right):
    def __init__(self, width, parts):
        super().__init__(width, parts)
        self.project = nn.Linear(width, width)


@$variable.mistake("The rows are cut as they came: project them first.")
class NotProjected(Right):
    def forward(self, x):
        return self.join(self.cut(x))


@$variable.mistake(
    "A width that cannot be cut is not refused: raise a `ValueError` that names both numbers, and do it when "
    "the layer is made."
)
class RefusesNothing(Right):
    def refuse(self, width, parts):
        pass


@$variable.accepted_alternative("A list of parts, stacked: it says in words what is done.")
class InChunks(Right):
    def forward(self, x):
        return torch.stack(self.project(x).chunk(self.parts, dim=-1)).mean(dim=0)


@$variable.accepted_alternative
class AddedUp(Right):
    def join(self, cut):
        return sum(cut.unbind(dim=-2)) / self.parts
'''
LAYER = ExerciseForm(
    cells=(
        Cell("$name-text", exercise_text(STATEMENT)),
        Cell("$name", ANSWER, "answer"),
        Cell("test_$name", TEST, "graded", points=5),
    ),
    checks=CHECKS,
    values={
        "weights": "draw.normal(width, width, dtype=dtype) / width**0.5",
        "floats": "(torch.float32, torch.float64)",
        "two_sizes": "draw.sizes(2)",
        "four_sizes": "draw.sizes(4)",
        "uncut": "parts, size = draw.sizes(2)\n    width = parts * size + 1",
    },
    page_imports="import torch.nn as nn",
)
