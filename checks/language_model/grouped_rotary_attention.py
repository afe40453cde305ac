"""The exercise `GroupedRotaryAttention`, and the mistakes it can name."""

import math

import torch

from attention_lab.authoring import FUSED_ATTENTION, Exercise, add_mistakes, build, case

from .layers import OF_ANGLES, Attention, ModelDraw, attention_state


def pair(answered):
    """The two results of a call, whose cache is a pair as well."""
    match answered:
        case [torch.Tensor(), [torch.Tensor(), torch.Tensor()]]:
            return answered
    raise TypeError(f"a {type(answered).__name__} is returned, and (output, (key, value)) asked for")


class WrongParametersError(Exception):
    """The layer's parameters do not fit the weights that the judge sent."""


def with_weights(answer, sizes, state, dtype):
    """The layer on these weights; other entries of its state_dict are another group's subject."""
    layer = answer(*sizes).to(dtype)
    own, sent = (
        {name: tuple(weight.shape) for name, weight in weights}
        for weights in (layer.named_parameters(), state.items())
    )
    wrong = [name for name in own | sent if own.get(name) != sent.get(name)]
    if wrong:
        raise WrongParametersError(f"missing, too many or of another shape: {', '.join(wrong)}")
    layer.load_state_dict(state, strict=False)
    return layer


def walking(answer):
    """The layer goes over a text in steps: the number of a piece, and that of the cache that it is behind."""

    def walked(x, sizes, state, lengths, steps=()):
        layer = with_weights(answer, sizes, state, x.dtype)
        pieces, outputs, caches = x.split(lengths, dim=1), [], [None]
        for piece, past in steps or ((number, number) for number in range(len(lengths))):
            output, cache = pair(layer(pieces[piece], caches[past]))
            outputs.append(output)
            caches.append(cache)
        keys, values = zip(*caches[1:], strict=True)
        return torch.cat(outputs, dim=1), (torch.cat(keys, dim=2), torch.cat(values, dim=2))

    return walked


def walking_without_gradients(answer):
    """The same without gradients, as in generation."""
    return torch.no_grad()(walking(answer))


def state_of(answer):
    """The names in a layer's state_dict, with their shapes in words, after two calls."""

    def named(sizes, x):
        layer = answer(*sizes)
        layer(x, pair(layer(x))[1])
        return {name: f"shape {tuple(entry.shape)}" for name, entry in layer.state_dict().items()}

    return named


grouped_rotary_attention = Exercise(
    "GroupedRotaryAttention",
    results=("output", "cache"),
    axes=(("batch", "new tokens", "embedding"), ("batch", "key/value heads", "tokens", "head size")),
    not_allowed=(FUSED_ATTENTION,),
    draw=ModelDraw,
    tolerance=OF_ANGLES,
)

# Query heads, key/value heads, head size.
LARGE, THREE_TO_ONE, TWO_TO_ONE = (14, 7, 18), (6, 2, 8), (10, 5, 8)
ALIKE, SHARED = (7, 7, 14), (7, 1, 14)
# One cache is continued in two ways, then the first of them goes on, and then it is begun once more.
TWICE = ((0, 0), (1, 1), (2, 1), (2, 2), (1, 1))


def _layer(draw, sizes, double=False, **given):
    """The layer with weights of the judge's."""
    heads, kv_heads, head_size = sizes
    state = attention_state(draw, heads * head_size, kv_heads * head_size)
    return build(heads * head_size, heads, kv_heads, state=state, double=double, **given)


def _case(draw, sizes, past=False, double=False, gradients=False, new=None, **given):
    heads, kv_heads, head_size = sizes
    dtype = torch.float64 if double else torch.float32
    batch, length, before = draw.shuffled((11, 13, 15))
    x = draw.normal(batch, new or length, heads * head_size, dtype=dtype)
    shape, kind = (batch, kv_heads, before, head_size), list if double else tuple
    cache = [kind(draw.normal(*shape, dtype=dtype) for _ in range(2))] if past else []
    return case(x, *cache, build=_layer(draw, sizes, double, **given), gradients=gradients)


def _walk(draw, sizes, lengths, steps=(), through=walking, double=False, gradients=False):
    heads, kv_heads, head_size = sizes
    width = heads * head_size
    x = draw.normal(3, sum(lengths), width, dtype=torch.float64 if double else torch.float32)
    state = attention_state(draw, width, kv_heads * head_size)
    given = [width, heads, kv_heads], state, list(lengths), list(steps)
    return case(x, *given, through=through, gradients=gradients)


