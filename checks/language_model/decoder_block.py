"""The exercise `DecoderBlock`, and the mistakes it can name."""

import torch
import torch.nn as nn

from attention_lab.authoring import FLOATS, Exercise, LayerDraw, build, case

decoder_block = Exercise(
    "DecoderBlock",
    results=("means",),
    axes=(("batch", "rows", "numbers"),),
    draw=LayerDraw,
)


def _made(draw, width, parts, dtype=torch.float32, **how):
    """The layer on weights that the judge draws: `state` holds a tensor for each parameter."""
    state = {"project.weight": draw.linear(width, width, dtype=dtype)}
    return build(width, parts, state=state, double=dtype == torch.float64, **how)


@decoder_block.group("names and shapes of the parameters", points=1)
def parameters(draw):
    """Names and shapes only: numbers are compared where `state` is given."""
    parts, size = draw.heads()
    yield case(build=build(parts * size, parts, look=("parameters",)))


@decoder_block.group("several rows, in both dtypes", points=2)
def several_rows(draw):
    """The usual case: no two axes are of one size."""
    for dtype in FLOATS:
        parts, size, batch, length = draw.heads(2)
        x = draw.normal(batch, length, parts * size, dtype=dtype)
        yield case(x, build=_made(draw, parts * size, parts, dtype))
    yield case(x, build=_made(draw, parts * size, parts, dtype, eval=True))


@decoder_block.group("gradients", points=1)
def gradients(draw):
    """Of the input, and of the projection."""
    parts, size, batch, length = draw.heads(2)
    x = draw.normal(batch, length, parts * size)
    yield case(x, build=_made(draw, parts * size, parts), gradients=True)


@decoder_block.group("widths that cannot be cut", points=1)
def refusals(draw):
    """A ValueError when the layer is made, whose sentence holds both numbers."""
    width, parts = draw.indivisible()
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


@decoder_block.mistake("The parts are added up: take their mean.")
class Summed(Right):
    def join(self, cut):
        return cut.sum(dim=-2)


@decoder_block.mistake("Only the first part comes back, not the mean of all.")
class FirstPart(Right):
    def join(self, cut):
        return cut[..., 0, :]


@decoder_block.mistake(
    "Neighbours are averaged: the parts lie one after the other, so the new axis of the parts comes first, "
    "and that of the numbers in a part behind it."
)
class Neighbours(Right):
    def cut(self, projected):
        return projected.unflatten(-1, (-1, self.parts)).transpose(-1, -2)


@decoder_block.mistake("The projection has a bias: leave it out.")
class WithBias(Right):
    def __init__(self, width, parts):
        super().__init__(width, parts)
        self.project = nn.Linear(width, width)


@decoder_block.mistake("The rows are cut as they came: project them first.")
class NotProjected(Right):
    def forward(self, x):
        return self.join(self.cut(x))


@decoder_block.mistake(
    "A width that cannot be cut is not refused: raise a `ValueError` that names both numbers, and do it when "
    "the layer is made."
)
class RefusesNothing(Right):
    def refuse(self, width, parts):
        pass


@decoder_block.accepted_alternative("A list of parts, stacked: it says in words what is done.")
class InChunks(Right):
    def forward(self, x):
        return torch.stack(self.project(x).chunk(self.parts, dim=-1)).mean(dim=0)


@decoder_block.accepted_alternative
class AddedUp(Right):
    def join(self, cut):
        return sum(cut.unbind(dim=-2)) / self.parts
