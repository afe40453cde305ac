"""The mistakes that the grader can name in `is_correct`, those that miss least first.

A mistake is looked for group by group, and a student may miss several things: the sentences speak of
the functions that pass, and leave open what else is checked.
"""

import re

import torch

from attention_lab.authoring import add_mistakes

from .attention_checks import SIZES, agrees, calls, caught
from .attention_repairs import ARGUMENTS, PAIRS, REPAIRS, RESULTS
from .is_correct import is_correct

# Each leaves out one property: the name of its repair, and what helps.
_LEFT_OUT = {
    f"gradient: {result} to {name}": f"A function passes from whose {result} no right gradient reaches the "
    f"{name}. Run backward from the output and from the weights, and compare the gradient of each argument."
    for result, name in PAIRS
}
_LEFT_OUT |= {
    "gradient: its numbers": "Functions with wrong gradients pass, as long as there are any. Compare the "
    "numbers of each gradient with those of the formula.",
    "gradient: never NaN": "A function passes whose gradients are NaN while its results are right. Compare "
    "gradients where a query has nothing to attend to, too; NaN equals nothing.",
}
_LEFT_OUT |= {
    f"unchanged: {name}": f"A function passes that changes its {name}. Compare each of the four arguments "
    f"with a copy from before the call, the {name} too."
    for name in ARGUMENTS
}
_LEFT_OUT |= {
    f"dtype: {name}": f"A function passes with another dtype in its {name} than in its arguments. Compare "
    f"the dtype of the {name} too, in float32 and in float64."
    for name in RESULTS
}
_LEFT_OUT |= {
    "results: two": "A function passes that returns more than two results. Count them: output and weights, "
    "and no more.",
    "results: a tuple or a list": "Right functions that return a list get False. A pair may come as a tuple "
    "or as a list: unpack it, and do not ask for its type.",
    "results: any memory layout": "Right functions get False whose results lie in memory in another order. "
    "Compare shapes and numbers, in ways that work for any memory layout.",
}
_LEFT_OUT |= {
    f"calls: {path}": f"A function passes that is wrong wherever {when}, and right elsewhere. Call it so, "
    "too, and compare both results with the formula."
    for path, when in {
        "mask (T_q, T_k)": "the mask has two dimensions",
        "mask (B, 1, T_k)": "all queries of a sample share a row of the mask, as with padding",
        "mask (B, T_q, T_k)": "each query of each sample has a row of the mask for itself",
        "query alone": "it gets the query alone",
        "query and key": "it gets a query and a key, and no value",
    }.items()
}
_LEFT_OUT |= {
    "numbers: digits": "Functions pass whose third digit is wrong. Allow no more than rounding: a relative "
    "difference of 1e-4 and an absolute one of 1e-5.",
    "numbers: behind their mean": "Functions pass whose results have the right mean and wrong numbers. "
    "Compare each number with that of the formula, and no mean or sum.",
}


def _leaving_out(name):
    """A check of everything but one property."""

    def check(attention):
        return agrees(REPAIRS[name](attention))

    check.__name__ = f"leaves_out_{re.sub(r'[^a-z]+', '_', name.lower()).strip('_')}"
    return caught(check)


for _name, _sentence in _LEFT_OUT.items():
    is_correct.mistake(_sentence)(_leaving_out(_name))


def agrees_without_errors(attention, **options):
    """`agrees`, and False where the attention function raises."""
    try:
        return agrees(attention, **options)
    except Exception:
        return False


@caught
def sums_only(attention):
    for call in calls((torch.float32,), tuple(SIZES.values()), ("none",), False, (1, 2, 3)):
        sums = attention(*call.tensors)[1].sum(dim=-1)
        if not torch.allclose(sums, torch.ones_like(sums), atol=1e-4):
            return False
    return True


