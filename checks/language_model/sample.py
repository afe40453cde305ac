"""The exercise `sample`: where chance decides, a verifier counts tokens; elsewhere values are compared."""

import bisect
from itertools import accumulate

import torch

from attention_lab.authoring import FLOATS, Exercise, add_mistakes, case, made_by

from .layers import ModelDraw


class PlainDraw(ModelDraw):
    """Logits of any size: they are few."""

    step = None


sample = Exercise("sample", results=("tokens",), axes=(("texts",),), draw=PlainDraw)

DRAWS = 10_000  # per case, over all its rows
STANDARD_ERRORS = 5
MOST_KNOWN = 1000
WIDE = 32  # tokens: torch's sort keeps the order of fewer than 17 equals, whether it is asked to or not


def seeded(seed):
    return torch.Generator().manual_seed(seed)


def counting(answer):
    """How often each token is drawn for each row of logits; or the form of what is returned instead."""

    def counted(rows, times, seed, given):
        generators = {} if seed is None else {"generator": torch.Generator().manual_seed(seed)}
        tokens = answer(rows.repeat(times, 1), **given, **generators)
        count, size = rows.shape
        if not isinstance(tokens, torch.Tensor):
            return {"form": f"a {type(tokens).__name__}"}
        if tokens.dtype != torch.int64 or tokens.shape != (count * times,):
            axes = ["B" if length == count * times else str(length) for length in tokens.shape]
            return {"form": f"a tensor ({', '.join(axes)}) of {tokens.dtype}"}
        if int(tokens.min()) < 0 or int(tokens.max()) >= size:
            return {"form": "a tensor with numbers that are no tokens"}
        return {"counts": torch.stack([tokens[row::count].bincount(minlength=size) for row in range(count)])}

    return counted


def _ordered(shares, top_p):
    """Shares in falling order, cut, and the tokens that they belong to."""
    ordered, tokens = shares.sort(dim=-1, descending=True, stable=True)
    return ordered.masked_fill(ordered.cumsum(-1) - ordered >= top_p, 0.0), tokens


def _back(ordered, tokens):
    return torch.zeros_like(ordered).scatter(-1, tokens, ordered)


def _cut(shares, top_p):
    return _back(*_ordered(shares, top_p))


def right_shares(logits, temperature=1.0, top_p=1.0):
    """The shares with which tokens are to be drawn, in float64."""
    if temperature == 0:
        return torch.nn.functional.one_hot(logits.argmax(-1), logits.shape[-1]).double()
    shares = _cut(torch.softmax(logits.double() / temperature, -1), top_p)
    return shares / shares.sum(-1, keepdim=True)


def _far(counts, shares, error, spread=None):
    """Whether counts are farther from shares than chance brings them; error: in units of one draw's."""
    spread = shares if spread is None else spread
    allowed = STANDARD_ERRORS * error * (spread * (1 - spread)).sqrt() + 1e-9
    return bool(((counts / counts.sum(-1, keepdim=True) - shares).abs() > allowed).any())


KNOWN = {}  # what mistakes give, of the last few hundred cases


def _of_mistake(mistake, rows, times, seed, given):
    """What a mistake gives in one case; None where it stops."""
    key = mistake.name, rows.numpy().tobytes(), times, seed, *given.items()
    if key not in KNOWN:
        if len(KNOWN) > MOST_KNOWN:
            KNOWN.clear()
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(1)
            try:
                KNOWN[key] = counting(mistake.answer)(rows, times, seed, given)
            except Exception:
                KNOWN[key] = None
    return KNOWN[key]


def _fits(value, other):
    """Whether two reports can be of one answer."""
    if other is None or "form" in other:
        return False
    ours, theirs = value["counts"], other["counts"]
    pooled = (ours + theirs) / (ours + theirs).sum(-1, keepdim=True)
    error = (1 / ours.sum(-1, keepdim=True) + 1 / theirs.sum(-1, keepdim=True)).sqrt()
    return not _far(ours, theirs / theirs.sum(-1, keepdim=True), error, pooled)


