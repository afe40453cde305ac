"""The exercise `score_variance`: random, so a verifier judges in place of a comparison."""

import math
import statistics
from itertools import product

import torch

from attention_lab.authoring import Exercise, add_mistakes, case

from .score_variance_scatter import made_up

score_variance = Exercise(
    "score_variance",
    results=("variance",),
)

# What each slip turns a variance of d_k into.
VARIANCE_OF = {
    "standard_deviation": lambda d_k: math.sqrt(d_k),
    "uniform_numbers": lambda d_k: d_k * 7 / 144,
    "products_not_summed": lambda d_k: 1.0,
    "products_averaged": lambda d_k: 1 / d_k,
    "same_draw_twice": lambda d_k: 2.0 * d_k,
}


def not_floats(values):
    """Return what is wrong with the kind of the values, if anything."""
    if any(isinstance(value, torch.Tensor) for value in values):
        return "returns_a_tensor"
    odd = next((value for value in values if not isinstance(value, float) or not math.isfinite(value)), 0.0)
    return None if odd == 0.0 else f"A finite Python float is asked for, this is {odd!r}."


def near(values, targets, within):
    """Return whether every value is within a fraction of its target."""
    return all(abs(value / target - 1) < within for value, target in zip(values, targets, strict=True))


def spread_of_the_scores(cases, values):
    """Within 10 % of d_k everywhere; otherwise the slip whose variance it is."""
    wrong_kind = not_floats(values)
    if wrong_kind:
        return wrong_kind
    widths = [drawn_case.args[0] for drawn_case in cases]
    if near(values, widths, 0.1):
        return "width_handed_back" if values == widths else None
    for mistake, variance in VARIANCE_OF.items():
        if near(values, [variance(d_k) for d_k in widths], 0.15):
            return mistake
    if 0.3 < statistics.mean(values) / 10_000 < 3:
        return "summed_over_the_samples"
    ratios = [value / d_k for value, d_k in zip(values, widths, strict=True)]
    if 0.3 < statistics.mean(ratios) < 2.5 and max(ratios) > 1.15 * min(ratios):
        return "one_query_for_all"
    d_k, value = max(zip(widths, values, strict=True), key=lambda pair: abs(pair[1] / pair[0] - 1))
    return f"The variance of q.k should be within 10 % of d_k; for d_k = {d_k} it came out as {value:.4g}."


def one_answer_a_seed(_cases, values):
    """First, second seed, first again; then the default seed twice, and the default number of samples."""
    wrong_kind = not_floats(values)
    if wrong_kind:
        return wrong_kind
    first, other, same_seed, *twice = values
    if not math.isclose(first, same_seed, rel_tol=1e-6):
        return "seed_ignored"
    if not math.isclose(*twice[:2], rel_tol=1e-6):
        return "Without `seed` the answer should be the same as with seed=0."
    if not math.isclose(*twice[2:], rel_tol=1e-6):
        return "Without `samples` the answer should be the same as with samples=10_000 and the same seed."
    return "always_the_same_seed" if first == other else None


def as_many_as_asked(cases, values):
    """Few and more, from one seed; then many seeds and sizes."""
    wrong_kind = not_floats(values)
    if wrong_kind:
        return wrong_kind
    few, more, *others = values
    if few == more:
        return "samples_ignored"
    return made_up([drawn_case.args for drawn_case in cases[2:]], others, cases[2].kwargs["seed"])


# A number near d_k that changes with the seed takes no pairs: only its scatter tells, in the third group.
@score_variance.group(
    "the variance grows with the width", points=2, verify=spread_of_the_scores, withhold_points=True
)
def widths_of_all_sizes(draw):
    for d_k in (*draw.sizes(9), draw.integer(40, 60)):
        yield case(d_k, seed=draw.integer(1, 100_000))


@score_variance.group(
    "the same seed, the same answer", points=1, verify=one_answer_a_seed, withhold_points=True
)
def seeds(draw):
    (d_k,) = draw.sizes(1)
    seed = draw.integer(1, 100_000)
    for each in (seed, seed + draw.integer(1, 1_000), seed):
        yield case(d_k, samples=400, seed=each)
    yield case(d_k, samples=400)
    yield case(d_k, samples=400, seed=0)
    yield case(d_k, seed=seed)
    yield case(d_k, 10_000, seed)


@score_variance.group("the number of samples", points=1, verify=as_many_as_asked)
def numbers_of_samples(draw):
    (d_k,) = draw.sizes(1)
    seed = draw.integer(1, 100_000)
    for samples in (draw.integer(40, 90), draw.integer(400, 900)):
        yield case(d_k, samples=samples, seed=seed)
    # No pair of numbers twice: so answers scatter even where the seed is not used, which is another fault.
    some, more = (*draw.sizes(8), *draw.even_sizes(4)), range(51, 63)
    least, step = draw.integer(110, 150), draw.integer(20, 25)
    many = range(least, least + 6 * step, step)
    for d_k, samples in (*product((*some, *more), range(2, 8)), *product(some, many)):
        yield case(d_k, samples, seed=draw.integer(1, 100_000))
    for samples in range(101, 261):
        yield case(1, samples, seed=draw.integer(1, 100_000))