add_mistakes(
    is_correct,
    no_empty_row=(
        "Some functions that pass are wrong where a query has nothing to attend to. Try masks with a row of "
        "False only: its weights and its output must be zero, and the other rows as usual.",
        lambda attention: agrees_without_errors(attention, empty=False),
    ),
    always_a_mask=(
        "A function passes that cannot work without a mask. `mask` is None unless it is given: try calls "
        "without one too.",
        lambda attention: agrees_without_errors(attention, masks=("shared", "each", "padding")),
    ),
    as_many_keys_as_queries=(
        "Some functions that pass are right only for as many keys as queries. Try more keys than queries, "
        "with values of their own.",
        lambda attention: agrees_without_errors(attention, sizes=SIZES | {"keys": SIZES["queries"]}),
    ),
    values_as_wide_as_queries=(
        "Some functions that pass rely on values as wide as the queries: one divides by the root of the "
        "value's width. Try values of another width.",
        lambda attention: agrees_without_errors(attention, sizes=SIZES | {"value_width": SIZES["width"]}),
    ),
    one_shape_for_all=(
        "Some functions that pass need as many keys as queries, or values as wide as the queries. Try sizes "
        "that all differ from each other: T_q, T_k, the width of the keys and that of the values.",
        lambda attention: agrees_without_errors(
            attention, sizes=SIZES | {"keys": SIZES["queries"], "value_width": SIZES["width"]}
        ),
    ),
    nothing_left_out=(
        "Some functions that pass are wrong where an argument is left out. Try the query alone, and query "
        "and key: a missing key is the query, and a missing value is the key.",
        lambda attention: agrees_without_errors(attention, given=(3,)),
    ),
    query_alone=(
        "Some functions that pass are wrong when a key or a value is given. Call `attention` with query and "
        "key, and with all three, in sizes that differ.",
        lambda attention: agrees_without_errors(attention, given=(1,)),
    ),
    one_sample=(
        "Some functions that pass mix up the samples of a batch, which you cannot see in a batch of one. Try "
        "a batch of several.",
        lambda attention: agrees_without_errors(attention, sizes=SIZES | {"batch": 1}),
    ),
    never_a_mask=(
        "Some functions that pass are wrong with a mask. Try masks of all three shapes, and masks that leave "
        "a query nothing to attend to.",
        lambda attention: agrees_without_errors(attention, masks=("none",)),
    ),
    output_only=(
        "Some functions that pass return the right output and wrong weights. Compare both results with the "
        "formula.",
        lambda attention: agrees_without_errors(attention, compared=(0,), gradients=False),
    ),
    weights_only=(
        "Some functions that pass return the right weights and a wrong output. Compare both results with the "
        "formula.",
        lambda attention: agrees_without_errors(attention, compared=(1,), gradients=False),
    ),
    exceptions_escape=(
        "Some broken functions raise an exception, and then `is_correct` raises it too. A function that "
        "raises is broken: catch the exception, and return False.",
        lambda attention: agrees(attention),
    ),
    self_attention_only=(
        "Some functions that pass are right in plain self-attention, with or without a mask, but not "
        "elsewhere. Try keys and values of their own, in other sizes; masks in which the samples differ; a "
        "query with nothing to attend to; and gradients.",
        lambda attention: agrees_without_errors(
            attention,
            given=(1,),
            masks=("none", "shared"),
            empty=False,
            dtypes=(torch.float32,),
            gradients=False,
        ),
    ),
    simplest_call_only=(
        "Some functions that pass are right in the simplest call only. Try more than a query alone: keys and "
        "values of their own in other sizes, masks of all shapes, a query with nothing to attend to, and "
        "gradients.",
        lambda attention: agrees_without_errors(
            attention, given=(1,), masks=("none",), dtypes=(torch.float32,), gradients=False
        ),
    ),
    exactly_equal=(
        "Right functions get False, as they do if you compare for exact equality. Sums in another order are "
        "rounded differently: allow a relative difference of 1e-4 and an absolute one of 1e-5.",
        lambda attention: agrees_without_errors(attention, same=torch.equal, gradients=False),
    ),
    sums_only=(
        "Functions with wrong numbers pass. Properties such as weights that sum to 1 hold for many wrong "
        "functions too: compare all numbers, of the weights and of the output, with those of the formula.",
        sums_only,
    ),
    shapes_only=(
        "Functions with wrong numbers pass as long as the shapes fit. Compare the numbers too: the formula "
        "is short enough to write it yourself and compare every result with it.",
        lambda attention: agrees_without_errors(
            attention, same=lambda *_, **__: True, gradients=False, dtype_matters=False, changes=False
        ),
    ),
    a_tensor=(
        "Your verdicts are right, but they are tensors. Return a Python bool: convert at the end.",
        lambda attention: torch.tensor(agrees_without_errors(attention)),
    ),
    upside_down=(
        "The result is inverted: right functions get False and broken ones True. True means that a function "
        "is right.",
        lambda attention: not agrees_without_errors(attention),
    ),
    always_true=(
        "Every function of a group gets True, the broken ones too: you do not check what is wrong with them. "
        "The group's name says where to look; find a call in which such a function must differ from the "
        "formula.",
        lambda attention: True,
    ),
    always_false=(
        "Every function of a group gets False, the right ones too. Run your checks on an attention function "
        "that you trust, and see which of them it fails.",
        lambda attention: False,
    ),
    gradients_missed=(
        "Some functions that pass have right results and wrong gradients. Run backward from both results: "
        "the gradient must reach every argument, equal that of the formula, and never be NaN, even where a "
        "query has nothing to attend to.",
        lambda attention: agrees_without_errors(attention, gradients=False),
    ),
    one_dtype=(
        "A function passes whose results have another dtype than its arguments, because you try only one "
        "dtype. Try float32 and float64: output and weights keep the dtype of the query.",
        lambda attention: agrees_without_errors(attention, dtypes=(torch.float32,)),
    ),
    changes_missed=(
        "A function passes that changes an argument: after the call, the mask that you passed is different. "
        "Keep a copy of each argument, the mask too, and compare after the call.",
        lambda attention: agrees_without_errors(attention, changes=False),
    ),
    gradients_and_dtypes_missed=(
        "Some functions that pass have wrong or missing gradients, or results of another dtype than their "
        "arguments. Run backward and compare the gradients, and try float32 as well as float64.",
        lambda attention: agrees_without_errors(attention, gradients=False, dtypes=(torch.float32,)),
    ),
    gradients_and_changes_missed=(
        "Some functions that pass have wrong or missing gradients, or change their arguments. Run backward "
        "and compare the gradients; keep copies of all arguments, the mask too, and compare them after the "
        "call.",
        lambda attention: agrees_without_errors(attention, gradients=False, changes=False),
    ),
    dtypes_and_changes_missed=(
        "Some functions that pass return another dtype than that of their arguments, or change an argument. "
        "Try float32 and float64; keep copies of all arguments, the mask too, and compare them after the "
        "call.",
        lambda attention: agrees_without_errors(attention, dtypes=(torch.float32,), changes=False),
    ),
    numbers_alone=(
        "Some functions that pass return the right numbers and are wrong in another way. Check three more "
        "things: gradients reach every argument and are right, float32 and float64 keep their dtype, and no "
        "argument, the mask included, is changed.",
        lambda attention: agrees_without_errors(
            attention, gradients=False, dtypes=(torch.float32,), changes=False
        ),
    ),
)