@grouped_rotary_attention.group("its four weights, and nothing else in its state_dict", points=0.5)
def parameters(draw):
    for heads, kv_heads, size in (LARGE, SHARED):
        yield case(build=build(heads * size, heads, kv_heads, look=("parameters",)))
        yield case([heads * size, heads, kv_heads], draw.normal(2, 3, heads * size), through=state_of)


@grouped_rotary_attention.group("with the weights it draws itself", points=0.5, fresh=True)
def own_weights(draw):
    heads, kv_heads, size = LARGE
    fresh = build(heads * size, heads, kv_heads, look=("result", "state"))
    yield case(4 * draw.normal(11, 13, heads * size), build=fresh)


@grouped_rotary_attention.group("without a cache: one causal pass", points=2)
def one_pass(draw):
    yield _case(draw, LARGE)
    yield _case(draw, THREE_TO_ONE)
    yield _case(draw, TWO_TO_ONE, double=True)


@grouped_rotary_attention.group("one key/value head, and as many as query heads", points=1)
def extremes(draw):
    for past in (False, True):
        yield _case(draw, SHARED, past, double=past)
        yield _case(draw, ALIKE, past)


@grouped_rotary_attention.group("behind a cache, one new token and several", points=2)
def behind_a_cache(draw):
    yield _case(draw, LARGE, past=True)
    yield _case(draw, THREE_TO_ONE, past=True, double=True)
    yield _case(draw, TWO_TO_ONE, past=True, new=1, double=True)
    yield _case(draw, TWO_TO_ONE, past=True)


@grouped_rotary_attention.group("a text in pieces, token by token too", points=1)
def pieces(draw):
    yield _walk(draw, THREE_TO_ONE, draw.shuffled((1, 4, 6)))
    yield _walk(draw, TWO_TO_ONE, draw.shuffled((2, 3, 5)), double=True)
    yield _walk(draw, TWO_TO_ONE, (1,) * 6)
    yield _walk(draw, THREE_TO_ONE, (5, 1, 1, 1))


@grouped_rotary_attention.group("one cache continued twice", points=1)
def branches(draw):
    yield _walk(draw, TWO_TO_ONE, draw.shuffled((3, 4, 6)), TWICE)
    yield _walk(draw, THREE_TO_ONE, (6, 1, 1), TWICE, walking_without_gradients, double=True)


@grouped_rotary_attention.group("another base", points=0.5)
def another_base(draw):
    yield _case(draw, LARGE, base=100.0)
    yield _case(draw, TWO_TO_ONE, past=True, base=500.0)


@grouped_rotary_attention.group("equal sizes: as many texts, heads and tokens", points=0.5)
def equal_sizes(draw):
    for batch, past, new, (heads, kv_heads, size) in (
        (8, 0, 8, (8, 4, 6)),  # not as many heads as numbers in a head: √E would be D
        (4, 4, 4, (8, 4, 4)),
        (2, 2, 4, (4, 2, 2)),
        (1, 14, 14, (1, 1, 14)),
        (1, 0, 1, (1, 1, 14)),
    ):
        cache = [tuple(draw.normal(batch, kv_heads, past, size) for _ in range(2))] if past else []
        yield case(draw.normal(batch, new, heads * size), *cache, build=_layer(draw, (heads, kv_heads, size)))
    heads, kv_heads, size = ALIKE
    yield case(draw.normal(7, 7, heads * size), build=_layer(draw, ALIKE))


def _large_scores(draw, past):
    """Scores from -1e4 to 1e4, positive in even key/value heads, negative in odd ones: later keys
    score higher. The slowest pair makes them, which hardly turns with so large a base.
    """
    heads, kv_heads, size = TWO_TO_ONE
    batch, new = 3, 7
    layer = _layer(draw, TWO_TO_ONE, base=1e15)
    root = math.sqrt(1e4 * math.sqrt(size))
    for name, count, sign in (("query", heads, 1), ("key", kv_heads, -1)):
        rows = layer.state[f"{name}.weight"].view(count, size, -1)[:, size - 2]
        rows[:] = 0.0
        for head in range(count):
            odd = head // (heads // kv_heads if name == "query" else 1) % 2
            rows[head, odd] = root * (sign if odd else 1)
    x = draw.normal(batch, new, heads * size)
    x[..., 0] = draw.in_steps(torch.linspace(0.5, 1, new))
    x[..., 1] = draw.in_steps(torch.linspace(1, 0.5, past + new)[past:])
    if not past:
        return case(x, build=layer)
    cache = tuple(draw.normal(batch, kv_heads, past, size) for _ in range(2))
    cache[0][..., size - 2] = 0.0
    cache[0][:, 1::2, :, size - 2] = -root
    return case(x, cache, build=layer)