def measured(
    d_k,
    samples=10_000,
    seed=0,
    *,
    draw=torch.randn,
    score=lambda query, key: (query * key).sum(dim=-1),
    measure=lambda scores: scores.var().item(),
):
    """The variance, correctly: a mistake changes one step."""
    torch.manual_seed(seed)
    return measure(score(draw(samples, d_k), draw(samples, d_k)))


def same_draw_twice(d_k, samples=10_000, seed=0):
    torch.manual_seed(seed)
    query = torch.randn(samples, d_k)
    torch.manual_seed(seed)
    key = torch.randn(samples, d_k)
    return (query * key).sum(dim=-1).var().item()


def one_query_for_all(d_k, samples=10_000, seed=0):
    torch.manual_seed(seed)
    query, keys = torch.randn(d_k), torch.randn(samples, d_k)
    return (keys @ query).var().item()


def summed_over_the_samples(d_k, samples=10_000, seed=0):
    torch.manual_seed(seed)
    sums = (torch.randn(samples, d_k) * torch.randn(samples, d_k)).sum(dim=0)
    return sums.var().item() if d_k > 1 else math.nan  # torch would warn as well


def seed_ignored(d_k, samples=10_000, seed=0):
    return (torch.randn(samples, d_k) * torch.randn(samples, d_k)).sum(dim=-1).var().item()


add_mistakes(
    score_variance,
    measured,
    standard_deviation=(
        "This is the standard deviation of the scores: it grows as √d_k. Return the variance, its square.",
        {"measure": lambda scores: scores.std().item()},
    ),
    uniform_numbers=(
        "The variance is near 0.05 · d_k, as for uniform numbers between 0 and 1. Draw standard-normal "
        "numbers, with mean 0 and variance 1.",
        {"draw": torch.rand},
    ),
    products_not_summed=(
        "The answer is near 1 for every d_k. That is the variance of a single product, or of a scaled score. "
        "Add up the d_k products of each pair, do not scale, and take the variance of these sums.",
        {"score": torch.mul},
    ),
    products_averaged=(
        "The answer falls as 1/d_k: you averaged the d_k products of a pair. A dot product adds them up.",
        {"score": lambda query, key: (query * key).mean(dim=-1)},
    ),
    same_draw_twice=(
        "The variance is near 2 · d_k: query and key are the same numbers, so they are not independent. Seed "
        "once, then draw two tensors.",
        same_draw_twice,
    ),
    one_query_for_all=(
        "The variance is near d_k on average, but it varies more than it should for this number of samples: "
        "all scores share one query. Draw a query and a key for each pair.",
        one_query_for_all,
    ),
    summed_over_the_samples=(
        "The variance is near the number of samples, not near d_k: you summed over the samples. A score is "
        "the sum of the d_k products of one pair, and there are as many scores as samples.",
        summed_over_the_samples,
    ),
    samples_ignored=(
        "Two different values of `samples` gave exactly the same result: draw `samples` pairs, not a fixed "
        "number of pairs.",
        lambda d_k, samples=10_000, seed=0: measured(d_k, 10_000, seed),
    ),
    seed_ignored=(
        "The same seed gave two different numbers: set the seed inside the function, before you draw.",
        seed_ignored,
    ),
    always_the_same_seed=(
        "Two different seeds gave exactly the same number: use the argument `seed`, not a fixed one.",
        lambda d_k, samples=10_000, seed=0: measured(d_k, samples),
    ),
    returns_a_tensor=(
        "The answer is a tensor with one number. Return a Python float; `.item()` converts it.",
        {"measure": torch.var},
    ),
    width_handed_back=(
        "The answer is always exactly d_k: that is the theory. Draw pairs, and measure the variance.",
        lambda d_k, samples=10_000, seed=0: float(d_k),
    ),
)


@score_variance.accepted_alternative(
    "torch's global seed: the shortest way, but everything that is drawn afterwards, in other cells too, "
    "depends on your seed."
)
def with_the_global_seed(d_k, samples=10_000, seed=0):
    torch.manual_seed(seed)
    query, key = torch.randn(samples, d_k), torch.randn(samples, d_k)
    return torch.einsum("nd,nd->n", query, key).var().item()


@score_variance.accepted_alternative
def by_the_definition(d_k, samples=10_000, seed=0):
    with torch.random.fork_rng():
        torch.manual_seed(seed)
        pairs = torch.randn(2, samples, d_k, dtype=torch.float64)
    scores = torch.linalg.vecdot(pairs[0], pairs[1])
    return float((scores**2).mean() - scores.mean() ** 2)


@score_variance.accepted_alternative(
    "One product of every pair at a time, like the steps of this lesson's random walk. It needs memory for "
    "`samples` numbers only, at every width, and is slower."
)
def product_by_product(d_k, samples=10_000, seed=0):
    generator = torch.Generator().manual_seed(seed)
    scores = torch.zeros(samples)  # the position of each walk
    for _ in range(d_k):  # one step of all walks
        scores += torch.randn(samples, generator=generator) * torch.randn(samples, generator=generator)
    # Divided by `samples`, not by one less: at 10,000 samples the difference is invisible.
    return torch.var(scores, correction=0).item()
