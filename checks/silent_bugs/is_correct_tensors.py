"""The mistakes in `is_correct` that miss what a tensor has beside its numbers."""

import torch

from .attention_checks import agrees, caught
from .is_correct import is_correct


@is_correct.mistake(
    "Functions pass whose results are right and whose gradients are not. Run backward from both results: a "
    "gradient has to reach every argument, be that of the formula, and never be NaN, also where a query may "
    "attend to nothing."
)
@caught
def gradients_missed(attention):
    return agrees(attention, gradients=False)


@is_correct.mistake(
    "A function passes whose results have another dtype than its arguments, for you try one dtype alone. Try "
    "float32 and float64: output and weights keep the dtype of the query."
)
@caught
def one_dtype(attention):
    return agrees(attention, dtypes=(torch.float32,))


@is_correct.mistake(
    "A function passes that changes an argument: the mask that you handed over is another one afterwards. "
    "Keep a copy of each argument, the mask too, and compare after the call."
)
@caught
def changes_missed(attention):
    return agrees(attention, changes=False)


@is_correct.mistake(
    "Functions pass whose gradients are wrong or missing, or whose results have another dtype than their "
    "arguments. Run backward and compare the gradients; and try float32 as well as float64."
)
@caught
def gradients_and_dtypes_missed(attention):
    return agrees(attention, gradients=False, dtypes=(torch.float32,))


@is_correct.mistake(
    "Functions pass whose gradients are wrong or missing, or that change their arguments. Run backward and "
    "compare the gradients; and keep copies of all arguments, the mask too, to compare after the call."
)
@caught
def gradients_and_changes_missed(attention):
    return agrees(attention, gradients=False, changes=False)


@is_correct.mistake(
    "Functions pass whose results have another dtype than their arguments, or that change an argument. Try "
    "float32 and float64; and keep copies of all arguments, the mask too, to compare after the call."
)
@caught
def dtypes_and_changes_missed(attention):
    return agrees(attention, dtypes=(torch.float32,), changes=False)


@is_correct.mistake(
    "Functions pass whose numbers are right and that fail otherwise. Three things are left to check: that "
    "gradients reach every argument and are right, that float32 and float64 keep their dtype, and that no "
    "argument, the mask included, is changed."
)
@caught
def numbers_alone(attention):
    return agrees(attention, gradients=False, dtypes=(torch.float32,), changes=False)