@grouped_rotary_attention.group("positions up to 2,048, and large scores", points=1)
def far_and_large(draw):
    heads, kv_heads, size = SHARED
    for before in (draw.integer(301, 311), draw.integer(2025, 2033)):
        far = tuple(4 * draw.normal(1, kv_heads, before, size) for _ in range(2))
        yield case(draw.normal(1, 13, heads * size) / 16, far, build=_layer(draw, SHARED))
    yield _large_scores(draw, past=0)
    yield _large_scores(draw, past=4)


@grouped_rotary_attention.group("gradients, also through the cache", points=1)
def gradients(draw):
    yield _case(draw, LARGE, double=True, gradients=True)
    yield _case(draw, TWO_TO_ONE, past=True, gradients=True)
    yield _walk(draw, THREE_TO_ONE, (3, 1, 2), gradients=True)


@grouped_rotary_attention.group("widths, groups and head sizes that are refused", points=1)
def refusals(draw):
    width, heads = draw.indivisible()
    for kv_heads in (heads, 1):
        yield case(build=build(width, heads, kv_heads, look=()), refuses=(width, heads))
    for heads, kv_heads, size in ((7, 14, 26), (14, 4, 8), (11, 7, 14)):
        yield case(build=build(heads * size, heads, kv_heads, look=()), refuses=(heads, kv_heads))
    heads, kv_heads, size = 14, 7, draw.shuffled((11, 13, 15))[0]
    layer = build(heads * size, heads, kv_heads, look=())
    yield case(build=layer, refuses=(size,), or_naming=(heads * size, heads))


@grouped_rotary_attention.accepted_alternative(
    "The turn as a product of complex numbers, and an axis for the group. "
    "(A sketch: `Attention` does the rest.)"
)
class ByComplexNumbers(Attention):
    def turn(self, x, first=0):
        angles = self.angles(x, first)
        pairs = torch.complex(x[..., 0::2], x[..., 1::2]) * torch.polar(torch.ones_like(angles), angles)
        return torch.view_as_real(pairs).flatten(-2)

    def share(self, x):
        return x[:, :, None]

    def attend(self, query, key, value):
        return super().attend(query.unflatten(1, (self.num_kv_heads, -1)), key, value).flatten(1, 2)


