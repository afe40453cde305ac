"""The mistakes in `is_correct` that miss what a tensor has beside its numbers."""

import torch

from .attention_checks import agrees, caught
from .is_correct import is_correct


@is_correct.mistake(
    "Some functions that pass have right results and wrong gradients. Run backward from both results: the"
    " gradient must reach every argument, equal that of the formula, and never be NaN, even where a query"
    " has nothing to attend to."
)
@caught
def gradients_missed(attention):
    return agrees(attention, gradients=False)


@is_correct.mistake(
    "A function passes whose results have another dtype than its arguments, because you try only one "
    "dtype. Try float32 and float64: output and weights keep the dtype of the query."
)
@caught
def one_dtype(attention):
    return agrees(attention, dtypes=(torch.float32,))


@is_correct.mistake(
    "A function passes that changes an argument: after the call, the mask that you passed is different. "
    "Keep a copy of each argument, the mask too, and compare after the call."
)
@caught
def changes_missed(attention):
    return agrees(attention, changes=False)


@is_correct.mistake(
    "Some functions that pass have wrong or missing gradients, or results of another dtype than their "
    "arguments. Run backward and compare the gradients, and try float32 as well as float64."
)
@caught
def gradients_and_dtypes_missed(attention):
    return agrees(attention, gradients=False, dtypes=(torch.float32,))


@is_correct.mistake(
    "Some functions that pass have wrong or missing gradients, or change their arguments. Run backward "
    "and compare the gradients; keep copies of all arguments, the mask too, and compare them after the "
    "call."
)
@caught
def gradients_and_changes_missed(attention):
    return agrees(attention, gradients=False, changes=False)


@is_correct.mistake(
    "Some functions that pass return another dtype than that of their arguments, or change an argument. "
    "Try float32 and float64; keep copies of all arguments, the mask too, and compare them after the "
    "call."
)
@caught
def dtypes_and_changes_missed(attention):
    return agrees(attention, dtypes=(torch.float32,), changes=False)


@is_correct.mistake(
    "Some functions that pass return the right numbers and are wrong in another way. Check three more "
    "things: gradients reach every argument and are right, float32 and float64 keep their dtype, and no "
    "argument, the mask included, is changed."
)
@caught
def numbers_alone(attention):
    return agrees(attention, gradients=False, dtypes=(torch.float32,), changes=False)
