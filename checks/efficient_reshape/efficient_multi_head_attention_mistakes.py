"""The mistakes that the grader can name in `EfficientMultiHeadAttention`."""

import math

import torch

from attention_lab.authoring import add_mistakes, defaults
from attention_lab.authoring.causes import ATTENTION_CAUSES
from attention_lab.authoring.mask_sentences import (
    AFTER_THE_SOFTMAX,
    EMPTY_ROW_IS_UNIFORM,
    EXPONENTIALS_TOO_LARGE,
    FILL_TURNED_ROUND,
    FIXED_LOW_SCORE,
    MINUS_INFINITY_ADDED,
)

from .efficient_multi_head_attention import Right, efficient_multi_head_attention

add_mistakes(
    efficient_multi_head_attention,
    Right,
    SplitsWithoutTranspose=(
        "The heads are cut with one view: it gives the shape (B, H, T, D) but puts the first tokens whole "
        "into head 0, so a head attends over pieces of other tokens. Cut E into (H, D) first, then swap T "
        "and H.",
        {"split": lambda self, x: x.reshape(x.shape[0], self.num_heads, x.shape[1], -1)},
    ),
    NeverTransposes=(
        "Split and merge are one view each. They undo each other, which hides the mistake, but in between "
        "head 0 holds the first tokens whole. Cut E into (H, D), then swap T and H, and undo both steps in "
        "the merge.",
        {
            "split": lambda self, x: x.reshape(x.shape[0], self.num_heads, x.shape[1], -1),
            "merge": lambda self, x: x.reshape(x.shape[0], x.shape[2], -1),
        },
    ),
    MergesWithoutTranspose=(
        "`weights` are right, `output` is not: the heads are merged without swapping T and H back, so a row "
        "holds one head's numbers for several tokens. Swap first, keep what `transpose` returns, then "
        "flatten.",
        {"merge": lambda self, x: x.reshape(x.shape[0], x.shape[2], -1)},
    ),
    MergesInterleaved=(
        "`weights` are right, `output` is not: the heads are merged as (D, H), so a token's row begins with "
        "the first number of each head. `self.output` expects all D numbers of head 0, then those of head 1: "
        "merge as (H, D).",
        {"merge": lambda self, x: x.permute(0, 2, 3, 1).flatten(2)},
    ),
    Interleaved=(
        "The heads are interleaved: head h gets every H-th number of a projected token. It should get D "
        "neighbours: cut E into (H, D), not into (D, H).",
        {
            "split": lambda self, x: x.unflatten(-1, (-1, self.num_heads)).permute(0, 3, 1, 2),
            "merge": lambda self, x: x.permute(0, 2, 3, 1).flatten(2),
        },
    ),
    ScaledByTheWholeWidth=(
        "The scores are divided by the root of the whole width E. A head's dot product runs over D = E / H "
        "numbers, so divide by the root of D.",
        {"scale": lambda self, head_size: math.sqrt(head_size * self.num_heads)},
    ),
    Unscaled=(
        "The scores are not scaled, so the weights are too sharp. Divide by the root of the head size before "
        "the mask and the softmax.",
        {"scale": lambda self, head_size: 1.0},
    ),
    ForgetsTheOutputProjection=(
        "The merged heads are returned as they are: `self.output` exists and is never used. Apply it before "
        "you return.",
        {"finish": lambda self, merged: merged},
    ),
    WeightsOfTheFirstHead=(
        "`weights` are those of head 0 only. Return their average over all heads, as in lesson 5.",
        {"over_heads": lambda self, weights: weights[:, 0]},
    ),
    WeightsOfEveryHead=(
        "The output is right, but `weights` still has an axis for the heads: it should be (B, T_q, T_k). "
        "Return the average over the heads, as in lesson 5.",
        {"over_heads": lambda self, weights: weights},
    ),
    SoftmaxOverTheHeads=(
        "The softmax runs over the heads: the weights sum to 1 over the heads, and not over the keys. With "
        "four axes, the keys are the last one.",
        {"softmax": lambda self, scores: torch.softmax(scores, dim=1)},
    ),
    KeyByTheQuerysProjection=(
        "The keys are made by the query's projection (a copy and paste slip): changing `self.key` changes "
        "nothing.",
        {"project": lambda self, query, key, value: (self.query(query), self.query(key), self.value(value))},
    ),
    ValueFallsBackOnTheQuery=(
        "Where no value is given, you use the query. A missing `value` is the key, and a missing `key` is "
        "the query.",
        {
            "with_defaults": lambda self, query, key, value: Right.with_defaults(
                self, query, key, query if value is None else value
            )
        },
    ),
    KeyIsTheProjectedQuery=(
        "Where only a query is given, keys and values are made from the query *after* its projection, so "
        "they are projected twice. Decide what `key` and `value` are before you assign to any of the three "
        "names.",
        {"with_defaults": lambda self, query, key, value: (query, *defaults(self.query(query), key, value))},
    ),
    ProjectsTheOutputTwice=(
        "The output has been through `self.output` twice. Project the merged heads once, and return that.",
        {"finish": lambda self, merged: self.output(self.output(merged))},
    ),
    NumHeadsAsHeadSize=(
        "`num_heads` was used as the head size: E is cut into heads of `num_heads` numbers each. The axis H "
        "must be `num_heads` long, and D is E / H.",
        {"split": lambda self, x: x.unflatten(-1, (-1, self.num_heads)).transpose(1, 2)},
    ),
    HeadsAttendToHeads=(
        "T and H are not swapped: (B, T, H, D) goes into the attention, so the heads of one token attend to "
        "each other instead of tokens to tokens. `transpose` returns a new tensor that you must keep.",
        {
            "split": lambda self, x: x.unflatten(-1, (self.num_heads, -1)),
            "merge": lambda self, x: x.flatten(2),
        },
    ),
    MaskMeetsTheHeads=(
        "A mask without a batch axis is right, but one with a batch axis meets the heads: shapes are aligned "
        "from the right, so its B is where H is. Give it an axis of size 1 for the heads, behind B.",
        {"lift": lambda self, mask: mask},
    ),
    AxisCountedFromTheFront=(
        "A mask with a batch axis is right, but one without, (T_q, T_k), gets its new axis in the middle: "
        "you count from the front. Count from the end: the axis for the heads goes before the last two.",
        {"lift": lambda self, mask: mask.unsqueeze(1)},
    ),
    MaskRepeated=(
        "The mask is repeated in the wrong order: `repeat` puts whole copies of the batch one after another, "
        "so heads get the masks of other sentences. An axis of size 1 for the heads needs no copy at all.",
        {
            "lift": lambda self, mask: (
                mask
                if mask.dim() == 2
                else mask.repeat(self.num_heads, 1, 1).unflatten(0, (-1, self.num_heads))
            )
        },
    ),
    MaskIgnored=(
        "`mask` changes nothing: these are the weights of unmasked attention. Hide the scores before the "
        "softmax, and keep the tensor that `masked_fill` returns.",
        {"lift": lambda self, mask: torch.ones_like(mask).unsqueeze(-3)},
    ),
    TrueMeansHidden=(
        "The meaning of True is inverted: the weights are where `mask` is False. Here True means “may "
        "attend”, so hide the False entries. In torch's nn.MultiheadAttention it is the other way round.",
        {"lift": lambda self, mask: ~mask.unsqueeze(-3)},
    ),
    MaskedAfterTheSoftmax=(
        AFTER_THE_SOFTMAX,
        {"fill": lambda self, scores, hidden: scores},
    ),
    EmptyRowIsNaN=(
        "Right, except for a query with nothing to attend to: its row is NaN. A softmax over nothing but "
        "minus infinity is not defined; set hidden weights to 0 afterwards, as in lesson 3.",
        {"clear": lambda self, weights, mask: weights},
    ),
    FillTurnedRound=(
        FILL_TURNED_ROUND,
        {"fill": lambda self, scores, hidden: Right.fill(self, scores, ~hidden)},
    ),
    EmptyRowIsUniform=(
        EMPTY_ROW_IS_UNIFORM,
        {
            "fill": lambda self, scores, hidden: scores.masked_fill(hidden, -1e9),
            "clear": lambda self, weights, mask: weights,
        },
    ),
    FixedLowScore=(
        FIXED_LOW_SCORE,
        {"fill": lambda self, scores, hidden: scores.masked_fill(hidden, -1e4)},
    ),
    ExponentialsTooLarge=(
        EXPONENTIALS_TOO_LARGE,
        {"softmax": lambda self, scores: scores.exp() / scores.exp().sum(-1, keepdim=True)},
    ),
    MinusInfinityAdded=(
        MINUS_INFINITY_ADDED,
        {
            "fill": lambda self, scores, hidden: (
                scores + torch.zeros_like(scores).masked_fill(hidden, -math.inf)
            ),
            "clear": lambda self, weights, mask: weights.nan_to_num(),
        },
    ),
)


