"""An answer that falls into a row of docs/torch-attention.md is told so by a named mistake.

The answers are written as learners write them who trust torch; none is a copy of a mistake in the checks.
"""

import math
from collections import Counter
from pathlib import Path

import pytest
import torch
import torch.nn.functional as F
from judged_answers import judged
from test_torch_attention import entries
from torch import nn

from attention_lab.lesson_05.attention_head import AttentionHead
from attention_lab.lesson_08.layers import EfficientMultiHeadAttention
from nbjudge.course import open_course

pytestmark = [pytest.mark.integration, pytest.mark.lesson]
EXERCISES = {
    name: (lesson, exercise)
    for lesson in open_course(Path(__file__).parents[1]).assignments.values()
    for name, exercise in lesson.exercises.items()
}
# By section: how many rows are in no trap below, and why no exercise meets them.
NOT_MET = {
    "Evaluation computes something else than training": (12, "these are torch's own encoder layers"),
    "Masks that are read differently": (3, "no exercise has both a mask and a flag that hints at one"),
    "Rows that see nothing, and NaN": (4, "torch's own layers, and NaN that a caller hands in"),
    "Data types": (4, "exercises compute in float32 and float64, without autocast"),
    "Backends of `scaled_dot_product_attention`": (5, "a call of it is refused, whichever backend runs"),
    "Weights, hooks and initial values": (7, "hooks, and initial values, which are free"),
    "Flex attention": (7, "a call of it is refused"),
    "Nested tensors": (3, "all texts of a batch are padded"),
    "Caches and masks of transformers": (9, "that library's own objects; a cache here is a pair of tensors"),
    "Rotary layouts and files": (1, "tensors come from PyTorch, not from a GGUF reader"),
}
TRAPS = []


def trap(exercise, mistake, *rows):
    """The decorated answer to an exercise falls into these rows."""

    def add(answer):
        name = f"{exercise}-{mistake}-{len(TRAPS)}"
        TRAPS.append(pytest.param(rows, exercise, mistake, answer, id=name))
        return answer

    return add


# ---- masks ----

TRUE_HIDES = "True hides in one function and shows in the other"
AS_BOOLEANS = "The causal mask of `nn.Transformer`, as booleans, shows the future"
NUMBERS = "A mask of 0.0 and 1.0 hides nothing"
TIMES_INFINITY = "Multiplying a mask with −∞"
LOWEST = "A query that sees nothing gives zeros, or the mean of everything"
TWO_LOWEST = "Two masks of smallest numbers, added, show the future"
ALL_PADDING = "A sample that is all padding"
INFINITY_ADDED = "Adding −∞ makes gradients NaN, filling does not"
REPAIRED = "Repairing NaN after the softmax is too late"
ZEROS = "Padded outputs are exactly zero in evaluation"


@trap("causal_mask", "true_means_hidden", TRUE_HIDES, AS_BOOLEANS)
def booleans_of_torchs_mask(seq_len):
    return nn.Transformer.generate_square_subsequent_mask(seq_len).bool()


@trap("causal_mask", "additive", AS_BOOLEANS)
def torchs_own_mask(seq_len):
    return nn.Transformer.generate_square_subsequent_mask(seq_len)


@trap("padding_mask", "key_padding_mask", TRUE_HIDES)
def for_torchs_layer(token_ids, pad_id=0):
    return token_ids.eq(pad_id)


@trap(
    "padding_mask", "no_dimension_for_queries", "A padding mask of two dimensions is used as (queries, keys)"
)
def samples_and_keys(token_ids, pad_id=0):
    return token_ids.ne(pad_id)


@trap(
    "padding_mask", "counts_from_the_left", "Left padding leaves other numbers at padding than right padding"
)
def from_lengths(token_ids, pad_id=0):
    lengths = (token_ids != pad_id).sum(1)
    return torch.arange(token_ids.shape[1]) < lengths[:, None, None]


@trap("padding_mask", "ones_and_zeros", "Which types a mask may have")
def ones_as_of_a_tokenizer(token_ids, pad_id=0):
    return torch.where(token_ids == pad_id, 0, 1)[:, None]


@trap("padding_mask", "floats", NUMBERS)
def ones_as_floats(token_ids, pad_id=0):
    return torch.where(token_ids == pad_id, 0.0, 1.0)[:, None]


