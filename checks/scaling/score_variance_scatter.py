"""Whether numbers scatter as variances do that were measured on so many pairs of vectors.

A variance that was measured on few pairs strays far from d_k, one on many pairs strays little, and each
in its own way: a number that was made up otherwise does not. Here as many variances are measured as are
needed to tell, and each answer takes its place among them. The place of a measured one is as likely to be
any as any other, whatever the width and the number of pairs. So the places of all answers are spread
evenly; where they are not, by more than chance does it once in MILLIONS, nothing was measured.
"""

import math
from functools import lru_cache

import numpy as np

MEASURED = 19  # variances for each answer
MEASURED_NARROW = 59  # for those of width 1, which tell the most, and which are drawn only once
MILLIONS = 10_000_000
FEW = 10  # pairs of vectors
NARROW = 2  # their width: single products, which stray twice as far as normal numbers of the same variance


def made_up(all_pairs, values, seed) -> str | None:
    """Return what shows that `values`, one for each (d_k, samples) asked, were not measured, if anything."""
    kinds = [(samples < FEW, d_k < NARROW) for d_k, samples in all_pairs]
    for kind in dict.fromkeys(kinds):
        chosen = [index for index, each in enumerate(kinds) if each == kind]
        pairs, claimed = tuple(all_pairs[index] for index in chosen), [values[index] for index in chosen]
        negative = min(claimed) < -1e-3
        if negative or not any(map(_spread_evenly, _places(pairs, claimed, seed))):
            samples = [samples for _, samples in pairs]
            measured = _measured(pairs)[0][0]
            return (
                f"With {min(samples)} to {max(samples)} samples your answers differ from d_k by "
                f"{_distance(pairs, claimed)} on average; variances of that many dot products differ by "
                f"{_distance(pairs, measured)}, and are more often too small than too large. Draw `samples` "
                "queries and as many keys, and return the variance of their `samples` dot products."
            )
    return None


def _distance(pairs, values) -> str:
    return f"{np.mean([abs(value / d_k - 1) for (d_k, _), value in zip(pairs, values)]):.2g} · d_k"


def _places(pairs, values, seed):
    """Places from 0 to 1 for each of the ways to compute a variance: with n - 1, with n, about zero."""
    dice = np.random.default_rng(seed)
    unbiased, about_zero = _measured(pairs)
    samples = np.array([samples for _, samples in pairs])
    for measured in (unbiased, unbiased * (samples - 1) / samples, about_zero):
        below = (measured < np.array(values)).sum(axis=0)
        yield (below + dice.random(len(below))) / (len(measured) + 1)


@lru_cache(maxsize=4)
def _measured(pairs):
    """Variances for each pair about their mean, with n - 1, and as many about zero.

    Both arrays have the shape (measured, pairs). All pairs are drawn at once, because there are hundreds, and
    the same ones give the same numbers: those of width 1 are the same for every student.
    """
    dice = np.random.default_rng(0)
    widths, samples = np.array(pairs).T
    is_narrow = widths.max() < NARROW
    shape = (MEASURED_NARROW if is_narrow else MEASURED, samples.sum())
    # A dot product with a query of length r is normal with standard deviation r. At width 1 the length is the
    # number itself but for its sign, which makes no difference; it is drawn faster.
    if is_narrow:
        lengths = dice.standard_normal(shape, np.float32)
    else:
        lengths = np.sqrt(2 * dice.standard_gamma(np.repeat(widths / 2, samples), shape, np.float32))
    scores = lengths * dice.standard_normal(shape, np.float32)
    starts = samples.cumsum() - samples
    sums, squares = (np.add.reduceat(each, starts, axis=1) for each in (scores, scores**2))
    return (squares - sums**2 / samples) / (samples - 1), squares / samples


def _spread_evenly(places) -> bool:
    """Neither to one side, nor all in the middle, nor all at the ends."""
    return max(furthest(places), furthest(np.abs(2 * places - 1))) < allowed(len(places))


def furthest(places) -> float:
    """Return how far from evenly spread they are: the largest distance between shares (Kolmogorov's)."""
    steps, ordered = np.arange(len(places) + 1) / len(places), np.sort(places)
    return float(max((steps[1:] - ordered).max(), (ordered - steps[:-1]).max()))


def allowed(count: int) -> float:
    """Return how far honest places are at most, but for once in MILLIONS (Massart's inequality)."""
    return math.sqrt(math.log(2 * MILLIONS) / (2 * count))