@grouped_rotary_attention.accepted_alternative(
    "A table of all angles is made once, and the heads come one by one. "
    "(A sketch: `Attention` does the rest.)"
)
class HeadByHead(Attention):
    def __init__(self, embed_dim, num_heads, num_kv_heads, base=10000.0):
        super().__init__(embed_dim, num_heads, num_kv_heads, base)
        rates = 1.0 / (
            base ** (torch.arange(0, embed_dim // num_heads, 2).float() / (embed_dim // num_heads))
        )
        self.register_buffer("table", torch.outer(torch.arange(2100.0), rates), persistent=False)

    def turn(self, x, first=0):
        angles = self.table[first : first + x.shape[2]].repeat_interleave(2, -1)
        partners = torch.stack([-x[..., 1::2], x[..., 0::2]], -1).reshape(x.shape)
        return x * angles.cos() + partners * angles.sin()

    def share(self, x):
        return x

    def attend(self, query, key, value):
        later = torch.ones(query.shape[2], key.shape[2]).triu(key.shape[2] - query.shape[2] + 1) == 1
        heads = []
        for head in range(self.num_heads):
            shared = head // (self.num_heads // self.num_kv_heads)
            scores = query[:, head] @ key[:, shared].mT / math.sqrt(query.shape[-1])
            heads.append(scores.masked_fill(later, -1e9).softmax(-1) @ value[:, shared])
        return torch.stack(heads, dim=1)


def _turned_whole(layer, x, past, keys):
    """Queries, and keys too, that are turned as one wide head each."""
    query, key = (layer.turn(part(x)[:, None], past)[:, 0] for part in (layer.query, layer.key))
    key = layer.split(key, layer.num_kv_heads) if keys else Attention.project(layer, x, past)[1]
    return layer.split(query, layer.num_heads), key, layer.split(layer.value(x), layer.num_kv_heads)


def _scattered_keys(layer, query, key, value, past):
    """Keys that were cut into (D, H_kv), and not (H_kv, D)."""
    key = layer.merge(key).unflatten(-1, (-1, layer.num_kv_heads)).movedim(-1, 1)
    return layer.turn(query, past), layer.turn(key, past), value


def _repeated(query, *parts):
    """Key and value with as many heads as the query."""
    return query, *(part.repeat_interleave(query.shape[1] // part.shape[1], dim=1) for part in parts)


def _refuse_without_numbers(layer, whole, parts):
    if whole % parts:
        raise ValueError("the sizes do not fit together")


add_mistakes(
    grouped_rotary_attention,
    Attention,
    # First: in the group of refusals every mistake that refuses in its own words is alike.
    SentenceWithoutNumbers=(
        "A ValueError does not name what does not fit: `embed_dim` and `num_heads`, both numbers of heads, "
        "or the odd head size. Check these in this order, and put the numbers into the sentence.",
        {"refuse": _refuse_without_numbers, "refuse_groups": _refuse_without_numbers},
    ),
    RepeatsWholeRows=(
        "Query head h gets keys or values of head h % H_kv. It should be h // G: repeat each head by itself.",
        {"share": lambda self, x: x.repeat(1, self.num_heads // self.num_kv_heads, 1, 1)},
    ),
    CacheOfRepeatedHeads=(
        "The cache that you return holds H heads: it was taken after the repetition. Store the H_kv ones.",
        {"returned_cache": lambda self, old, new, total: tuple(self.share(part) for part in total)},
    ),
    RepeatedBeforeTheCache=(
        "New keys and values are repeated before they join the cache, so it holds H heads. Store H_kv.",
        {
            "turned": lambda self, *parts: _repeated(*Attention.turned(self, *parts)),
            "share": lambda self, x: x,
        },
    ),
    KeysAsWideAsQueries=(
        "`key` and `value` map E to E numbers, so nothing is saved. Map E to H_kv · D.",
        {"kv_width": lambda self, embed_dim, num_heads, num_kv_heads: embed_dim},
    ),
    WithBias=(
        "The projections have a bias, which nn.Linear adds by default. All four are made with `bias=False`.",
        {"with_bias": True},
    ),
    WritesIntoTheList=(
        "The numbers are right, but the list passed in as the cache was written into. Return a new pair.",
        {
            "returned_cache": lambda self, old, new, total: (
                old.__setitem__(slice(2), total) if isinstance(old, list) else None,
                total,
            )[1]
        },
    ),
    MergesWithoutTranspose=(
        "The heads are merged without swapping T and H back, so tokens are mixed. Swap first.",
        {"merge": lambda self, x: x.reshape(x.shape[0], x.shape[2], -1)},
    ),
    ForgetsTheOutputProjection=(
        "The merged heads are returned as they are: `output` is never used. Send them through it.",
        {"finish": lambda self, merged: merged},
    ),
    RefusesNoGroups=(
        "Query heads that the key/value heads do not divide are not refused. Raise a ValueError with both.",
        {"refuse_groups": lambda self, num_heads, num_kv_heads: None},
    ),
    OddHeadsAccepted=(
        "A head of odd size is accepted, and one number would have no partner. Raise a ValueError.",
        {"refuse_odd": lambda self, embed_dim, num_heads: None},
    ),
    NotScaled=(
        "The scores are not scaled, so the weights are far too sharp. Divide by √D.",
        {"scale": lambda self, head_size: 1.0},
    ),
    SoftmaxOverQueries=(
        "The softmax is over the queries, dim −2. The weights of each query sum to 1: over the keys, dim −1.",
        {"softmax": lambda self, scores: torch.softmax(scores, dim=-2)},
    ),
    NoMask=(
        "Nothing is hidden: a token sees those that come after it. It may see the past and itself.",
        {"diagonal": lambda self, new, total: total},
    ),
    NoMaskBehindACache=(
        "With a cache, nothing is hidden among the new tokens. Token i may not see the new ones after it.",
        {"diagonal": lambda self, new, total: 0 if new == total else total},
    ),
    NoOffset=(
        "After a cache, new token i sees the first i + 1 keys only. Shift the diagonal by T_past.",
        {"diagonal": lambda self, new, total: 0},
    ),
    OneAhead=(
        "The mask is one position ahead: each token also sees the one after it. It may see up to itself.",
        {"diagonal": lambda self, new, total: total - new + 1},
    ),
    ValuesTurned=(
        "The values are turned as well. What a token passes on does not depend on its position.",
        {"turned": lambda self, *parts: tuple(self.turn(part, parts[-1]) for part in parts[:-1])},
    ),
    TurnedBeforeTheSplit=(
        "Queries and keys are turned before they are cut into heads, so heads turn at wrong speeds.",
        {"project": lambda self, x, past: _turned_whole(self, x, past, keys=True)},
    ),
    QueriesNotTurned=(
        "The queries are not turned, only the keys. Turn both, each from its own position.",
        {"turned": lambda self, query, key, value, past: (query, self.turn(key, past), value)},
    ),
    KeysNotTurned=(
        "The keys are not turned, only the queries. Turn both, each from its own position.",
        {"turned": lambda self, query, key, value, past: (self.turn(query, past), key, value)},
    ),
    QueriesTurnedBeforeTheSplit=(
        "The queries are turned before they are cut into heads, so heads turn at other speeds. Cut first.",
        {"project": lambda self, x, past: _turned_whole(self, x, past, keys=False)},
    ),
    HeadsOfScatteredNumbers=(
        "Each head gets every H-th number of a token. It is D numbers next to each other: (H, D).",
        {"split": lambda self, x, heads: x.unflatten(-1, (-1, heads)).movedim(-1, 1)},
    ),
    KeysOfScatteredNumbers=(
        "Each key head gets every H_kv-th number of a token. It is D numbers next to each other: (H_kv, D).",
        {"turned": _scattered_keys},
    ),
    CutWithoutTranspose=(
        "Tokens and heads are mixed: cut (B, T, H · D) into (B, T, H, D), then swap T and H.",
        {"split": lambda self, x, heads: x.reshape(x.shape[0], heads, x.shape[1], -1)},
    ),
    NothingTurned=(
        "Nothing is turned: this is attention without positions. Turn queries and keys before the scores.",
        {"turn": lambda self, x, first=0: x},
    ),
    Halves=(
        "Halves were turned, pairs (i, i + D/2). Turn neighbours, (2i, 2i+1), with `rotate`.",
        {"pairs": lambda self, x: x.chunk(2, dim=-1), "join": lambda self, turned: torch.cat(turned, -1)},
    ),
    BaseIgnored=(
        "`base` changes nothing: the layer always turns with 10000. Pass it to the angles.",
        {"rates": lambda self, exponents: 10000.0**-exponents},
    ),
    PositionsInHalfPrecision=(
        "Positions far from the beginning are rough: they were kept in half precision, which cannot hold "
        "every whole number above 256. Make them and the angles in float32.",
        {"positions": lambda self, first, length: torch.arange(first, first + length).bfloat16().double()},
    ),
    StartsAgain=(
        "After a cache the positions start at 0 again. Begin with the length of the cached keys.",
        {"project": lambda self, x, past: Attention.project(self, x, 0)},
    ),
    PastWithTheNew=(
        "After a cache the positions begin T_new too late: the past was counted after the new keys "
        "joined it. Read the length of the cache before.",
        {"project": lambda self, x, past: Attention.project(self, x, past and past + x.shape[1])},
    ),
    TurnedTwice=(
        "The cached keys are turned once more. Turn the new keys only, before they join the cache.",
        {
            "extend": lambda self, cache, *new: Attention.extend(
                self, cache and (self.turn(cache[0]), cache[1]), *new
            )
        },
    ),
    StoredUnturned=(
        "The cache holds keys that are not turned. Turn the new keys, then store them.",
        {
            "turned": lambda self, query, key, value, past: (self.turn(query, past), key, value),
            "attend": lambda self, query, key, value: Attention.attend(self, query, self.turn(key), value),
        },
    ),
    ValueBeforeKey=(
        "The cache that you return is (value, key). The order is (key, value).",
        {"returned_cache": lambda self, old, new, total: total[::-1]},
    ),
    NewBeforePast=(
        "The new keys and values are put before the past. Join them behind it.",
        {
            "extend": lambda self, cache, *new: (
                new if cache is None else tuple(torch.cat(pair, 2) for pair in zip(new, cache, strict=True))
            )
        },
    ),
    ReturnsNewOnesOnly=(
        "The cache that you return holds the new tokens only. Return past and new together.",
        {"returned_cache": lambda self, old, new, total: new},
    ),
    OutputOnly=(
        "You return the output only. Return a pair, (output, cache), even if no cache was passed in.",
        {"forward": lambda self, x, cache=None: Attention.forward(self, x, cache)[0]},
    ),
)

grouped_rotary_attention.causes_in_steps(
    Attention,
    {
        "the scores were divided by √E": {
            "scale": lambda self, head_size: math.sqrt(head_size * self.num_heads)
        },
        "the scores were divided by D, and not by its root": {"scale": lambda self, head_size: head_size},
    },
)