def right(seen, scores):
    """Weights under a mask, right: what follows are other ways to hide, each of which falls into a row."""
    return scores.masked_fill(~seen, -torch.inf).softmax(-1).masked_fill(~seen, 0.0)


def fills_where_true(seen, scores):
    return right(~seen, scores)


def adds_the_mask(seen, scores):
    return (scores + seen.to(scores)).softmax(-1)


def multiplies_with_infinity(seen, scores):
    return (scores + (1 - seen.to(scores)) * -torch.inf).softmax(-1)


def fills_with_the_lowest(seen, scores):
    return scores.masked_fill(~seen, torch.finfo(scores.dtype).min).softmax(-1)


def adds_the_lowest(seen, scores):
    return (scores + (~seen).to(scores) * torch.finfo(scores.dtype).min).softmax(-1)


def clears_nothing(seen, scores):
    return torch.where(seen, scores, -torch.inf).softmax(-1)


def adds_infinity(seen, scores):
    return (scores + seen.to(scores).log()).softmax(-1)


def repairs(seen, scores):
    return adds_infinity(seen, scores).nan_to_num(0.0)


# A way to hide, its rows, and what it is called in exercises that have a mask: exercise.mistake.
HIDES = [
    (
        fills_where_true,
        [TRUE_HIDES],
        "masked_attention.true_means_hidden masked_softmax.true_means_hidden "
        "EfficientMultiHeadAttention.TrueMeansHidden",
    ),
    (
        adds_the_mask,
        [NUMBERS, "A mask of four dimensions may be boolean or additive"],
        "masked_attention.added_as_numbers masked_softmax.added_as_numbers",
    ),
    (
        multiplies_with_infinity,
        [TIMES_INFINITY],
        "masked_attention.zero_times_infinity masked_softmax.zero_times_infinity "
        "RotaryAttention.FlagsTimesInfinity",
    ),
    (
        fills_with_the_lowest,
        [LOWEST],
        "masked_attention.empty_row_is_uniform masked_softmax.empty_row_is_uniform "
        "AttentionHead.empty_row_is_uniform EfficientMultiHeadAttention.EmptyRowIsUniform "
        "GroupedQueryAttention.FilledFarDownUncleared RotaryAttention.EmptyRowIsUniform",
    ),
    (
        adds_the_lowest,
        [LOWEST, TWO_LOWEST],
        "masked_attention.empty_row_is_uniform masked_softmax.empty_row_is_uniform",
    ),
    (
        clears_nothing,
        [ALL_PADDING],
        "masked_attention.empty_row_is_nan masked_softmax.empty_row_is_nan AttentionHead.empty_row_is_nan "
        "EfficientMultiHeadAttention.EmptyRowIsNaN GroupedQueryAttention.NaNInEmptyRows "
        "RotaryAttention.EmptyRowIsNotANumber",
    ),
    (
        adds_infinity,
        [INFINITY_ADDED],
        "masked_attention.added_without_clearing masked_softmax.added_without_clearing",
    ),
    (
        repairs,
        [INFINITY_ADDED, REPAIRED],
        "masked_attention.additive_mask masked_softmax.additive_mask AttentionHead.minus_infinity_added "
        "EfficientMultiHeadAttention.MinusInfinityAdded",
    ),
]


def attend(query, key, value, mask, weigh=right):
    scores = query @ key.mT / math.sqrt(query.shape[-1])
    weights = scores.softmax(-1) if mask is None else weigh(mask, scores)
    return weights @ value, weights


def defaults(query, key, value):
    key = query if key is None else key
    return query, key, key if value is None else value


def masked_softmax(weigh=right):
    return lambda scores, mask: weigh(mask, scores)


def masked_attention(weigh=right):
    def answer(query, key=None, value=None, mask=None):
        return attend(*defaults(query, key, value), mask, weigh)

    return answer


# ---- layers ----


class Head(nn.Module):
    """Lesson 4's layer; in this class and those that follow, an answer changes one method."""

    weigh = staticmethod(right)

    def __init__(self, embed_dim, head_size):
        super().__init__()
        self.query, self.key, self.value = (nn.Linear(embed_dim, head_size, bias=False) for _ in range(3))

    def attend(self, query, key, value, mask):
        return attend(query, key, value, mask, self.weigh)

    def forward(self, query, key=None, value=None, mask=None):
        query, key, value = defaults(query, key, value)
        return self.attend(self.query(query), self.key(key), self.value(value), mask)


