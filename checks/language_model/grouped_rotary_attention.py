"""The exercise `GroupedRotaryAttention`, and right answers written in other ways."""

import math

import torch
import torch.nn as nn

from attention_lab.authoring import FUSED_ATTENTION, SUMS_OF_PRODUCTS, Exercise, Tolerance, build, case

from .layers import Attention, ModelDraw

RIGHT_FORM = "(tensor of 3 axes, (tensor of 4 axes, tensor of 4 axes))"  # output, (key, value)


class WrongParametersError(Exception):
    """The layer's parameters do not fit the weights that the judge sent."""


def form(thing):
    if isinstance(thing, (tuple, list)):
        return f"({', '.join(map(form, thing))})"
    return f"tensor of {thing.dim()} axes" if isinstance(thing, torch.Tensor) else type(thing).__name__


def pair(answered):
    """The two results of a call. Whatever else comes back is told apart in words."""
    if answered is None:
        raise TypeError("nothing is returned: is the `return` line missing?")
    if form(answered) != RIGHT_FORM:
        raise TypeError(f"{form(answered)} is returned, and (output, (key, value)) asked for: {RIGHT_FORM}")
    return answered


def with_weights(answer, sizes, state, dtype):
    """The layer on these weights; other entries of its state_dict are another group's subject."""
    layer = answer(*sizes).to(dtype)
    own = dict(layer.named_parameters())
    wrong = [name for name in {**state, **own} if name not in own or name not in state]
    wrong += [name for name in own if name in state and own[name].shape != state[name].shape]
    if wrong:
        raise WrongParametersError(f"missing, too many or of another shape: {', '.join(wrong[:4])}")
    layer.load_state_dict(state, strict=False)
    return layer


def in_pieces(answer):
    """The layer goes over a text piece by piece; all its outputs, and the last cache."""

    def walked(x, sizes, state, lengths):
        layer = with_weights(answer, sizes, state, x.dtype)
        outputs, cache = [], None
        for piece in x.split(lengths, dim=1):
            output, cache = pair(layer(piece, cache))
            outputs.append(output)
        key, value = cache
        return torch.cat(outputs, dim=1), (key, value)

    return walked


def twice(answer):
    """One cache is continued in two ways, then the first of them goes on, and then it is begun once more."""

    def walked(x, sizes, state, lengths):
        layer = with_weights(answer, sizes, state, x.dtype)
        prompt, one, other = x.split(lengths, dim=1)
        first, cache = pair(layer(prompt))
        second, branch = pair(layer(one, cache))
        outputs = [first, second]
        for piece, past in ((other, cache), (other, branch), (one, cache)):
            outputs.append(pair(layer(piece, past))[0])
        key, value = cache
        return torch.cat(outputs, dim=1), (key, value)

    return walked


def twice_without_gradients(answer):
    """The same without gradients, as in generation."""
    return torch.no_grad()(twice(answer))


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
    # Angles made in float32 are right, whatever the dtype of x.
    tolerance=Tolerance(float32=SUMS_OF_PRODUCTS.float32, float64=SUMS_OF_PRODUCTS.float32),
)

# Query heads, key/value heads, head size.
LARGE, THREE_TO_ONE, TWO_TO_ONE = (14, 7, 18), (6, 2, 8), (10, 5, 8)
ALIKE, SHARED = (7, 7, 14), (7, 1, 14)


def _state(draw, heads, kv_heads, head_size):
    width, kv_width = heads * head_size, kv_heads * head_size
    rows = {"query": width, "key": kv_width, "value": kv_width, "output": width}
    return {f"{name}.weight": draw.linear(count, width) for name, count in rows.items()}


def _layer(draw, sizes, double=False, **given):
    """The layer with weights of the judge's."""
    heads, kv_heads, head_size = sizes
    return build(heads * head_size, heads, kv_heads, state=_state(draw, *sizes), double=double, **given)


def _case(draw, sizes, past=False, double=False, gradients=False, new=None, **given):
    heads, kv_heads, head_size = sizes
    dtype = torch.float64 if double else torch.float32
    batch, length, before = draw.shuffled((11, 13, 15))
    x = draw.normal(batch, new or length, heads * head_size, dtype=dtype)
    caches = (
        [tuple(draw.normal(batch, kv_heads, before, head_size, dtype=dtype) for _ in range(2))]
        if past
        else []
    )
    if double:
        caches = list(map(list, caches))
    return case(x, *caches, build=_layer(draw, sizes, double, **given), gradients=gradients)


