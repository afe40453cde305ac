"""The exercise `is_correct`: right and broken attention functions, told apart."""

from attention_lab.authoring import Exercise, case

from .attention_candidates import Candidate, Family
from .attention_candidates_broken import FAMILIES

is_correct = Exercise(
    "is_correct", results=("answer",), mistakes_from=("is_correct_mistakes", "is_correct_tensors")
)


def drawn_candidates(draw, family: str) -> list[Candidate]:
    """All broken functions of a family among right ones, in an order that is drawn."""
    functions = Family(draw, FAMILIES[family])
    candidates = [*functions.right_ones(), *functions.broken_ones()]
    return [candidates[index] for index in draw.permutation(len(candidates)).tolist()]


def _cases(draw, family):
    """The label stays here: what travels is the function alone, as compiled code that all of them share."""
    for candidate in drawn_candidates(draw, family):
        yield case(candidate.function)


# Every group holds both kinds and passes or fails as a whole, so neither an answer that never changes
# nor one decided by a coin earns anything.
@is_correct.group("the scale is wrong, or nothing is", points=1)
def scale(draw):
    yield from _cases(draw, "scale")


@is_correct.group("the softmax is wrong, or nothing is", points=2)
def softmax(draw):
    yield from _cases(draw, "softmax")


@is_correct.group("the mask is used wrongly, or nothing is wrong", points=2)
def mask(draw):
    yield from _cases(draw, "mask")


@is_correct.group("a query with nothing to attend to goes wrong, or nothing does", points=1)
def empty(draw):
    yield from _cases(draw, "empty")


@is_correct.group("query, key, value or results are mixed up, or nothing is", points=2)
def inputs(draw):
    yield from _cases(draw, "inputs")


@is_correct.group("something else takes part, or nothing does", points=1)
def company(draw):
    yield from _cases(draw, "company")


@is_correct.group("gradients suffer, or nothing does", points=2)
def gradients(draw):
    yield from _cases(draw, "gradients")


@is_correct.group("digits, dtype or arguments suffer, or nothing does", points=1)
def tensors(draw):
    yield from _cases(draw, "tensors")
