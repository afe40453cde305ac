"""Other right ways to write `GroupedQueryAttention`."""

import math

import torch
import torch.nn as nn

from .grouped_query_attention import Right, grouped_query_attention


@grouped_query_attention.accepted_alternative(
    "Nothing is copied: the queries get an axis for their group, and one key/value head is broadcast over"
    " it. This is what saves memory where keys come from a cache. (Only this step is shown.)"
)
class ByBroadcasting(Right):
    def share(self, x):
        return x

    def attend(self, query, key, value, mask):
        grouped = query.unflatten(1, (self.num_kv_heads, -1))  # (B, H_kv, G, T, D)
        if mask is not None:
            mask = mask[None, None] if mask.dim() == 2 else mask[:, None, None]
        outputs, weights = self.weigh(grouped, key[:, :, None], value[:, :, None], mask)
        return outputs.flatten(1, 2), weights.flatten(1, 2)

    def weigh(self, query, key, value, mask):
        scores = query @ key.mT / math.sqrt(query.shape[-1])
        if mask is None:
            weights = scores.softmax(-1)
        else:
            weights = scores.masked_fill(~mask, -math.inf).softmax(-1).nan_to_num(0.0)
        return weights @ value, weights


@grouped_query_attention.accepted_alternative(
    "Named axes tell the group g from the key/value head k: the keys have no g, so they are shared by all"
    " of it. (Only this step is shown.)"
)
class ByEinsum(Right):
    def share(self, x):
        return x

    def attend(self, query, key, value, mask):
        grouped = query.unflatten(1, (self.num_kv_heads, -1)) * query.shape[-1] ** -0.5
        scores = torch.einsum("bkgqd,bktd->bkgqt", grouped, key).flatten(1, 2)  # (B, H, T, T)
        mask = torch.tensor(True) if mask is None else mask.unsqueeze(-3)
        weights = scores.masked_fill(~mask, -math.inf).softmax(-1).masked_fill(~mask, 0)
        parted = weights.unflatten(1, (self.num_kv_heads, -1))
        return torch.einsum("bkgqt,bktd->bkgqd", parted, value).flatten(1, 2), weights


@grouped_query_attention.accepted_alternative
class ByExpanding(Right):
    def share(self, x):
        groups = self.num_heads // self.num_kv_heads
        batch, heads, length, size = x.shape
        return x[:, :, None].expand(batch, heads, groups, length, size).reshape(batch, -1, length, size)


@grouped_query_attention.accepted_alternative
class ByIndex(Right):
    def share(self, x):
        return x[:, torch.arange(self.num_heads) * self.num_kv_heads // self.num_heads]

    def clear(self, weights, mask):
        return torch.where(mask, weights, torch.zeros_like(weights))


@grouped_query_attention.accepted_alternative
class HeadByHead(Right):
    def attend(self, query, key, value, mask):
        outputs, tables = [], []
        for q, k, v in zip(query.unbind(1), key.unbind(1), value.unbind(1)):
            scores = torch.bmm(q, k.mT) / math.sqrt(q.shape[-1])
            if mask is not None:
                scores = scores.masked_fill(mask.logical_not(), -1e9)
            weights = torch.softmax(scores, -1)
            tables.append(weights if mask is None else weights * mask)
            outputs.append(tables[-1] @ v)
        return torch.stack(outputs, 1), torch.stack(tables, 1)


@grouped_query_attention.accepted_alternative
class SharesTheWeights(Right):
    """Repeats the rows of the projections instead of their results: every query head gets keys of its own."""

    def forward(self, x, mask=None):
        query = self.split(self.query(x), self.num_heads)
        key, value = (self.split(self.widened(layer, x), self.num_heads) for layer in (self.key, self.value))
        outputs, weights = self.attend(query, key, value, mask)
        return self.finish(self.merge(outputs)), self.over_heads(weights)

    def widened(self, layer, x):
        groups, size = self.num_heads // self.num_kv_heads, layer.out_features // self.num_kv_heads
        rows = torch.arange(layer.out_features).view(-1, size).repeat_interleave(groups, 0).flatten()
        bias = None if layer.bias is None else layer.bias[rows]
        return nn.functional.linear(x, layer.weight[rows], bias)
