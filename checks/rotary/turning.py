"""What is asked about both layouts of pairs, and the mistakes and ways that they share."""

import numpy as np
import torch

from attention_lab.authoring import FLOATS, Exercise, LayerDraw, case

WIDTHS = (38, 44, 46)  # whose halves are no other size either


LAYOUTS = {
    "neighbours": lambda x: (x[..., 0::2], x[..., 1::2]),
    "halves": lambda x: np.split(x, 2, -1),
    "the two ends": lambda x: (np.split(x, 2, -1)[0], np.split(x[..., ::-1], 2, -1)[0]),
    "neighbours at the other end": lambda x: LAYOUTS["neighbours"](x[..., ::-1]),
    "neighbours from the second number on": lambda x: LAYOUTS["neighbours"](np.roll(x, -1, -1)),
}
ANGLES = {
    "": lambda angles: angles,
    "twice its angle": lambda angles: 2 * angles,
    "half its angle": lambda angles: angles / 2,
    "its angle taken for degrees": np.deg2rad,
    "its angle in degrees": np.rad2deg,
    "its angle times 2π": lambda angles: 2 * np.pi * angles,
    "its angle plus 1": lambda angles: angles + 1,
    "its angle squared": np.square,
    "its angle rounded": np.round,
    "its angle between −π and π": lambda angles: angles.clip(-np.pi, np.pi),
    "its angle modulo π": lambda angles: angles % np.pi,
    "the first pair's angle": lambda angles: angles[:, :1] + 0 * angles,
    "the last pair's angle": lambda angles: angles[:, -1:] + 0 * angles,
    "the angle of the next pair": lambda angles: np.roll(angles, -1, 1),
    "the angle of the pair before": lambda angles: np.roll(angles, 1, 1),
    "the angle of the pair at the other end": lambda angles: angles[:, ::-1],
    "the first position's angle": lambda angles: angles[:1] + 0 * angles,
    "the last position's angle": lambda angles: angles[-1:] + 0 * angles,
    "the angle of the next position": lambda angles: np.roll(angles, -1, 0),
    "the angle of the position before": lambda angles: np.roll(angles, 1, 0),
    "the angle of the position at the other end": lambda angles: angles[::-1],
    "the mean of its position's angles": lambda angles: angles.mean(1, keepdims=True) + 0 * angles,
    "the sum of the angles up to its pair": lambda angles: angles.cumsum(1),
    "the sum of the angles up to its position": lambda angles: angles.cumsum(0),
    "the first of two angles in two rows, one after the other": lambda angles: np.tile(angles, 2)[:, ::2],
    "the second of two angles in two rows, one after the other": lambda angles: np.tile(angles, 2)[:, 1::2],
    "an angle that serves two pairs, in the first half": lambda angles: angles.repeat(2, 1)[
        :, : angles.shape[1]
    ],
    "an angle that serves two pairs, in the second half": lambda angles: angles.repeat(2, 1)[
        :, angles.shape[1] :
    ],
}
FUNCTIONS = {
    "cos {}": np.cos,
    "sin {}": np.sin,
    "": np.ones_like,
    "{}": lambda angles: angles,
    "|sin {}|": lambda angles: abs(np.sin(angles)),
    "cos² {}": lambda angles: np.cos(angles) ** 2,
    "sin² {}": lambda angles: np.sin(angles) ** 2,
    "tan {}": np.tan,
}
RIGHT = "a cos θ − b sin θ", "a sin θ + b cos θ"
MOST_TEXTS = 2  # that are looked at
FIRST_TERMS, MOST_TERMS, FEWEST_NUMBERS = 6, 4, 60
ROUNDING = 1e-4
LARGEST = 1e3  # of a function of an angle: a larger one hides all others