@trap("AttentionHead", "over_the_batch", "`MultiheadAttention` attends over the batch")
class PositionsFirst(Head):
    def attend(self, query, key, value, mask):
        found, weights = super().attend(*(x.transpose(0, 1) for x in (query, key, value)), None)
        return found.transpose(0, 1), weights


class Heads(nn.Module):
    """Lesson 5's layer."""

    def __init__(self, embed_dim, num_heads, bias=False):
        super().__init__()
        if embed_dim % num_heads:
            raise ValueError(f"{embed_dim} numbers do not divide into {num_heads} heads")
        sizes = embed_dim, embed_dim // num_heads, bias
        self.heads = nn.ModuleList(AttentionHead(*sizes) for _ in range(num_heads))
        self.output = nn.Linear(embed_dim, embed_dim, bias)

    def over_heads(self, weights):
        return sum(weights) / len(weights)

    def forward(self, query, key=None, value=None, mask=None):
        found, weights = zip(*[head(query, key, value, mask) for head in self.heads], strict=True)
        return self.output(torch.cat(found, -1)), self.over_heads(weights)


@trap("MultiHeadAttention", "WeightsOfEveryHead", "The weights are a mean over heads")
class WeightsOfAllHeads(Heads):
    def over_heads(self, weights):
        return torch.stack(weights, dim=1)


@trap("MultiHeadAttention", "not_allowed", "`is_causal=True` without a mask is not causal in evaluation")
class TorchsLayer(Heads):
    def forward(self, query, key=None, value=None, mask=None):
        layer = nn.MultiheadAttention(query.shape[-1], len(self.heads), batch_first=True).to(query)
        return layer(*defaults(query, key, value))


class Layer(nn.Module):
    """Lesson 6's layer."""

    weigh = staticmethod(right)

    def __init__(self, embed_dim, num_heads, bias=False):
        super().__init__()
        if embed_dim % num_heads:
            raise ValueError(f"{embed_dim} numbers do not divide into {num_heads} heads")
        self.num_heads = num_heads
        self.query, self.key, self.value, self.output = (
            nn.Linear(embed_dim, embed_dim, bias) for _ in range(4)
        )

    def split(self, x):
        return x.view(*x.shape[:2], self.num_heads, -1).transpose(1, 2)

    def merge(self, x):
        return x.transpose(1, 2).reshape(x.shape[0], x.shape[2], -1)

    def lift(self, mask):
        return mask[..., None, :, :]

    def attend(self, query, key, value, mask):
        return attend(query, key, value, None if mask is None else self.lift(mask), self.weigh)

    def over_heads(self, weights):
        return weights.mean(1)

    def forward(self, query, key=None, value=None, mask=None):
        query, key, value = defaults(query, key, value)
        parts = self.query(query), self.key(key), self.value(value)
        found, weights = self.attend(*map(self.split, parts), mask)
        return self.output(self.merge(found)), self.over_heads(weights)


@trap(
    "EfficientMultiHeadAttention", "HeadsAttendToHeads", "`scaled_dot_product_attention` attends over heads"
)
class HeadsBehindPositions(Layer):
    def split(self, x):
        return x.view(*x.shape[:2], self.num_heads, -1)

    def merge(self, x):
        return x.flatten(2)


@trap(
    "EfficientMultiHeadAttention",
    "MaskMeetsTheHeads",
    "One mask for each sample is used as one for each head",
)
class MaskAsItCame(Layer):
    def lift(self, mask):
        return mask


@trap("EfficientMultiHeadAttention", "MaskRepeated", "The masks of a batch repeat by sample, not by head")
class RepeatsTheMasks(Layer):
    def lift(self, mask):
        if mask.dim() == 2:
            return mask
        return mask.repeat(self.num_heads, 1, 1).view(len(mask), self.num_heads, *mask.shape[1:])


@trap("EfficientMultiHeadAttention", "WeightsOfEveryHead", "The weights are a mean over heads")
class NoMeanOfWeights(Layer):
    def over_heads(self, weights):
        return weights


