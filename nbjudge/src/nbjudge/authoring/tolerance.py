"""The tolerances of comparisons: how far a right answer may be from the reference."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Tolerance:
    """How far a right answer may be from the reference, per dtype (as in `numpy.allclose`).

    Python's floats and float16 are held to float32's, tables to float64's; all else must be equal.
    """

    float32: tuple[float, float] = (1e-4, 1e-5)  #: (rtol, atol)
    float64: tuple[float, float] = (1e-6, 1e-7)  #: (rtol, atol)


# For sums of many products of float32. Another order of adding (a loop, einsum, another processor's
# routines) rounds otherwise; where large terms nearly cancel, up to 3e-6 is left of the difference,
# which the usual `atol` allows only three times. This allows it thirty times.
SUMS_OF_PRODUCTS = Tolerance(float32=(1e-4, 1e-4))
