"""The mistakes that the grader can name in `EfficientMultiHeadAttention`."""

import math

import torch

from attention_lab.authoring import defaults
from attention_lab.authoring.causes import ATTENTION_CAUSES, add_causes

from .efficient_multi_head_attention import Right, efficient_multi_head_attention


@efficient_multi_head_attention.mistake(
    "The heads are cut with one view: it gives the shape (B, H, T, D) but puts the first tokens whole "
    "into head 0, so a head attends over pieces of other tokens. Cut E into (H, D) first, then swap T and "
    "H."
)
class SplitsWithoutTranspose(Right):
    def split(self, x):
        return x.reshape(x.shape[0], self.num_heads, x.shape[1], -1)


@efficient_multi_head_attention.mistake(
    "Split and merge are one view each. They undo each other, which hides the mistake, but in between "
    "head 0 holds the first tokens whole. Cut E into (H, D), then swap T and H, and undo both steps in "
    "the merge."
)
class NeverTransposes(Right):
    def split(self, x):
        return x.reshape(x.shape[0], self.num_heads, x.shape[1], -1)

    def merge(self, x):
        return x.reshape(x.shape[0], x.shape[2], -1)


@efficient_multi_head_attention.mistake(
    "`weights` are right, `output` is not: the heads are merged without swapping T and H back, so a row "
    "holds one head's numbers for several tokens. Swap first, keep what `transpose` returns, then "
    "flatten."
)
class MergesWithoutTranspose(Right):
    def merge(self, x):
        return x.reshape(x.shape[0], x.shape[2], -1)


@efficient_multi_head_attention.mistake(
    "`weights` are right, `output` is not: the heads are merged as (D, H), so a token's row begins with "
    "the first number of each head. `self.output` expects all D numbers of head 0, then those of head 1: "
    "merge as (H, D)."
)
class MergesInterleaved(Right):
    def merge(self, x):
        return x.permute(0, 2, 3, 1).flatten(2)


@efficient_multi_head_attention.mistake(
    "The heads are interleaved: head h gets every H-th number of a projected token. It should get D "
    "neighbours: cut E into (H, D), not into (D, H)."
)
class Interleaved(Right):
    def split(self, x):
        return x.unflatten(-1, (-1, self.num_heads)).permute(0, 3, 1, 2)

    def merge(self, x):
        return x.permute(0, 2, 3, 1).flatten(2)


@efficient_multi_head_attention.mistake(
    "The scores are divided by the root of the whole width E. A head's dot product runs over D = E / H "
    "numbers, so divide by the root of D."
)
class ScaledByTheWholeWidth(Right):
    def scale(self, head_size):
        return math.sqrt(head_size * self.num_heads)


@efficient_multi_head_attention.mistake(
    "The scores are not scaled, so the weights are too sharp. Divide by the root of the head size "
    "before the mask and the softmax."
)
class Unscaled(Right):
    def scale(self, head_size):
        return 1.0


@efficient_multi_head_attention.mistake(
    "The merged heads are returned as they are: `self.output` exists and is never used. Apply it before "
    "you return."
)
class ForgetsTheOutputProjection(Right):
    def finish(self, merged):
        return merged


@efficient_multi_head_attention.mistake(
    "`weights` are those of head 0 only. Return their average over all heads, as in lesson 5."
)
class WeightsOfTheFirstHead(Right):
    def over_heads(self, weights):
        return weights[:, 0]


@efficient_multi_head_attention.mistake(
    "The output is right, but `weights` still has an axis for the heads: it should be (B, T_q, T_k). Return "
    "the average over the heads, as in lesson 5."
)
class WeightsOfEveryHead(Right):
    def over_heads(self, weights):
        return weights


@efficient_multi_head_attention.mistake(
    "The softmax runs over the heads: the weights sum to 1 over the heads, and not over the keys. With "
    "four axes, the keys are the last one."
)
class SoftmaxOverTheHeads(Right):
    def softmax(self, scores):
        return torch.softmax(scores, dim=1)


@efficient_multi_head_attention.mistake(
    "The keys are made by the query's projection (a copy and paste slip): changing `self.key` changes "
    "nothing."
)
class KeyByTheQuerysProjection(Right):
    def project(self, query, key, value):
        return (self.query(query), self.query(key), self.value(value))


@efficient_multi_head_attention.mistake(
    "Where no value is given, you use the query. A missing `value` is the key, and a missing `key` is the "
    "query."
)
class ValueFallsBackOnTheQuery(Right):
    def forward(self, query, key=None, value=None, mask=None):
        return Right.forward(self, query, key, query if value is None else value, mask)


@efficient_multi_head_attention.mistake(
    "Where only a query is given, keys and values are made from the query *after* its projection, so they "
    "are projected twice. Decide what `key` and `value` are before you assign to any of the three names."
)
class KeyIsTheProjectedQuery(Right):
    def forward(self, query, key=None, value=None, mask=None):
        projected = self.query(query)
        key, value = defaults(projected, key, value)
        heads = [self.split(x) for x in (projected, self.key(key), self.value(value))]
        outputs, weights = self.attend(*heads, mask)
        return self.finish(self.merge(outputs)), self.over_heads(weights)


@efficient_multi_head_attention.mistake(
    "The output has been through `self.output` twice. Project the merged heads once, and return that."
)
class ProjectsTheOutputTwice(Right):
    def finish(self, merged):
        return self.output(self.output(merged))


@efficient_multi_head_attention.mistake(
    "`num_heads` was used as the head size: E is cut into heads of `num_heads` numbers each. The axis H "
    "must be `num_heads` long, and D is E / H."
)
class NumHeadsAsHeadSize(Right):
    def split(self, x):
        return x.unflatten(-1, (-1, self.num_heads)).transpose(1, 2)


@efficient_multi_head_attention.mistake(
    "T and H are not swapped: (B, T, H, D) goes into the attention, so the heads of one token attend to "
    "each other instead of tokens to tokens. `transpose` returns a new tensor that you must keep."
)
class HeadsAttendToHeads(Right):
    def split(self, x):
        return x.unflatten(-1, (self.num_heads, -1))

    def merge(self, x):
        return x.flatten(2)


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


add_causes(
    efficient_multi_head_attention,
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