@trap("merge_heads", "view_after_transpose", "The memory layout of the output depends on the backend")
def views_transposed_heads(x):
    batch, heads, length, head_size = x.shape
    return x.transpose(1, 2).view(batch, length, heads * head_size)


class Classifier(nn.Module):
    """Lesson 8's model."""

    def __init__(self, vocab_size, embed_dim, num_classes, attention, positional=None):
        super().__init__()
        self.embedding = nn.Embedding(vocab_size, embed_dim, padding_idx=0)
        self.positional = positional or nn.Identity()
        self.attention = attention
        self.fc1, self.final = nn.Linear(embed_dim, 128), nn.Linear(128, num_classes)

    def look(self, input_ids, mask):
        return self.attention(self.positional(self.embedding(input_ids)), mask=mask)

    def pool(self, output):
        return output[:, 0]

    def forward(self, input_ids, mask=None):
        return self.final(F.relu(self.fc1(self.pool(self.look(input_ids, mask)[0]))))

    def attend(self, input_ids, mask=None):
        return self.look(input_ids, mask)[1]


@trap("TextClassifier", "AttendsToPadding", "Without a mask, padding is read")
class KnowsItsPadding(Classifier):
    def look(self, input_ids, mask):
        return super().look(input_ids, None)


@trap("TextClassifier", "MeanOverThePlaces", ZEROS)
class MeanOfThePadded(Classifier):
    def pool(self, output):
        return output.mean(1)


class Block(nn.Module):
    """Lesson 13's block."""

    def __init__(self, embed_dim, num_heads, hidden_dim):
        super().__init__()
        self.attention = EfficientMultiHeadAttention(embed_dim, num_heads, bias=True)
        self.norm1, self.norm2 = (nn.LayerNorm(embed_dim, eps=1e-12) for _ in range(2))
        self.linear1, self.linear2 = nn.Linear(embed_dim, hidden_dim), nn.Linear(hidden_dim, embed_dim)

    def drop(self, x):
        return x

    def forward(self, x, mask=None):
        x = self.norm1(x + self.attention(x, mask=mask)[0])
        return self.norm2(x + self.linear2(self.drop(F.gelu(self.linear1(x)))))


@trap("TransformerBlock", "DropoutActive", "`dropout_p` counts in evaluation")
class DropsInEvaluation(Block):
    def drop(self, x):
        return F.dropout(x, 0.1)


@trap("mean_pool", "ignores_the_mask", ZEROS, "Without a mask, padding is read")
def mean_of_all_positions(x, mask):
    return x.mean(1)


@trap("mean_pool", "divided_by_the_length", ZEROS, "A mean over positions counts the real ones")
def mean_with_zeros(x, mask):
    return x.masked_fill(~mask[..., None], 0.0).mean(1)


@trap("mean_pool", "nan_for_empty", ALL_PADDING)
def divides_by_the_count(x, mask):
    return (x * mask[..., None]).sum(1) / mask.sum(1, keepdim=True)


# ---- caches and shared keys ----

FIRST_KEY = "One query with `is_causal=True` sees only the first key"
SHARED = "Which heads share a key"
SHARED_OTHERWISE = "x-transformers shares keys in another order"


class Cached(Layer):
    """Lesson 9's layer."""

    def mask(self, new, total):
        return torch.arange(total) <= torch.arange(total - new, total)[:, None]

    def join(self, cache, key, value):
        return torch.cat([cache[0], key], 2), torch.cat([cache[1], value], 2)

    def forward(self, x, cache=None):
        query, key, value = (self.split(part(x)) for part in (self.query, self.key, self.value))
        total = (key, value) if cache is None else self.join(cache, key, value)
        found, _ = self.attend(query, *total, self.mask(x.shape[1], total[0].shape[2]))
        return self.output(self.merge(found)), total


@trap("CachedAttention", "not_allowed", FIRST_KEY)
class TorchsFlag(Cached):
    def attend(self, query, key, value, mask):
        return F.scaled_dot_product_attention(query, key, value, is_causal=True), None


@trap("CachedAttention", "NoOffset", FIRST_KEY)
class MaskFromTheTopLeft(Cached):
    def mask(self, new, total):
        return torch.ones(new, total).tril().bool()