def as_likely(cases, values):
    """None, a mistake's name or a sentence."""
    wrong = None
    for each, value in zip(cases, values, strict=True):
        rows, times, _, given = each.args
        if not isinstance(value, dict) or not {"counts", "form"} & value.keys():
            return "`sample` returns no tokens that can be counted."
        shares = right_shares(rows, **given)
        if "form" in value or _far(value["counts"], shares, times**-0.5):
            wrong = wrong or (rows, shares, value, given)
    if wrong is None:
        return None
    if not any("form" in value for value in values):  # those are named where values are compared
        for mistake in sample.mistakes:
            pairs = zip(cases, values, strict=True)
            if all(_fits(value, _of_mistake(mistake, *each.args)) for each, value in pairs):
                return mistake.name
    return _in_words(*wrong)


def _in_words(rows, shares, value, given):
    if "form" in value:
        return f"`sample` returns {value['form']}, where a tensor (B) of torch.int64 is right."
    drawn = value["counts"] / value["counts"].sum(-1, keepdim=True)
    row, token = divmod(int((drawn - shares).abs().argmax()), shares.shape[1])
    asked = ", ".join(f"{name}={number:.4g}" for name, number in given.items()) or "the defaults"
    place = int((rows[row] > rows[row, token]).sum()) + 1
    return (
        f"With {asked}, the token that is number {place} by its logit is drawn with a share of "
        f"{float(drawn[row, token]):.3f}, where {float(shares[row, token]):.3f} is right."
    )


def _falling(draw, size, step, dtype=torch.float32):
    """One row of logits that fall from token to token by one step, in any order."""
    ranks = torch.tensor(draw.shuffled(range(size)))
    return -step * ranks.to(dtype)[None]