class Turning(Exercise):
    """`layout` is how an exercise cuts numbers into pairs."""

    layout = ""

    def describe_array(self, index, name, numbers, expected, case):
        """By which formulas both numbers of a pair are made."""
        yield from super().describe_array(index, name, numbers, expected, case)
        x, angles = (each.detach().numpy().astype(float) for each in case.args)
        x, numbers = (each.reshape(-1, *each.shape[-2:])[:MOST_TEXTS] for each in (x, numbers.astype(float)))
        if numbers.size < FEWEST_NUMBERS or not np.isfinite(numbers).all():
            return
        half = angles.shape[1]
        for layout in (self.layout, *(other for other in LAYOUTS if other != self.layout)):
            cuts = list(dict.fromkeys((self.layout, layout, *LAYOUTS)))
            for these, some in (("", slice(0, half)), (", but for the last pair", slice(0, half - 1))):
                terms = list(_terms(x, angles, cuts, some))
                both = [_formula(each[..., some].reshape(-1), terms) for each in LAYOUTS[layout](numbers)]
                if all(both):
                    yield from self._told(f"In {name}{these}", layout, both)
                    return

    def _told(self, start, layout, both):
        notes = list(dict.fromkeys(note for _, each in both for note in each))
        where = f", laid down as {layout}" if layout != self.layout else ""
        wrong = [
            f"the {word} number of a pair is {text}, and {right} is right"
            for word, (text, _), right in zip(("first", "second"), both, RIGHT, strict=True)
            if text != right or where
        ]
        if wrong:
            yield f"{start}{where}, {'; '.join([*wrong, *notes])}."


def _terms(x, angles, layouts, some):
    """What a number may be a sum of: as text, with what it means, and the numbers in one row."""
    for place, cut in enumerate(layouts):
        for letter, part in zip("ab", LAYOUTS[cut](x), strict=True):
            letter, notes = (f"{letter}′", (f"(a′, b′) is a pair of {cut}",)) if place else (letter, ())
            for words, change in ANGLES.items():
                for text, function in list(FUNCTIONS.items())[: 2 if words else None]:
                    factor = function(change(angles))
                    if abs(factor).max() < LARGEST:
                        angle = text.format("θ′" if words else "θ")
                        meant = (*notes, f"θ′ is {words}") if words else notes
                        yield f"{letter} {angle}".strip(), meant, (part * factor)[..., some].reshape(-1)


def _formula(wanted, terms):
    """The few terms whose sum is what is wanted, as text and with what it means; None if there are none.

    The term that is most like what is still missing is taken next (orthogonal matching pursuit), behind each
    of a few that may be first.
    """
    columns = np.stack([numbers / max(np.linalg.norm(numbers), 1e-9) for _, _, numbers in terms], 1)
    plain = [
        place
        for place, (text, _, _) in enumerate(terms)
        if text in ("a cos θ", "a sin θ", "b cos θ", "b sin θ")
    ]
    likely = np.argsort(-abs(wanted @ columns).round(9), kind="stable")[:FIRST_TERMS]
    for chosen in (plain, *([first] for first in likely)):
        while len(chosen) <= MOST_TERMS:
            some = np.stack([terms[place][2] for place in chosen], 1)
            factors = np.linalg.lstsq(some, wanted, rcond=None)[0]
            missing = wanted - some @ factors
            if abs(missing).max() < ROUNDING * abs(wanted).max():
                used = [(*terms[place][:2], factor) for place, factor in zip(chosen, factors, strict=True)]
                used = sorted(term for term in used if abs(term[2]) > ROUNDING)
                text = " ".join(
                    f"{'−' if factor < 0 else '+'} {_times(abs(factor))}{term}" for term, _, factor in used
                )
                return text.removeprefix("+ "), [note for _, notes, _ in used for note in notes]
            chosen.append(int(np.argmax(abs(missing @ columns).round(9))))
    return None


def _times(factor):
    return "" if abs(factor - 1) < ROUNDING else f"{factor:.3g} · "


def turning(name, layout):
    """The exercise, without what only its own layout has."""
    exercise = Turning(
        name,
        results=("turned x",),
        axes=(("tokens", "head size"),),
        draw=LayerDraw,
        mistakes_from=(name, "turning"),
    )
    exercise.layout = layout
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
