"""The exercises of `spread.ipynb`, and the mistakes that they can name.

No exercise says anything of this in the notebook: `cell` names the graded cell whose points are decided
here, and the hidden asserts of that cell are not run any more.
"""

import numpy as np

from nbjudge.authoring import Exercise, Step, Variable, case

# NumPy's functions and methods alike end in these.
READY_MADE = Step(
    "a ready-made deviation", {"numpy._core._methods": ("_std", "_var"), "statistics": ("_ss",)}
)

deviation = Exercise("deviation", results=("deviation",), not_allowed=(READY_MADE,), cell="test_deviation")


@deviation.group("samples", points=2)
def fresh_samples(draw):
    for size in draw.sizes(2):
        yield case(draw.normal(size) * 3 + 10)


@deviation.group("values far from zero", points=1)
def far_from_zero(draw):
    """Yield where squares are subtracted from each other, nothing is left of such a sample."""
    (size,) = draw.sizes(1)
    yield case(draw.normal(size) + 1e8)
    yield case(np.full(size, 5.0))


@deviation.mistake("It is divided by n: divide by n - 1, for the mean is taken from the same numbers.")
def divided_by_n(sample):
    distances = sample - sample.mean()
    return np.sqrt((distances**2).sum() / len(sample))


@deviation.mistake("This is the variance: its square root is the deviation, in the unit of the sample.")
def no_root(sample):
    distances = sample - sample.mean()
    return (distances**2).sum() / (len(sample) - 1)


@deviation.mistake("The distances are summed without being squared: those above and below cancel to 0.")
def not_squared(sample):
    return np.sqrt(abs((sample - sample.mean()).sum()) / (len(sample) - 1))


@deviation.mistake(
    "The mean of the squares less the square of the mean: right on paper, but for values far from zero "
    "rounding eats the difference. Square the distances from the mean."
)
def difference_of_squares(sample):
    size = len(sample)
    return np.sqrt(np.abs((sample**2).sum() - size * sample.mean() ** 2) / (size - 1))


@deviation.accepted_alternative
def in_a_loop(sample):
    middle = sum(sample) / len(sample)
    return (sum((value - middle) ** 2 for value in sample) / (len(sample) - 1)) ** 0.5


@deviation.accepted_alternative
def as_a_length(sample):
    return np.linalg.norm(sample - sample.mean()) / np.sqrt(sample.size - 1)


standardise = Exercise(
    "standardise", results=("table",), axes=(("people", "measurements"),), cell="test_standardise"
)


@standardise.group("tables", points=2)
def fresh_tables(draw):
    people, measurements = draw.sizes(2)
    yield case(draw.normal(people, measurements) * draw.uniform(measurements) * 9 + draw.normal(measurements))


@standardise.group("as many people as measurements", points=1)
def square_tables(draw):
    """Here no one is helped by shapes that do not fit."""
    (size,) = draw.sizes(1)
    yield case(draw.normal(size, size) + 5)


@standardise.group("a column in which all are alike", points=1)
def alike(draw):
    people, measurements = draw.sizes(2)
    table = draw.normal(people, measurements)
    table[:, draw.integer(0, measurements - 1)] = 7.0
    yield case(table)


@standardise.mistake("Mean and deviation are those of the whole table: each column has its own, axis=0.")
def of_the_whole_table(table):
    return (table - table.mean()) / table.std(ddof=1)


@standardise.mistake("Each person was standardised, not each measurement: sum over the people, axis=0.")
def each_row(table):
    distances = table - table.mean(axis=1, keepdims=True)
    deviations = distances.std(axis=1, ddof=1, keepdims=True)
    return np.divide(distances, deviations, out=np.zeros_like(distances), where=deviations > 0)


@standardise.mistake("It is divided by the deviation with n: divide by the sample's, with n - 1.")
def deviation_with_n(table):
    distances, deviations = table - table.mean(axis=0), table.std(axis=0)
    return np.divide(distances, deviations, out=np.zeros_like(distances), where=deviations > 0)


@standardise.mistake("The means are taken off, and nothing is divided by the deviations.")
def only_centred(table):
    return table - table.mean(axis=0)


@standardise.mistake(
    "A column in which all are alike becomes NaN, 0 divided by 0: give zeros where the deviation is 0."
)
def nan_where_alike(table):
    with np.errstate(invalid="ignore"):
        return (table - table.mean(axis=0)) / table.std(axis=0, ddof=1)


@standardise.mistake(
    "The table that was given is changed: work on a new one, `table - ...`, not `table -= ...`."
)
def changes_the_table(table):
    table -= table.mean(axis=0)
    deviations = table.std(axis=0, ddof=1)
    return np.divide(table, deviations, out=np.zeros_like(table), where=deviations > 0)


@standardise.accepted_alternative
def with_a_guard(table):
    deviations = table.std(axis=0, ddof=1)
    return (table - table.mean(axis=0)) / np.where(deviations == 0, 1, deviations)


@standardise.accepted_alternative
def column_by_column(table):
    columns = []
    for column in table.T:
        deviation = column.std(ddof=1)
        columns.append((column - column.mean()) / deviation if deviation else np.zeros(len(column)))
    return np.array(columns).T


relative_spread = Variable("relative_spread", points=2, cell="test_relative_spread")


@relative_spread.mistake("This is a fraction of the mean: percent are 100 times as many.")
def as_a_fraction(relative_spread):
    return relative_spread / 100


@relative_spread.mistake("The deviation is divided by n: divide by n - 1, as in `deviation`.")
def spread_with_n(heights):
    return 100 * heights.std() / heights.mean()


@relative_spread.accepted_alternative
def of_heights_in_units_of_their_mean(heights):
    return float(np.std(100 * heights / heights.mean(), ddof=1))