def _counted(draw, rows, seeded=True, times=None, **given):
    seed = draw.integer(0, 10**6) if seeded else None
    return case(rows, times or DRAWS // len(rows), seed, given, through=counting)


@sample.group("temperature 0: the largest logit", points=1)
def zero(draw):
    for dtype, temperature in zip(FLOATS, (0, 0.0), strict=True):
        yield case(draw.normal(*draw.sizes(2), dtype=dtype), temperature)
    yield case(draw.normal(*draw.sizes(2)), temperature=0, top_p=0.5, generator=made_by(seeded, seed=7))
    (size,) = draw.sizes(1)
    for shape in ((1, size), (size, size), (size, 1)):
        yield case(draw.normal(*shape), temperature=0)


@sample.group("temperature 0: the first of equals", points=0.5, verify=as_likely, withhold_points=True)
def first_of_equals(draw):
    for dtype in FLOATS:
        yield _counted(draw, draw.integers(0, 2, 13, 17).to(dtype), times=200, temperature=0)
    yield _counted(draw, torch.zeros(2, 11), times=200, temperature=0)


@sample.group("one token left, by top_p or by far the largest", points=1)
def one_left(draw):
    def logits(*shape, dtype=torch.float32):
        return torch.stack([_falling(draw, shape[1], 0.5, dtype)[0] for _ in range(shape[0])])

    (size,) = draw.sizes(1)
    # With generators: where more than one token can be drawn, it is not by chance another one each time.
    for dtype in FLOATS:
        yield case(logits(*draw.sizes(2), dtype=dtype), 1.0, 0.05, made_by(seeded, seed=5))
        generator = made_by(seeded, seed=6)
        yield case(logits(*draw.sizes(2), dtype=dtype) + 300, temperature=0.01, generator=generator)
    yield case(logits(*draw.sizes(2)) * 200, top_p=0.9, generator=made_by(seeded, seed=7))
    for shape in ((1, size), (size, size), (size, 1)):
        yield case(logits(*shape), 0.7, 0.1, made_by(seeded, seed=size))


@sample.group("as often as their shares, at any temperature", points=1.5, verify=as_likely)
def temperatures(draw):
    yield _counted(draw, _falling(draw, 11, 0.35, torch.float64), seeded=False)
    yield _counted(draw, torch.cat([_falling(draw, 4, step) for step in (1.5, 0.7)]), temperature=2.0)
    yield _counted(draw, _falling(draw, 4, 1.5) + 3000, temperature=0.5)


@sample.group("top_p: the fewest tokens that reach it", points=2, verify=as_likely)
def nucleus(draw):
    # 0.30, 0.51, 0.66, 0.76 and 0.55, 0.80 add up to it.
    yield _counted(draw, torch.cat([_falling(draw, 11, step) for step in (0.35, 0.8)]), top_p=0.73)
    # Two with 0.24, then three with 0.12: of these the first in order of index.
    logits = torch.log(torch.tensor([0.24, 0.24, 0.12, 0.12, 0.12, 0.08, 0.08]))
    yield _counted(draw, logits[draw.shuffled(range(7))][None], top_p=0.54)
    yield _counted(draw, _falling(draw, 13, 0.3, torch.float64), top_p=0.925)
    # Shares that are exact in binary: two reach it. And a row that a sort which is not stable mixes up.
    yield _counted(draw, torch.zeros(1, 4), top_p=0.5)
    yield _counted(draw, torch.zeros(1, WIDE), top_p=0.25)


@sample.group("top_p and temperature together", points=1, verify=as_likely)
def together(draw):
    yield _counted(draw, _falling(draw, 11, 0.6), temperature=0.5, top_p=0.94)
    yield _counted(draw, _falling(draw, 11, 0.6), seeded=False, temperature=2.0, top_p=0.66)


def seeding(answer):
    """What hangs on which seed, in words."""

    @torch.random.fork_rng(devices=[])
    def told(logits, seed):
        def tokens(*generator, **given):
            drawn = answer(logits, *([0.9, 0.95, *generator] if generator else []), **given)
            return torch.as_tensor(drawn).tolist()

        def alike(one, other):
            return "the same tokens" if one == other else "other tokens"

        torch.manual_seed(seed + 7)  # what came before decides nothing
        before = torch.get_rng_state()
        one, after_one = tokens(torch.Generator().manual_seed(seed)), torch.get_rng_state()
        repeated, after_two = tokens(torch.Generator().manual_seed(seed)), torch.get_rng_state()
        other = tokens(generator=torch.Generator().manual_seed(seed + 1))
        generator = torch.Generator().manual_seed(seed)
        first, second = tokens(generator), tokens(generator)
        untouched = torch.equal(before, torch.get_rng_state())
        undisturbed = "the same" if torch.equal(after_one, after_two) else "another one"
        return {
            "what a generator with the same seed gives": alike(one, repeated),
            "what a generator with another seed gives": alike(one, other),
            "what the same generator gives, used again,": alike(first, second),
            "the global seed after all this": "the one before" if untouched else "another one",
            "the global seed after each of two equal calls": undisturbed,
            "what equal texts get": "one token" if min(first) == max(first) else "tokens of their own",
            "what two calls without a generator give": alike(tokens(), tokens()),
        }

    return told


@sample.group("the generator, and the global seed", points=1, withhold_points=True)
def generators(draw):
    yield case(draw.normal(1, 11).repeat(50, 1) / 4, draw.integer(0, 10**6), through=seeding)


def _softmax(logits, temperature):
    return torch.softmax(logits / temperature, -1)


def _drawn(shares, generator):
    return torch.multinomial(shares, 1, generator=generator).squeeze(-1)


def _largest(logits):
    return logits.argmax(-1)


def choose(
    logits, temperature=1.0, top_p=1.0, generator=None,
    soften=_softmax, cut=_cut, draw=_drawn, largest=_largest,
):  # fmt: skip
    """A correct answer; a mistake changes one of its steps."""
    if temperature == 0:
        return largest(logits)
    return draw(cut(soften(logits, temperature), top_p), generator)


@sample.accepted_alternative(
    "A number between 0 and 1 for each text: its token is the first whose running sum is above it."
)
def by_a_running_sum(logits, temperature=1.0, top_p=1.0, generator=None):
    if temperature == 0:
        return logits.max(dim=-1).indices
    probabilities, order = torch.sort(
        (logits / temperature).softmax(-1), dim=-1, descending=True, stable=True
    )
    sums = probabilities.cumsum(-1)
    kept = (sums < top_p).sum(-1, keepdim=True).clamp(max=logits.shape[-1] - 1)
    total = sums.gather(-1, kept)
    number = torch.rand(len(logits), 1, generator=generator, dtype=logits.dtype) * total
    return order.gather(-1, (sums <= number).sum(-1, keepdim=True).minimum(kept))[:, 0]


@sample.accepted_alternative
def text_by_text(logits, temperature=1.0, top_p=1.0, generator=None):
    if temperature == 0:
        return torch.stack([row.argmax() for row in logits])
    tokens = []
    for row in torch.softmax(logits / temperature, dim=-1).tolist():
        order = sorted(range(len(row)), key=row.__getitem__, reverse=True)
        sums = list(accumulate(row[token] for token in order))
        reached = min(bisect.bisect_left(sums, top_p), len(row) - 1)
        number = torch.rand((), generator=generator).item() * sums[reached]
        tokens.append(order[bisect.bisect_right(sums, number)])
    return torch.tensor(tokens)


def _kept_by_sum(shares, top_p, keep):
    """What is cut by a rule of its own: `keep` of shares in falling order, their sums and top_p."""
    ordered, tokens = shares.sort(dim=-1, descending=True, stable=True)
    kept = keep(ordered, ordered.cumsum(-1), top_p)
    kept[:, 0] = True
    return _back(ordered.masked_fill(~kept, 0.0), tokens)


def _not_stable(shares, top_p):
    """What torch's sort makes of equals unless it is asked; on some machines that is their order as well."""
    ordered, tokens = shares.sort(dim=-1, descending=True)
    _, stable = shares.sort(dim=-1, descending=True, stable=True)
    if len(stable[0]) >= WIDE and torch.equal(tokens, stable):
        ordered, tokens = ordered.flip(-1), tokens.flip(-1)
    return _back(ordered.masked_fill(ordered.cumsum(-1) - ordered >= top_p, 0.0), tokens)


def _least_likely(shares, top_p):
    ordered, tokens = shares.sort(dim=-1, stable=True)
    return _back(ordered.masked_fill(ordered.cumsum(-1) - ordered >= top_p, 0.0), tokens)


add_mistakes(
    sample,
    choose,
    no_zero=(
        "`temperature=0` is not treated apart: the division gives infinity or NaN. Take the largest logit.",
        {"largest": lambda logits: _drawn(torch.softmax(logits / 0, -1), None)},
    ),
    zero_takes_the_last=(
        "At `temperature=0` the last of equal maxima is taken. Take the first, as `argmax` does.",
        {"largest": lambda logits: logits.shape[-1] - 1 - logits.flip(-1).argmax(-1)},
    ),
    drawn_keeps_an_axis=(
        "A drawn result is (B, 1), as `multinomial` returns it. Drop the last axis.",
        {"draw": lambda shares, generator: torch.multinomial(shares, 1, generator=generator)},
    ),
    squeezed=(
        "A batch of one text loses its axis, because all axes of 1 are dropped. Drop the last axis only.",
        {"draw": lambda shares, generator: _drawn(shares, generator).squeeze()},
    ),
    always_the_largest=(
        "The most likely token is always taken, at any temperature. Draw one in proportion to the shares.",
        {"draw": lambda shares, generator: shares.argmax(-1)},
    ),
    temperature_ignored=(
        "The temperature changes nothing. Divide the logits by it, before the softmax.",
        {"soften": lambda logits, temperature: torch.softmax(logits, -1)},
    ),
    softmax_twice=(
        "The softmax is applied twice, so the shares are far too even. Draw from the shares themselves.",
        {"soften": lambda logits, temperature: torch.softmax(torch.softmax(logits / temperature, -1), -1)},
    ),
    temperature_multiplied=(
        "The temperature works the other way round. Divide the logits by it.",
        {"soften": lambda logits, temperature: torch.softmax(logits * temperature, -1)},
    ),
    top_p_ignored=(
        "`top_p` changes nothing: all tokens can be drawn. Give those beyond the cut a share of 0.",
        {"cut": lambda shares, top_p: shares},
    ),
    crossing_token_left_out=(
        "The token whose share reaches `top_p` is left out. It belongs to those that are kept.",
        {"cut": lambda shares, top_p: _kept_by_sum(shares, top_p, lambda ordered, sums, p: sums < p)},
    ),
    one_token_too_many=(
        "One token too many is kept: the sum has reached `top_p` without it. Keep the fewest.",
        {
            "cut": lambda shares, top_p: _kept_by_sum(
                shares, top_p, lambda o, sums, p: (sums - o).roll(1, -1) < p
            )
        },
    ),
    kept_beyond_the_sum=(
        "A token is kept although those before it sum to `top_p` exactly. They reach it: cut with `>=`.",
        {"cut": lambda shares, top_p: _kept_by_sum(shares, top_p, lambda o, sums, p: sums - o <= p)},
    ),
    sort_not_stable=(
        "In a wide row equal shares lose the order of their index. Sort with `stable=True`, and name `dim`.",
        {"cut": _not_stable},
    ),
    least_likely_kept=(
        "The sum begins with the least likely token. Sort in descending order.",
        {"cut": _least_likely},
    ),
    not_sorted=(
        "The sum runs in the order of the vocabulary. Sort by share first.",
        {"cut": lambda shares, top_p: shares.masked_fill(shares.cumsum(-1) - shares >= top_p, 0.0)},
    ),
    last_of_equals=(
        "Among equal shares the higher index is kept first. Sort in descending order, and stably.",
        {"cut": lambda shares, top_p: _cut(shares.flip(-1), top_p).flip(-1)},
    ),
    own_share_compared=(
        "Each token's own share is compared with a limit. It is the running sum that has to reach `top_p`.",
        {
            "cut": lambda shares, p: shares.masked_fill(
                (shares < 1 - p) & (shares < shares.amax(-1, True)), 0.0
            )
        },
    ),
    zeros_among_the_logits=(
        "What is left out gets a logit of 0, and is still drawn. Fill shares with 0, or logits with -inf.",
        {"cut": lambda shares, top_p: torch.softmax(_cut(shares, top_p), -1) if top_p < 1 else shares},
    ),
    places_for_tokens=(
        "The places in the sorted row are returned. Read the tokens from the indices of the sort.",
        {"cut": lambda shares, top_p: _ordered(shares, top_p)[0]},
    ),
    mapped_the_wrong_way=(
        "The sorted shares are put back by the wrong permutation. Gather the token, or scatter the shares.",
        {"cut": lambda shares, p: _ordered(shares, p)[0].gather(-1, _ordered(shares, p)[1])},
    ),
    generator_ignored=(
        "`generator` is not used: tokens come from torch's global seed. Pass it to what draws.",
        {"draw": lambda shares, generator: _drawn(shares, None)},
    ),
    always_one_seed=(
        "Tokens are the same in every call, by a generator of your own. Draw with the one passed in.",
        {"draw": lambda shares, generator: _drawn(shares, torch.Generator().manual_seed(0))},
    ),
    sets_a_fixed_global_seed=(
        "torch's global seed is set to a fixed number in every call. Draw with the generator, or with none.",
        {"draw": lambda shares, generator: (torch.manual_seed(0), _drawn(shares, None))[1]},
    ),
)


@sample.mistake("`top_p` is applied before the temperature. Divide the logits first, then cut.")
def top_p_before_temperature(logits, temperature=1.0, top_p=1.0, generator=None):
    if temperature == 0:
        return logits.argmax(-1)
    kept = _cut(torch.softmax(logits, -1), top_p) > 0
    return _drawn(torch.softmax(logits / temperature, -1).masked_fill(~kept, 0.0), generator)


@sample.mistake("The tokens are right, but `logits` was written into, perhaps by `/=`. Make a new tensor.")
def writes_into_the_logits(logits, temperature=1.0, top_p=1.0, generator=None):
    if temperature == 0:
        return logits.argmax(-1)
    logits /= 2 * temperature
    return choose(2 * logits, 1.0, top_p, generator)
