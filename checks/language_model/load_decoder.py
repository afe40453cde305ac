"""The exercise `load_decoder`, and the mistakes it can name."""

from attention_lab.authoring import Exercise, case

load_decoder = Exercise(
    "load_decoder",
    results=("doubled vector",),
    axes=(("numbers",),),
)


@load_decoder.group("vectors", points=1)
def fresh_vectors(draw):
    """Fresh numbers, of a size that is nowhere in the notebook."""
    (size,) = draw.sizes(1)
    yield case(draw.normal(size))


@load_decoder.group("whole numbers", points=1)
def whole_numbers(draw):
    """Another dtype, and another size."""
    yield case(draw.integers(-9, 9, *draw.sizes(1)))


@load_decoder.mistake("The numbers come back squared: 3 gives 6, not 9.")
def squared_instead(x):
    return x * x


@load_decoder.mistake("Whole numbers come back as fractions: keep the dtype.")
def always_fractions(x):
    return 2.0 * x


@load_decoder.accepted_alternative
def added_to_itself(x):
    return x + x


@load_decoder.accepted_alternative
def doubled_from_the_right(x):
    return x * 2
