"""The exercise `sample`, and the mistakes it can name."""

from attention_lab.authoring import Exercise, case

sample = Exercise(
    "sample",
    results=("doubled vector",),
    axes=(("numbers",),),
)


@sample.group("vectors", points=1)
def fresh_vectors(draw):
    """Fresh numbers, of a size that is nowhere in the notebook."""
    (size,) = draw.sizes(1)
    yield case(draw.normal(size))


@sample.group("whole numbers", points=1)
def whole_numbers(draw):
    """Another dtype, and another size."""
    yield case(draw.integers(-9, 9, *draw.sizes(1)))


@sample.mistake("The numbers come back squared: 3 gives 6, not 9.")
def squared_instead(x):
    return x * x


@sample.mistake("Whole numbers come back as fractions: keep the dtype.")
def always_fractions(x):
    return 2.0 * x


@sample.accepted_alternative
def added_to_itself(x):
    return x + x


@sample.accepted_alternative
def doubled_from_the_right(x):
    return x * 2
