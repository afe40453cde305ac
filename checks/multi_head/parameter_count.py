"""The exercise `parameter_count`, and the mistakes it can name."""

from attention_lab.authoring import BUILDING_LAYERS, Exercise, case

parameter_count = Exercise("parameter_count", results=("count",), not_allowed=(BUILDING_LAYERS,))


def _layer(draw):
    """The width of a layer and its number of heads; a head's size is another number than either.

    Of so many widths that no table is made of them beforehand, by building layers and counting.
    """
    (heads,) = draw.sizes(1)
    return heads * draw.integer(1_001, 99_999), heads


@parameter_count.group("without a bias", points=1)
def without_a_bias(draw):
    for _ in range(3):
        yield case(*_layer(draw), False)


@parameter_count.group("with a bias", points=1)
def with_a_bias(draw):
    for _ in range(3):
        yield case(*_layer(draw), True)


@parameter_count.group("one head, heads of size 1, a large layer", points=1)
def edges(draw):
    (width,) = draw.sizes(1)
    for bias in (False, True):
        yield case(width, 1, bias)
        yield case(width, width, bias)
    yield case(128 * draw.integer(100, 120), 128, True)  # too large to be built and counted


@parameter_count.mistake(
    "Too large by nearly a factor of `num_heads`: each head was counted as wide as the embedding. A "
    "head's three projections go from `embed_dim` to the head size, which is `num_heads` times smaller, "
    "and the output projection takes `embed_dim` numbers."
)
def heads_as_wide_as_the_embedding(embed_dim, num_heads, bias):
    heads = num_heads * 3 * (embed_dim * embed_dim + bias * embed_dim)
    return heads + num_heads * embed_dim * embed_dim + bias * embed_dim


@parameter_count.mistake(
    "Each head was counted as wide as the embedding, so the three projections are `num_heads` times too "
    "large (the output projection is right). A head goes from `embed_dim` to `embed_dim / num_heads` "
    "numbers."
)
def heads_too_wide_output_right(embed_dim, num_heads, bias):
    return (3 * num_heads + 1) * embed_dim * (embed_dim + bias)


@parameter_count.mistake(
    "Too small by one projection: query, key and value of all heads are counted. The output projection, "
    "which mixes what the heads have found, has parameters too."
)
def without_the_output(embed_dim, num_heads, bias):
    return 3 * embed_dim * (embed_dim + bias)


@parameter_count.mistake(
    "Right without a bias, and the same number with one: `bias` changes nothing. Where it is true, each "
    "projection has one more parameter for each number that it returns."
)
def bias_ignored(embed_dim, num_heads, bias):
    return 4 * embed_dim * embed_dim


@parameter_count.mistake(
    "Right with a bias, too large without one: the biases are counted even where `bias` is False. Count "
    "them only where `bias` is True."
)
def bias_always(embed_dim, num_heads, bias):
    return 4 * embed_dim * (embed_dim + 1)


@parameter_count.mistake(
    "Too small by `embed_dim` where there is a bias: the heads' biases are counted, that of the output "
    "projection is not. `bias` goes to every projection."
)
def no_bias_in_the_output(embed_dim, num_heads, bias):
    return 4 * embed_dim * embed_dim + 3 * bias * embed_dim


@parameter_count.mistake(
    "Too small where there is a bias: only the output projection's was counted. `bias` goes to the "
    "query, key and value of every head as well."
)
def no_bias_in_the_heads(embed_dim, num_heads, bias):
    return embed_dim * (4 * embed_dim + bias)