@trap("CachedAttention", "NoOffset", "The mask of a step covers the cache, too")
class MaskOfTheStep(Cached):
    def mask(self, new, total):
        return F.pad(torch.ones(new, new).tril().bool(), (0, total - new))


@trap("CachedAttention", "NoMask", "`nn.Transformer` and its decoder layer are not causal")
class NothingHidden(Cached):
    def mask(self, new, total):
        return torch.ones(new, total).bool()


@trap("CachedAttention", "WritesIntoTheList", "A cache is changed by the call that reads it")
class ChangesItsCache(Cached):
    def join(self, cache, key, value):
        joined = super().join(cache, key, value)
        if isinstance(cache, list):
            cache[:] = joined
        return joined


@trap("repeat_heads", "whole_rows", SHARED, SHARED_OTHERWISE)
def tiles(x, groups):
    return x.tile(1, groups, 1, 1)


class Grouped(Layer):
    """Lesson 9's layer of grouped queries."""

    def __init__(self, embed_dim, num_heads, num_kv_heads, bias=False):
        super().__init__(embed_dim, num_heads, bias)
        if num_heads % num_kv_heads:
            raise ValueError(f"{num_heads} heads cannot share {num_kv_heads}")
        self.groups = num_heads // num_kv_heads
        self.key, self.value = (nn.Linear(embed_dim, embed_dim // self.groups, bias) for _ in range(2))

    def share(self, x):
        return x.repeat_interleave(self.groups, 1)

    def forward(self, x, mask=None):
        shared = (
            part(x).unflatten(-1, (self.num_heads // self.groups, -1)).transpose(1, 2)
            for part in (self.key, self.value)
        )
        found, weights = self.attend(self.split(self.query(x)), *map(self.share, shared), mask)
        return self.output(self.merge(found)), self.over_heads(weights)


@trap("GroupedQueryAttention", "RepeatsWholeRows", SHARED, SHARED_OTHERWISE)
class SharesAsXTransformers(Grouped):
    def share(self, x):
        return torch.cat([x] * self.groups, 1)


@trap("GroupedQueryAttention", "RepeatsNothing", "One key head needs no `enable_gqa`")
class RepeatsNothing(Grouped):
    def share(self, x):
        return x


# ---- rotary positions ----

LAYOUTS = "The two layouts give different scores"
LLAMA = "transformers: Llama is halves, Cohere neighbours"
NEIGHBOURS = "x-transformers and rotary-embedding-torch turn neighbours"
GGUF_ROWS = "GGUF files of Llama models hold reordered rows"


def halves(x, angles):
    """As in Llama of transformers."""
    both = torch.cat([angles, angles], -1).to(x)
    first, second = x.chunk(2, -1)
    return x * both.cos() + torch.cat([-second, first], -1) * both.sin()


def neighbours(x, angles):
    pairs = torch.view_as_complex(x.unflatten(-1, (-1, 2)).contiguous())
    return torch.view_as_real(pairs * torch.exp(1j * angles.to(x))).flatten(-2)


trap("rotate", "halves_for_pairs", LAYOUTS, LLAMA)(halves)
trap("rotate_halves", "pairs_for_halves", LAYOUTS, NEIGHBOURS)(neighbours)


@trap("to_halves", "unchanged", LAYOUTS)
def rows_as_they_are(weight, num_heads):
    return weight.clone()


@trap("to_halves", "across_heads", GGUF_ROWS)
def rows_of_all_heads_at_once(weight, num_heads):
    return torch.cat([weight[0::2], weight[1::2]])


@trap("load_decoder", "layout_ignored", GGUF_ROWS)
def loads_rows_as_they_are(tensors, layer, layout="pairs", num_heads=9, num_kv_heads=3):
    if layout not in ("pairs", "halves"):
        raise ValueError(f"the layout {layout!r} is unknown")
    names = {"norm1": "attn_norm", "norm2": "ffn_norm"}
    names |= {f"attention.{part}": f"attn_{part[0]}" for part in ("query", "key", "value")}
    names |= {f"mlp.{part}": f"ffn_{part}" for part in ("gate", "up", "down")}
    names["attention.output"] = "attn_output"
    return {f"{ours}.weight": tensors[f"blk.{layer}.{theirs}.weight"] for ours, theirs in names.items()}


class Rotary(Layer):
    """Lesson 10's layer."""

    def __init__(self, embed_dim, num_heads, base=10000.0):
        super().__init__(embed_dim, num_heads)
        if embed_dim // num_heads % 2:
            raise ValueError(f"a head of {embed_dim // num_heads} numbers has no pairs")
        self.base = base

    def positions(self, first, count):
        return torch.arange(first, first + count, dtype=torch.float64)

    def rates(self, size):
        return self.base ** -(torch.arange(0, size, 2, dtype=torch.float64) / size)

    def turn(self, x, first, pairs=neighbours):
        return pairs(x, torch.outer(self.positions(first, x.shape[-2]), self.rates(x.shape[-1])))

    def forward(self, x, mask=None, cache=None):
        past = 0 if cache is None else cache[0].shape[2]
        query, key, value = (self.split(part(x)) for part in (self.query, self.key, self.value))
        query, key = self.turn(query, past), self.turn(key, past)
        if cache is not None:
            key, value = torch.cat([cache[0], key], 2), torch.cat([cache[1], value], 2)
        return self.output(self.merge(self.attend(query, key, value, mask)[0])), (key, value)


@trap("RotaryAttention", "Halves", LLAMA)
class TurnsAsLlama(Rotary):
    def turn(self, x, first):
        return super().turn(x, first, halves)


@trap("RotaryAttention", "ByTheHeads", "rotary-embedding-torch turns the second last dimension")
class TurnsTheSecondLast(Rotary):
    def turn(self, x, first):
        return super().turn(x.transpose(1, 2), first).transpose(1, 2)


@trap("RotaryAttention", "PositionsInHalfPrecision", "Positions above 256 fall together in bfloat16")
class CountsInBfloat16(Rotary):
    def positions(self, first, count):
        return torch.arange(first, first + count, dtype=torch.bfloat16).double()


@trap(
    "RotaryAttention", "SpeedsInHalfPrecision", "A model in bfloat16 has its rotary frequencies in bfloat16"
)
class RatesInBfloat16(Rotary):
    def rates(self, size):
        return super().rates(size).bfloat16().double()


RIGHT = {
    "masked_softmax": masked_softmax(),
    "masked_attention": masked_attention(),
    "AttentionHead": Head,
    "MultiHeadAttention": Heads,
    "EfficientMultiHeadAttention": Layer,
    "TextClassifier": Classifier,
    "TransformerBlock": Block,
    "CachedAttention": Cached,
    "GroupedQueryAttention": Grouped,
    "RotaryAttention": Rotary,
}


def hiding(exercise, weigh):
    """An answer that is right but for the way it hides."""
    if exercise == "masked_softmax":
        return masked_softmax(weigh)
    if exercise == "masked_attention":
        return masked_attention(weigh)
    return type("Answer", (RIGHT[exercise],), {"weigh": staticmethod(weigh)})


for weigh, rows, mistakes in HIDES:
    for exercise, mistake in (name.split(".") for name in mistakes.split()):
        trap(exercise, mistake, *rows)(hiding(exercise, weigh))


def verdict_on(exercise, answer):
    lesson, checked = EXERCISES[exercise]
    return judged(checked, lesson.reference_answer(exercise), answer, seed=5)


@pytest.mark.parametrize("exercise", RIGHT)
def test_an_answer_without_its_trap_is_right(exercise):
    verdict = verdict_on(exercise, RIGHT[exercise])
    assert verdict.points == verdict.max_points, verdict.findings


@pytest.mark.parametrize(("rows", "exercise", "mistake", "answer"), TRAPS)
def test_an_answer_that_falls_into_a_row_is_named(rows, exercise, mistake, answer):
    verdict = verdict_on(exercise, answer)
    assert verdict.points < verdict.max_points
    assert verdict.findings[0].mistake == mistake, verdict.findings


def test_each_row_has_a_trap_or_is_met_by_no_exercise():
    in_traps = {row for parameters in TRAPS for row in parameters.values[0]}
    assert in_traps <= {entry.title for entry in entries()}
    others = Counter(entry.section for entry in entries() if entry.title not in in_traps)
    assert others == {section: count for section, (count, reason) in NOT_MET.items() if reason}
