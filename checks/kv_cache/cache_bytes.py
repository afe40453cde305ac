"""The exercise `cache_bytes`, and the mistakes it can name."""

import math

import torch

from attention_lab.authoring import Exercise, add_mistakes, case

cache_bytes = Exercise("cache_bytes", results=("bytes",))


def _model(draw, batch=None):
    """Layers, batch, length, key/value heads and head size: all different, and none of them 2."""
    layers, texts, heads, head_size = draw.sizes(4)
    return layers, texts if batch is None else batch, draw.integer(1_001, 9_999), heads, head_size


@cache_bytes.group("a batch of texts, two bytes per number", points=1)
def two_bytes(draw):
    for _ in range(3):
        yield case(*_model(draw))


@cache_bytes.group("one text", points=0.5)
def one_text(draw):
    for _ in range(2):
        yield case(*_model(draw, batch=1))


@cache_bytes.group("numbers of four bytes, and of one", points=1)
def other_numbers(draw):
    for width in (4, 1, 8):
        yield case(*_model(draw), width)
        yield case(*_model(draw), bytes_per_number=width)


@cache_bytes.group("one key/value head, one layer, an empty cache", points=0.5)
def edges(draw):
    layers, batch, length, heads, head_size = _model(draw)
    yield case(layers, batch, length, 1, head_size)
    yield case(1, batch, length, heads, head_size)
    yield case(layers, batch, 0, heads, head_size)
    yield case(layers, batch, 10**6 * length, heads, head_size)  # exact, however large


add_mistakes(
    cache_bytes,
    keys_only=(
        "This is half the right number, because only the keys are counted. The values are kept too, and they "
        "take as many bytes.",
        lambda layers, batch, length, num_kv_heads, head_size, bytes_per_number=2: (
            layers * batch * length * num_kv_heads * head_size * bytes_per_number
        ),
    ),
    queries_too=(
        "This is one and a half times the right number, because three tensors are counted in each layer. "
        "Queries are not kept: no later token uses an old query. Count keys and values.",
        lambda layers, batch, length, num_kv_heads, head_size, bytes_per_number=2: (
            3 * layers * batch * length * num_kv_heads * head_size * bytes_per_number
        ),
    ),
    one_layer_only=(
        "The cache of a single layer is counted. Each layer has keys and values of its own: multiply by "
        "`layers`.",
        lambda layers, batch, length, num_kv_heads, head_size, bytes_per_number=2: (
            2 * batch * length * num_kv_heads * head_size * bytes_per_number
        ),
    ),
    one_text_only=(
        "The cache of a single text is counted. Each text of the batch has tokens of its own: multiply by "
        "`batch`.",
        lambda layers, batch, length, num_kv_heads, head_size, bytes_per_number=2: (
            2 * layers * length * num_kv_heads * head_size * bytes_per_number
        ),
    ),
    numbers_instead_of_bytes=(
        "These are numbers, not bytes: each number takes `bytes_per_number` of them (2 in half precision). "
        "Multiply by it.",
        lambda layers, batch, length, num_kv_heads, head_size, bytes_per_number=2: (
            2 * layers * batch * length * num_kv_heads * head_size
        ),
    ),
    always_two_bytes=(
        "Right for numbers of two bytes, wrong for others: `bytes_per_number` is not used. Multiply by it, "
        "not by 2 for the bytes.",
        lambda layers, batch, length, num_kv_heads, head_size, bytes_per_number=2: (
            2 * layers * batch * length * num_kv_heads * head_size * 2
        ),
    ),
    one_head_only=(
        "The number of heads has no effect on your result. A token's key has `num_kv_heads` times "
        "`head_size` numbers: multiply by the number of heads.",
        lambda layers, batch, length, num_kv_heads, head_size, bytes_per_number=2: (
            2 * layers * batch * length * head_size * bytes_per_number
        ),
    ),
    without_the_head_size=(
        "`head_size` is left out. Each head of a key holds that many numbers: multiply by it.",
        lambda layers, batch, length, num_kv_heads, head_size, bytes_per_number=2: (
            2 * layers * batch * length * num_kv_heads * bytes_per_number
        ),
    ),
    the_square_of_the_length=(
        "This grows with the square of `length`: that is the table of weights, which is not kept. The cache "
        "holds one key and one value for each token, so it grows with `length` itself.",
        lambda layers, batch, length, num_kv_heads, head_size, bytes_per_number=2: (
            2 * layers * batch * length * length * num_kv_heads * head_size * bytes_per_number
        ),
    ),
    the_projections=(
        "The square of the whole width is counted. Those are the weights of the projections, which belong to "
        "the model. The cache holds their results: `num_kv_heads` times `head_size` numbers per token.",
        lambda layers, batch, length, num_kv_heads, head_size, bytes_per_number=2: (
            2 * layers * batch * length * (num_kv_heads * head_size) ** 2 * bytes_per_number
        ),
    ),
    kibibytes=(
        "This is in kibibytes: it was divided by 1024. Return bytes, as a whole number; turn them into "
        "larger units only where they are printed.",
        lambda layers, batch, length, num_kv_heads, head_size, bytes_per_number=2: (
            2 * layers * batch * length * num_kv_heads * head_size * bytes_per_number // 1024
        ),
    ),
    bits=(
        "The result is too small by a factor of 8, as if `bytes_per_number` counted bits. It counts bytes: "
        "leave out the division by 8.",
        lambda layers, batch, length, num_kv_heads, head_size, bytes_per_number=2: (
            2 * layers * batch * length * num_kv_heads * head_size * bytes_per_number // 8
        ),
    ),
    a_float=(
        "The number is right, but it is a float, and a large float loses its last digits. Bytes are counted "
        "in whole numbers: multiply integers, without `/` or `2.0`.",
        lambda layers, batch, length, num_kv_heads, head_size, bytes_per_number=2: (
            2.0 * layers * batch * length * num_kv_heads * head_size * bytes_per_number
        ),
    ),
)


@cache_bytes.accepted_alternative(
    "From the inside out, with a name for each step: longer, and each number can be checked against a "
    "model's description."
)
def from_the_inside_out(layers, batch, length, num_kv_heads, head_size, bytes_per_number=2):
    numbers_of_a_key = num_kv_heads * head_size
    bytes_of_a_token = 2 * numbers_of_a_key * bytes_per_number * layers
    return bytes_of_a_token * length * batch


@cache_bytes.accepted_alternative("The shapes of the two tensors as they are in the cache, multiplied out.")
def by_the_shape(layers, batch, length, num_kv_heads, head_size, bytes_per_number=2):
    shape = (batch, num_kv_heads, length, head_size)
    key = value = math.prod(shape)
    return layers * (key + value) * bytes_per_number


@cache_bytes.accepted_alternative
def by_empty_tensors(layers, batch, length, num_kv_heads, head_size, bytes_per_number=2):
    key = torch.empty(batch, num_kv_heads, length, head_size, device="meta")
    return layers * 2 * key.numel() * bytes_per_number
