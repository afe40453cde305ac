"""What is asked about both layouts of pairs, and the mistakes and ways that they share."""

import itertools

import torch

from attention_lab.authoring import FLOATS, Exercise, LayerDraw, case

WIDTHS = (38, 44, 46)  # whose halves are no other size either


def turning(name):
    """The exercise, without what only its own layout has."""
    exercise = Exercise(
        name,
        results=("turned x",),
        axes=(("tokens", "head size"),),
        draw=LayerDraw,
        mistakes_from=(name, "turning"),
    )
    for make, title in GROUPS.items():
        exercise.group(title, points=1)(make)
    return exercise


def _turned(draw, *leading, length, dtype=torch.float32, width=None, **options):
    """x `(*leading, T, D)` and angles `(T, D/2)` all round the circle."""
    width = width or draw.shuffled(WIDTHS)[0]
    return case(
        draw.normal(*leading, length, width, dtype=dtype),
        4 * draw.normal(length, width // 2, dtype=dtype),
        **options,
    )


def one_text(draw):
    for dtype in FLOATS:
        (length,) = draw.sizes(1)
        yield _turned(draw, length=length, dtype=dtype)


def batches(draw):
    for dtype in FLOATS:
        heads, batch, length = draw.heads(1)
        yield _turned(draw, batch, length=length, dtype=dtype)
        yield _turned(draw, batch, heads, length=length, dtype=dtype)


def equal_sizes(draw):
    size, _ = draw.heads()
    yield _turned(draw, size, length=size)
    yield _turned(draw, size, size, length=size)
    yield _turned(draw, size, size, length=size, width=2 * size)


def edges(draw):
    heads, batch, length = draw.heads(1)
    yield _turned(draw, batch, heads, length=length, width=2)
    yield _turned(draw, batch, heads, length=1)
    yield _turned(draw, 1, length=length)
    yield _turned(draw, 1, 1, length=1)


def gradients(draw):
    for dtype in FLOATS:
        heads, batch, length = draw.heads(1)
        yield _turned(draw, batch, heads, length=length, dtype=dtype, gradients=True)


GROUPS = {
    one_text: "one text",
    batches: "batches, and batches with heads",
    equal_sizes: "equal sizes: as many texts, heads and tokens",
    edges: "a single pair, a single token, a single text",
    gradients: "gradients",
}


def turn(first, second, angles):
    cosine, sine = angles.cos(), angles.sin()
    return first * cosine - second * sine, first * sine + second * cosine


def add_mistakes(exercise, cut, join):
    """Those of both layouts; cut: the first and the second numbers of all pairs, join: the way back."""

    def parts(x, angles):
        return *cut(x), angles.cos(), angles.sin()

    @exercise.mistake(
        "The turn goes the wrong way round: the sign of the sine is turned. (a, b) becomes (a cos − b sin, a "
        "sin + b cos): the minus is in the first line."
    )
    def sign_turned(x, angles):
        return join(*turn(*cut(x), -angles))

    @exercise.mistake(
        "Sine and cosine are swapped: an angle of 0 must leave x unchanged, and cos 0 is 1. Swap the two, and"
        " leave the signs as they are."
    )
    def sine_for_cosine(x, angles):
        first, second, cosine, sine = parts(x, angles)
        return join(first * sine - second * cosine, first * cosine + second * sine)

    @exercise.mistake(
        "The first number of each pair is right, the second was made with the first one's *new* value. Keep "
        "both old numbers until both new ones are made."
    )
    def overwritten_too_soon(x, angles):
        first, second, cosine, sine = parts(x, angles)
        turned = first * cosine - second * sine
        return join(turned, turned * sine + second * cosine)

    @exercise.mistake(
        "The second number of each pair has the wrong sign: a sin − b cos, so that an angle of 0 turns b "
        "into −b. A rotation has its minus in the first line only."
    )
    def mirrored(x, angles):
        first, second, cosine, sine = parts(x, angles)
        return join(first * cosine - second * sine, first * sine - second * cosine)

    @exercise.mistake(
        "Pairs do not stay the same length: both lines have a minus, or both a plus, so the pair is squeezed "
        "as well. One minus, in the first line."
    )
    def no_minus(x, angles):
        first, second, cosine, sine = parts(x, angles)
        return join(first * cosine + second * sine, first * sine + second * cosine)

    @exercise.mistake(
        "All pairs turn by the first pair's angle. Column i of `angles` belongs to pair i: keep them all."
    )
    def one_angle_for_all_pairs(x, angles):
        return join(*turn(*cut(x), angles[:, :1]))

    @exercise.mistake(
        "All tokens turn by the angles of one position: the row of `angles` was not matched to the token. "
        "Row t belongs to token t."
    )
    def one_position_for_all(x, angles):
        return join(*turn(*cut(x), angles[-1:]))

    @exercise.mistake("The first number of each pair is turned, the second is left as it was. Both change.")
    def second_left_alone(x, angles):
        first, second = cut(x)
        return join(turn(first, second, angles)[0], second)

    @exercise.mistake(
        "The result is right, but `x` itself was written into, perhaps through `.data`. Make the new numbers "
        "from `x` without `.data` or `.detach()`, which lose the gradient, and put them into a new tensor."
    )
    def writes_into_x(x, angles):
        turned = join(*turn(*cut(x.detach()), angles))
        x.data.copy_(turned)
        return x


def add_causes(exercise, cut, join):
    """Other formulas and other angles, of both layouts."""

    def turned(formula, angles_of=lambda angles: angles):
        def answer(x, angles):
            first, second = cut(x)
            cosine, sine = angles_of(angles).cos(), angles_of(angles).sin()
            terms = first * cosine, first * sine, second * cosine, second * sine
            return join(*(sum(n * term for n, term in zip(each, terms, strict=True)) for each in formula))

        return answer

    def words(numbers):
        terms = zip(numbers, ("a cos", "a sin", "b cos", "b sin"), strict=True)
        return " ".join(
            f"{'+' if number > 0 else '−'} {term}" for number, term in terms if number
        ).removeprefix("+ ")

    right = (1, 0, 0, -1), (0, 1, 1, 0)  # of a cos, a sin, b cos and b sin
    for numbers in itertools.product((-1, 0, 1), repeat=4):
        if 1 <= sum(map(abs, numbers)) <= 2 and numbers not in right:
            exercise.cause(f"the first number were {words(numbers)}", turned((numbers, right[1])))
            exercise.cause(f"the second number were {words(numbers)}", turned((right[0], numbers)))
    for one, other in (
        ((1, 0, -1, 0), (1, 0, 1, 0)),
        ((0, 1, 0, -1), (0, 1, 0, 1)),
        ((1, -1, 0, 0), (0, 0, 1, 1)),
        ((0, -1, 1, 0), (1, 0, 0, 1)),
        ((0, 1, 1, 0), (1, 0, 0, -1)),
        ((1, 0, -1, 0), (0, 1, 0, 1)),
        ((0, 1, 0, -1), (1, 0, 1, 0)),
        ((0, 1, 0, -1), (1, 0, 0, 1)),
        ((0, 0, 1, -1), (1, 1, 0, 0)),
    ):
        exercise.cause(f"a pair became ({words(one)}, {words(other)})", turned((one, other)))
    for clause, angles_of in {
        "the angles were taken for degrees": torch.deg2rad,
        "the angles were converted to degrees": torch.rad2deg,
        "the angles were multiplied by 2π": lambda angles: 2 * torch.pi * angles,
        "1 were added to each angle": lambda angles: angles + 1,
        "the angles were added up from position to position": lambda angles: angles.cumsum(0),
        "the angles of a position were their mean": lambda angles: angles.mean(1, True).expand_as(angles),
        "the angles were added up from pair to pair": lambda angles: angles.cumsum(1),
        "the angles had lost their sign": torch.abs,
        "the angles were rounded to whole numbers": torch.round,
        "the angles were squared": torch.square,
        "the angles were cut off at ±π": lambda angles: angles.clamp(-torch.pi, torch.pi),
        "the angles were taken modulo π": lambda angles: angles % torch.pi,
        "π/2 were added to each angle": lambda angles: angles + torch.pi / 2,
        "the first position were not turned": lambda angles: (
            angles * (torch.arange(len(angles)) > 0)[:, None]
        ),
        "the last position were not turned": lambda angles: (
            angles * (torch.arange(len(angles)) < len(angles) - 1)[:, None]
        ),
        "the last pair were not turned": lambda angles: (
            angles * (torch.arange(angles.shape[1]) < angles.shape[1] - 1)
        ),
        "only the first pair were turned": lambda angles: angles * (torch.arange(angles.shape[1]) < 1),
        "each angle served two pairs in a row": lambda angles: angles.repeat_interleave(2, 1)[
            :, : angles.shape[1]
        ],
        "the angles came twice, and every second one were used": lambda angles: angles.repeat(1, 2)[:, ::2],
        "all angles were their mean": lambda angles: angles.mean().expand_as(angles),
    }.items():
        exercise.cause(clause, turned(right, angles_of))
    exercise.cause(
        "the first number of each pair were left as it is",
        lambda x, angles: join(cut(x)[0], turn(*cut(x), angles)[1]),
    )
    for clause, functions in {
        "the squares of cosine and sine were used": lambda a: (a.cos().square(), a.sin().square()),
        "the sine had lost its sign": lambda a: (a.cos(), a.sin().abs()),
        "the tangent were in the place of the sine": lambda a: (a.cos(), a.tan()),
        "the hyperbolic functions were used": lambda a: (a.cosh(), a.sinh()),
        "1 and the tangent were in the place of cosine and sine": lambda a: (a.cos() ** 0, a.tan()),
    }.items():
        exercise.cause(clause, _by_other_functions(cut, join, functions))
    exercise.cause("x were added to what is turned", lambda x, angles: x + turned(right)(x, angles))


def _by_other_functions(cut, join, functions):
    def answer(x, angles):
        (first, second), (cosine, sine) = cut(x), functions(angles)
        return join(first * cosine - second * sine, first * sine + second * cosine)

    return answer


def add_alternatives(exercise, cut, join):
    """Right in both layouts."""

    @exercise.accepted_alternative(
        "A pair is a complex number, and a turn is one product: RoFormer's own formula, and the shortest."
    )
    def by_complex_numbers(x, angles):
        turned = torch.complex(*cut(x)) * torch.polar(torch.ones_like(angles), angles)
        return join(turned.real, turned.imag)

    @exercise.accepted_alternative
    def pair_by_pair(x, angles):
        firsts, seconds = [], []
        for first, second, angle in zip(*(part.unbind(-1) for part in (*cut(x), angles)), strict=True):
            firsts.append(first * angle.cos() - second * angle.sin())
            seconds.append(first * angle.sin() + second * angle.cos())
        return join(torch.stack(firsts, -1), torch.stack(seconds, -1))

    @exercise.accepted_alternative
    def by_matrices(x, angles):
        cosine, sine = angles.cos(), angles.sin()
        rows = [torch.stack([cosine, -sine], -1), torch.stack([sine, cosine], -1)]
        matrices = torch.stack(rows, -2)  # (T, D/2, 2, 2)
        pairs = torch.stack(cut(x), dim=-1)
        return join(*torch.einsum("tpij,...tpj->...tpi", matrices, pairs).unbind(-1))
