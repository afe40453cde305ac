"""The mistakes that the grader can name in `GroupedQueryAttention`: heads, sizes, refusals."""

import torch.nn as nn

from .grouped_query_attention import Right, grouped_query_attention


@grouped_query_attention.mistake(
    "The heads are shared in the wrong order: query head h uses key/value head h % H_kv, as `repeat` lays"
    " them out. It should be h // groups, neighbours together: repeat each head by itself "
    "(`repeat_interleave`)."
)
class RepeatsWholeRows(Right):
    def share(self, x):
        return x.repeat(1, self.num_heads // self.num_kv_heads, 1, 1)


@grouped_query_attention.mistake(
    "Keys and values are repeated in different orders, so a head takes its weights from one key/value "
    "head and its values from another. Query head h uses head h // groups of both."
)
class ValuesInAnotherOrder(Right):
    def forward(self, x, mask=None):
        query = self.split(self.query(x), self.num_heads)
        key = self.share(self.split(self.key(x), self.num_kv_heads))
        value = self.split(self.value(x), self.num_kv_heads)
        value = value.repeat(1, self.num_heads // self.num_kv_heads, 1, 1)
        outputs, weights = self.attend(query, key, value, mask)
        return self.finish(self.merge(outputs)), self.over_heads(weights)


@grouped_query_attention.mistake(
    "All query heads use the first key/value head; the others are made and never used. Query head h uses "
    "head h // groups."
)
class FirstHeadForAll(Right):
    def share(self, x):
        return x[:, :1].expand(-1, self.num_heads, -1, -1)


@grouped_query_attention.mistake(
    "`key` and `value` map E to E numbers, as in lesson 6 (or their head size is E / H_kv), so nothing is"
    " saved. They have H_kv heads of D numbers: map E to H_kv · D."
)
class KeysAsWideAsQueries(Right):
    def __init__(self, embed_dim, num_heads, num_kv_heads, bias=False):
        nn.Module.__init__(self)
        self.refuse(embed_dim, num_heads, num_kv_heads)
        self.num_heads = self.num_kv_heads = num_heads
        for name in ("query", "key", "value", "output"):
            self.add_module(name, nn.Linear(embed_dim, embed_dim, bias=bias))


@grouped_query_attention.mistake(
    "The heads are cut with a view alone: it gives the shape (B, H, T, D) and puts the first tokens whole"
    " into head 0. Cut into (heads, D) first, then swap T and the heads."
)
class SplitsWithoutTranspose(Right):
    def split(self, x, heads):
        return x.reshape(x.shape[0], heads, x.shape[1], -1)


@grouped_query_attention.mistake(
    "`weights` are right, `output` is not: the heads are merged without swapping T and H back. Swap "
    "first, then join the heads."
)
class MergesWithoutTranspose(Right):
    def merge(self, x):
        return x.reshape(x.shape[0], x.shape[2], -1)


@grouped_query_attention.mistake(
    "The merged heads are returned as they are: `self.output` is made and never used. Send them through it."
)
class ForgetsTheOutputProjection(Right):
    def finish(self, merged):
        return merged


@grouped_query_attention.mistake(
    "A number of query heads that is not divisible by the number of key/value heads is not refused. Where"
    " `num_heads % num_kv_heads` is not 0, raise a ValueError that names both."
)
class RefusesNoGroups(Right):
    def refuse(self, embed_dim, num_heads, num_kv_heads):
        if embed_dim % num_heads:
            raise ValueError(f"{embed_dim} does not divide into {num_heads} heads")


@grouped_query_attention.mistake(
    "The number of key/value heads is compared with the width: a width that is divisible by both numbers "
    "of heads passes, although `num_heads` is not divisible by `num_kv_heads`. Test `num_heads % "
    "num_kv_heads`."
)
class RefusesByTheWidth(Right):
    def refuse(self, embed_dim, num_heads, num_kv_heads):
        if embed_dim % num_heads:
            raise ValueError(f"{embed_dim} does not divide into {num_heads} heads")
        if embed_dim % num_kv_heads:
            raise ValueError(f"{num_heads} heads cannot share {num_kv_heads} keys and values evenly")


@grouped_query_attention.mistake(
    "A width that is not divisible by the number of heads is not refused. Where `embed_dim % num_heads` "
    "is not 0, raise a ValueError that names both."
)
class RefusesNoWidth(Right):
    def refuse(self, embed_dim, num_heads, num_kv_heads):
        if num_heads % num_kv_heads:
            raise ValueError(f"{num_heads} heads cannot share {num_kv_heads} keys and values evenly")


@grouped_query_attention.mistake(
    "`bias=True` changes nothing: the projections are made without one. Pass `bias` to all four."
)
class BiasIgnored(Right):
    def __init__(self, embed_dim, num_heads, num_kv_heads, bias=False):
        super().__init__(embed_dim, num_heads, num_kv_heads)


@grouped_query_attention.mistake(
    "The numbers are right, but keys and values are taken out of the graph before they are repeated, so "
    "`key` and `value` never learn. Leave out `.detach()` and `.data`."
)
class SharesDetached(Right):
    def share(self, x):
        return super().share(x.detach())