@parameter_count.mistake(
    "The weights are right, but the biases of a single head were counted for all: each of the "
    "`num_heads` heads has three biases of its own, as long as the head is wide."
)
def biases_of_one_head(embed_dim, num_heads, bias):
    return 4 * embed_dim * embed_dim + bias * (3 * (embed_dim // num_heads) + embed_dim)


@parameter_count.mistake(
    "A bias was counted as one number for each projection. It is a vector: one number for each output "
    "of the projection."
)
def bias_is_one_number(embed_dim, num_heads, bias):
    return 4 * embed_dim * embed_dim + bias * (3 * num_heads + 1)


@parameter_count.mistake(
    "The weights are right, but each head's biases were counted as long as the embedding. A bias has one "
    "number for each output of its projection, and a head returns `embed_dim / num_heads` numbers."
)
def biases_as_long_as_the_embedding(embed_dim, num_heads, bias):
    return 4 * embed_dim * embed_dim + bias * (3 * num_heads * embed_dim + embed_dim)


@parameter_count.mistake(
    "The weights are right, but the bias of the output projection was counted as long as a head is wide. The "
    "output projection returns `embed_dim` numbers, so its bias has as many."
)
def output_bias_as_long_as_a_head(embed_dim, num_heads, bias):
    return 4 * embed_dim * embed_dim + bias * (3 * embed_dim + embed_dim // num_heads)


@parameter_count.mistake(
    "The weights are right, but only four numbers were counted as biases, one for each of query, key, value "
    "and output. A bias is a vector: one number for each output of the projection."
)
def four_numbers_as_biases(embed_dim, num_heads, bias):
    return 4 * embed_dim * embed_dim + 4 * bias


@parameter_count.mistake(
    "The weights are right, but the bias was counted as a single number in total. Each projection has a bias "
    "of its own, with one number for each of its outputs."
)
def one_number_as_bias(embed_dim, num_heads, bias):
    return 4 * embed_dim * embed_dim + int(bias)


@parameter_count.mistake(
    "This counts the query, key and value of one head and the output projection. There are `num_heads` "
    "heads, each with three projections of its own."
)
def one_head_only(embed_dim, num_heads, bias):
    head_size = embed_dim // num_heads
    return 3 * head_size * (embed_dim + bias) + embed_dim * (embed_dim + bias)


@parameter_count.mistake(
    "The heads were counted as if each saw only its own slice of the embedding. A head's projections "
    "take the whole vector, `embed_dim` numbers, and return head-size numbers."
)
def heads_see_a_slice(embed_dim, num_heads, bias):
    head_size = embed_dim // num_heads
    return num_heads * 3 * head_size * (head_size + bias) + embed_dim * (embed_dim + bias)


@parameter_count.mistake(
    "The number is right, but it is a float: parameters are counted in whole numbers. `/` returns a "
    "float even when the result is a whole number; divide with `//`, or do not divide at all."
)
def a_float(embed_dim, num_heads, bias):
    return 3 * num_heads * (embed_dim / num_heads) * (embed_dim + bias) + embed_dim * (embed_dim + bias)


@parameter_count.accepted_alternative
def head_by_head(embed_dim, num_heads, bias):
    head_size = embed_dim // num_heads
    total = 0
    for _ in range(num_heads):
        for _ in ("query", "key", "value"):
            total += embed_dim * head_size
            if bias:
                total += head_size
    total += embed_dim * embed_dim
    return total + embed_dim if bias else total


@parameter_count.accepted_alternative(
    "Lists every matrix by its shape and counts: mistakes are easy to see, and it works for layers that "
    "have no closed form."
)
def from_shapes(embed_dim, num_heads, bias):
    shapes = [(embed_dim // num_heads, embed_dim)] * 3 * num_heads + [(embed_dim, embed_dim)]
    return sum(rows * columns + (rows if bias else 0) for rows, columns in shapes)


@parameter_count.accepted_alternative(
    "The closed form: stacked, the heads are three square matrices, and the output is the fourth. It says "
    "at a glance that the number of heads does not matter."
)
def squares_and_biases(embed_dim, num_heads, bias):
    return int(4 * embed_dim**2 + (4 * embed_dim if bias else 0))


@parameter_count.accepted_alternative
def divided_and_rounded(embed_dim, num_heads, bias):
    one_head = 3 * (embed_dim * embed_dim / num_heads + bias * embed_dim / num_heads)
    return round(num_heads * one_head) + embed_dim * (embed_dim + int(bias))