def _lifted(attend):
    return lambda self, q, k, v, mask: attend(q, k, v, None if mask is None else mask.unsqueeze(-3))


def _mean_of_heads(_, weights, value):
    return weights.mean(1, True) @ value, weights


def _one_interleaved(place):
    def project(self, query, key, value):
        tensors = list(Right.project(self, query, key, value))
        tensors[place] = tensors[place].unflatten(-1, (-1, self.num_heads)).mT.flatten(2)
        return tensors

    return project


def _one_viewed(place):
    def project(self, query, key, value):
        tensors = list(Right.project(self, query, key, value))
        own = tensors[place].reshape(len(query), self.num_heads, tensors[place].shape[1], -1)
        tensors[place] = own.transpose(1, 2).flatten(2)
        return tensors

    return project


efficient_multi_head_attention.causes_in_steps(
    Right,
    {
        **{clause: {"attend": _lifted(attend)} for clause, attend in ATTENTION_CAUSES.items()},
        "`weights` were those of the last head": {"over_heads": lambda self, weights: weights[:, -1]},
        "`weights` were the largest of all heads": {"over_heads": lambda self, weights: weights.amax(1)},
        "the heads were merged in reverse order": {"merge": lambda self, x: Right.merge(self, x.flip(1))},
        "the merged heads were added to the output": {
            "finish": lambda self, merged: self.output(merged) + merged
        },
        "each head had the mean of all heads' weights": {
            "attend": lambda self, q, k, v, mask: _mean_of_heads(*Right.attend(self, q, k, v, mask), v)
        },
        "the scores were the mean of all heads' scores": {
            "softmax": lambda self, scores: scores.mean(1, True).expand_as(scores).softmax(-1)
        },
        "there were one head only": {"split": lambda self, x: x[:, None], "merge": lambda self, x: x[:, 0]},
        **{
            f"the {part} alone were cut {how}": {"project": project(place)}
            for how, project in (("into (D, H)", _one_interleaved), ("with a view", _one_viewed))
            for place, part in enumerate(("query", "key", "value"))
        },
        "the heads were split as (D, H) and merged as (H, D)": {
            "split": lambda self, x: x.unflatten(-1, (-1, self.num_heads)).permute(0, 3, 1, 2)
        },
        "the input were added to the output": {
            "forward": lambda self, query, *args, **kwargs: (
                lambda output, weights: (output + query, weights)
            )(*Right.forward(self, query, *args, **kwargs))
        },
    },
)
