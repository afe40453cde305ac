"""What the grader asks about `rotate_halves`, and the mistakes it can name."""

import torch

from attention_lab.authoring import FLOATS, Exercise, LayerDraw, ask
from attention_lab.authoring.not_asked import LINEAR

rotate_halves = Exercise(
    "rotate_halves",
    results=("turned x",),
    axes=(("tokens", "head size"),),
    draw=LayerDraw,
    not_asked={"large values": LINEAR},
)
WIDTHS = (38, 44, 46)  # whose halves are no other size either


def _turned(draw, *leading, length, dtype=torch.float32, width=None, **asked):
    """x `(*leading, T, D)` and angles `(T, D/2)` all round the circle."""
    width = width or draw.shuffled(WIDTHS)[0]
    return ask(
        draw.normal(*leading, length, width, dtype=dtype),
        4 * draw.normal(length, width // 2, dtype=dtype),
        **asked,
    )


@rotate_halves.group("one text", points=1)
def one_text(draw):
    for dtype in FLOATS:
        (length,) = draw.sizes(1)
        yield _turned(draw, length=length, dtype=dtype)


@rotate_halves.group("batches, and batches with heads", points=1)
def batches(draw):
    for dtype in FLOATS:
        heads, batch, length = draw.heads(1)
        yield _turned(draw, batch, length=length, dtype=dtype)
        yield _turned(draw, batch, heads, length=length, dtype=dtype)


@rotate_halves.group("equal sizes: as many texts, heads and tokens", points=1)
def equal_sizes(draw):
    size, _ = draw.heads()
    yield _turned(draw, size, length=size)
    yield _turned(draw, size, size, length=size)
    yield _turned(draw, size, size, length=size, width=2 * size)


@rotate_halves.group("a single pair, a single token", points=1)
def edges(draw):
    heads, batch, length = draw.heads(1)
    yield _turned(draw, batch, heads, length=length, width=2)
    yield _turned(draw, batch, heads, length=1)


@rotate_halves.group("gradients", points=1)
def gradients(draw):
    for dtype in FLOATS:
        heads, batch, length = draw.heads(1)
        yield _turned(draw, batch, heads, length=length, dtype=dtype, gradients=True)


def _cut(x):
    """The first and the second number of each pair."""
    half = x.shape[-1] // 2
    return x[..., :half], x[..., half:]


def _join(first, second):
    return torch.cat([first, second], dim=-1)


def _turn(first, second, angles):
    cosine, sine = angles.cos(), angles.sin()
    return first * cosine - second * sine, first * sine + second * cosine


@rotate_halves.mistake(
    "Neighbours were turned where halves were asked for: 2i went with 2i+1. Here number i goes with i + "
    "D/2: cut x in the middle."
)
def pairs_for_halves(x, angles):
    turned = _turn(x[..., 0::2], x[..., 1::2], angles)
    return torch.stack(turned, dim=-1).flatten(-2)


@rotate_halves.mistake(
    "The turn goes the wrong way round: the sign of the sine is turned. (a, b) becomes (a cos − b sin, a "
    "sin + b cos): the minus stands in the first line."
)
def sign_turned(x, angles):
    return _join(*_turn(*_cut(x), -angles))


@rotate_halves.mistake(
    "Sine and cosine have changed places: an angle of 0 must leave x as it is, and cos 0 is 1. Swap "
    "the two, and leave the signs as they are."
)
def sine_for_cosine(x, angles):
    first, second = _cut(x)
    return _join(first * angles.sin() - second * angles.cos(), first * angles.cos() + second * angles.sin())


@rotate_halves.mistake(
    "The first number of each pair is right, the second was made with the first one's *new* value. Keep "
    "both old numbers until both new ones are made."
)
def overwritten_too_soon(x, angles):
    first, second = _cut(x)
    turned = first * angles.cos() - second * angles.sin()
    return _join(turned, turned * angles.sin() + second * angles.cos())


@rotate_halves.mistake(
    "The second number of each pair has the wrong sign: a sin − b cos, so that an angle of 0 turns b "
    "into −b. A rotation has its minus in the first line only."
)
def mirrored(x, angles):
    first, second = _cut(x)
    return _join(first * angles.cos() - second * angles.sin(), first * angles.sin() - second * angles.cos())


@rotate_halves.mistake(
    "Pairs do not stay the same length: both lines have a minus, or both a plus, so the pair is squeezed as "
    "well. One minus, in the first line."
)
def no_minus(x, angles):
    first, second = _cut(x)
    return _join(first * angles.cos() + second * angles.sin(), first * angles.sin() + second * angles.cos())


@rotate_halves.mistake(
    "All pairs turn by the first pair's angle. Column i of `angles` belongs to pair i: keep them all."
)
def one_angle_for_all_pairs(x, angles):
    return _join(*_turn(*_cut(x), angles[:, :1]))


@rotate_halves.mistake(
    "All tokens turn by the angles of one position: the row of `angles` was not matched to the token. Row t "
    "belongs to token t."
)
def one_position_for_all(x, angles):
    return _join(*_turn(*_cut(x), angles[-1:]))


@rotate_halves.mistake(
    "`angles` got an axis of size 1 too many, so its rows no longer line up with the tokens. Use it as "
    "it comes: `(T, D/2)` meets the tokens, the last axis but one, by itself."
)
def by_the_axis_before(x, angles):
    return _join(*_turn(*_cut(x), angles[:, None, :]))


@rotate_halves.mistake(
    "The halves are turned rightly, and put down in another order: neighbours side by side. The first "
    "numbers of all pairs go to the first half, the second ones to the second."
)
def laid_down_otherwise(x, angles):
    first, second = _turn(*_cut(x), angles)
    return torch.stack([first, second], dim=-1).flatten(-2)


@rotate_halves.mistake(
    "Halves go together, but their angles stand as for neighbours: each was repeated twice in a row. Put "
    "the whole row of angles twice side by side: `cat`, not `repeat_interleave`."
)
def angles_repeated_otherwise(x, angles):
    first, second = _cut(x)
    twice = angles.repeat_interleave(2, dim=-1)
    return x * twice.cos() + _join(-second, first) * twice.sin()


@rotate_halves.mistake("The first number of each pair is turned, the second is left as it was. Both change.")
def second_left_alone(x, angles):
    first, second = _cut(x)
    return _join(_turn(first, second, angles)[0], second)


@rotate_halves.mistake(
    "The numbers are right in float32, but float64 comes back as float32: something casts on the way. The "
    "result has the dtype of x."
)
def always_float32(x, angles):
    return _join(*_turn(*_cut(x.float()), angles.float()))


@rotate_halves.mistake(
    "The result is right, but `x` itself was written into, perhaps through `.data`. Make both new "
    "halves from `x` without `.data` or `.detach()`, which lose the gradient, and join them in a new "
    "tensor."
)
def writes_into_x(x, angles):
    turned = _join(*_turn(*_cut(x.detach()), angles))
    x.data.copy_(turned)
    return x


@rotate_halves.mistake(
    "The numbers are right, but no gradient reaches `x`: it left the graph by `.data`, `.detach()` or "
    "`no_grad`. Turn the tensor itself."
)
def detached(x, angles):
    return _join(*_turn(*_cut(x.detach()), angles))


@rotate_halves.also_right(
    "A partner for every number, with the sign of the sine: the way most libraries write it, without a loop "
    "and without cutting the result."
)
def by_partners(x, angles):
    first, second = _cut(x)
    twice = torch.cat([angles, angles], dim=-1)
    return x * twice.cos() + _join(-second, first) * twice.sin()


@rotate_halves.also_right(
    "A pair is a complex number, and a turn is one product: RoFormer's own formula, and the shortest."
)
def by_complex_numbers(x, angles):
    turned = torch.complex(*_cut(x)) * torch.polar(torch.ones_like(angles), angles)
    return _join(turned.real, turned.imag)


@rotate_halves.also_right
def pair_by_pair(x, angles):
    firsts, seconds = [], []
    for first, second, angle in zip(*(part.unbind(-1) for part in (*_cut(x), angles)), strict=True):
        firsts.append(first * angle.cos() - second * angle.sin())
        seconds.append(first * angle.sin() + second * angle.cos())
    return _join(torch.stack(firsts, -1), torch.stack(seconds, -1))


@rotate_halves.also_right
def by_matrices(x, angles):
    cosine, sine = angles.cos(), angles.sin()
    rows = [torch.stack([cosine, -sine], -1), torch.stack([sine, cosine], -1)]
    matrices = torch.stack(rows, -2)  # (T, D/2, 2, 2)
    pairs = torch.stack(_cut(x), dim=-1)
    return _join(*torch.einsum("tpij,...tpj->...tpi", matrices, pairs).unbind(-1))


@rotate_halves.also_right
def into_a_new_tensor(x, angles):
    first, second = _cut(x)
    result = torch.empty_like(x)
    result[..., : x.shape[-1] // 2] = first * torch.cos(angles) - second * torch.sin(angles)
    result[..., x.shape[-1] // 2 :] = second * torch.cos(angles) + first * torch.sin(angles)
    return result