def _walk(draw, sizes, lengths, through=in_pieces, double=False, gradients=False):
    heads, kv_heads, head_size = sizes
    x = draw.normal(3, sum(lengths), heads * head_size, dtype=torch.float64 if double else torch.float32)
    arguments = [heads * head_size, heads, kv_heads], _state(draw, *sizes), list(lengths)
    return case(x, *arguments, through=through, gradients=gradients)


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
    yield _walk(draw, TWO_TO_ONE, draw.shuffled((3, 4, 6)), twice)
    yield _walk(draw, THREE_TO_ONE, (6, 1, 1), twice_without_gradients, double=True)


@grouped_rotary_attention.group("another base", points=0.5)
def another_base(draw):
    yield _case(draw, LARGE, base=100.0)
    yield _case(draw, TWO_TO_ONE, past=True, base=500.0)


@grouped_rotary_attention.group("equal sizes: as many texts, heads and tokens", points=0.5)
def equal_sizes(draw):
    for batch, past, new, (heads, kv_heads, size) in (
        (8, 0, 8, (8, 4, 8)),
        (4, 4, 4, (4, 2, 4)),
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
        far = tuple(draw.normal(1, kv_heads, before, size) / 16 for _ in range(2))
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
    "The turn as a product of complex numbers, and the queries of a group on an axis of their own, over "
    "which one key/value head is broadcast. (Only these steps are shown.)"
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
    "Named axes tell the group g from the key/value head k, and the mask compares positions. (Only this "
    "step is shown.)"
)
class ByEinsum(Attention):
    def share(self, x):
        return x

    def attend(self, query, key, value):
        grouped = query.unflatten(1, (self.num_kv_heads, -1)) * query.shape[-1] ** -0.5
        scores = torch.einsum("bkgqd,bktd->bkgqt", grouped, key)
        places = torch.arange(key.shape[2])
        later = places > places[-query.shape[2] :, None]
        weights = scores.masked_fill(later, -1e9).softmax(-1)
        return torch.einsum("bkgqt,bktd->bkgqd", weights, value).flatten(1, 2)


@grouped_rotary_attention.accepted_alternative
class WithoutHelpers(nn.Module):
    def __init__(self, embed_dim, num_heads, num_kv_heads, base=10000.0):
        super().__init__()
        self.D, rest = divmod(embed_dim, num_heads)
        if rest or self.D % 2 or num_heads % num_kv_heads:
            message = f"{embed_dim} numbers, {num_heads} heads of {self.D}, {num_kv_heads} key/value heads"
            raise ValueError(message)
        self.H, self.K, self.base = num_heads, num_kv_heads, base
        self.query = nn.Linear(embed_dim, embed_dim, bias=False)
        self.key = nn.Linear(embed_dim, num_kv_heads * self.D, bias=False)
        self.value = nn.Linear(embed_dim, num_kv_heads * self.D, bias=False)
        self.output = nn.Linear(embed_dim, embed_dim, bias=False)
        rates = 1.0 / (base ** (torch.arange(0, self.D, 2).float() / self.D))
        self.register_buffer("angles", torch.outer(torch.arange(2100.0), rates), persistent=False)

    def turned(self, x, past):
        angles = self.angles[past : past + x.shape[2]].repeat_interleave(2, -1)
        partners = torch.stack([-x[..., 1::2], x[..., 0::2]], -1).reshape(x.shape)
        return x * angles.cos() + partners * angles.sin()

    def forward(self, x, cache=None):
        batch, new, width = x.shape
        past = 0 if cache is None else cache[0].size(2)
        q = self.turned(self.query(x).view(batch, new, self.H, self.D).transpose(1, 2), past)
        k = self.turned(self.key(x).view(batch, new, self.K, self.D).transpose(1, 2), past)
        v = self.value(x).view(batch, new, self.K, self.D).transpose(1, 2)
        if past:
            k, v = torch.cat((cache[0], k), -2), torch.cat((cache[1], v), -2)
        heads = []
        for head in range(self.H):
            keys, values = k[:, head // (self.H // self.K)], v[:, head // (self.H // self.K)]
            scores = q[:, head] @ keys.mT / math.sqrt(self.D)
            for row in range(new):
                scores[:, row, past + row + 1 :] = -math.inf
            heads.append(scores.softmax(-1) @ values)
        return self.output(torch.cat(heads, -1)), [k, v]
