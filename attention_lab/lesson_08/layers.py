"""What lessons 5 to 7 built: three layers that compute the same function, and positions.

All three layers are made with `(embed_dim, num_heads, bias=True)` and called the same way:
query (B, T_q, E), key and value (B, T_k, E) or None, mask bool, True = may attend, of the shape
(T_q, T_k), (B, 1, T_k) or (B, T_q, T_k) -> output (B, T_q, E), weights (B, T_q, T_k), averaged over
the heads. A query with nothing to attend to has weights of zero, never NaN.
"""

import math

import torch
import torch.nn as nn


def attend(query, key, value, mask):
    """Scaled, masked attention over any leading dimensions; the mask broadcasts to (..., T_q, T_k)."""
    # The same as dividing the scores, and less work: a query is shorter than its row of scores.
    scores = (query / math.sqrt(query.shape[-1])) @ key.transpose(-2, -1)  # (..., T_q, T_k)
    if mask is None:
        weights = torch.softmax(scores, dim=-1)
        return weights @ value, weights
    # A finite lowest score: a row of nothing but -inf would be NaN, forward and backward.
    lowest = torch.finfo(scores.dtype).min
    hide = torch.zeros(mask.shape, dtype=scores.dtype, device=scores.device).masked_fill(~mask, lowest)
    weights = torch.softmax(scores + hide, dim=-1)  # exactly 0 where hidden, if anything may be seen
    sees = mask.any(dim=-1, keepdim=True)
    if not sees.all():
        weights = weights * sees
    return weights @ value, weights


def head_size_of(embed_dim, num_heads):
    if embed_dim % num_heads != 0:
        raise ValueError(f"{num_heads} heads cannot share a width of {embed_dim} evenly")
    return embed_dim // num_heads


class Head(nn.Module):
    """One head of lesson 5: embed_dim E in, head_size D out."""

    def __init__(self, embed_dim, head_size, bias=True):
        super().__init__()
        self.query = nn.Linear(embed_dim, head_size, bias=bias)
        self.key = nn.Linear(embed_dim, head_size, bias=bias)
        self.value = nn.Linear(embed_dim, head_size, bias=bias)

    def forward(self, query, key, value, mask):
        return attend(self.query(query), self.key(key), self.value(value), mask)


class NaiveMultiHeadAttention(nn.Module):
    """Lesson 5: the heads one after the other, in a loop."""

    def __init__(self, embed_dim, num_heads, bias=True):
        super().__init__()
        size = head_size_of(embed_dim, num_heads)
        self.heads = nn.ModuleList(Head(embed_dim, size, bias) for _ in range(num_heads))
        self.output = nn.Linear(embed_dim, embed_dim, bias=bias)

    def forward(self, query, key=None, value=None, mask=None):
        key = query if key is None else key
        value = key if value is None else value
        results = [head(query, key, value, mask) for head in self.heads]
        joined = torch.cat([output for output, _ in results], dim=-1)  # (B, T_q, H * D)
        weights = torch.stack([weights for _, weights in results])  # (H, B, T_q, T_k)
        return self.output(joined), weights.mean(dim=0)

    def pieces(self):
        """Name parts of this layer that make each weight of the efficient one: name -> parts, in order."""
        found = {f"output.{kind}": [tensor] for kind, tensor in self.output.named_parameters()}
        for head in self.heads:
            for name, tensor in head.named_parameters():
                found.setdefault(name, []).append(tensor)
        return found


class EfficientMultiHeadAttention(nn.Module):
    """Lesson 6: all heads in one product, cut apart by a reshape."""

    def __init__(self, embed_dim, num_heads, bias=True):
        super().__init__()
        self.head_size = head_size_of(embed_dim, num_heads)
        self.query = nn.Linear(embed_dim, embed_dim, bias=bias)
        self.key = nn.Linear(embed_dim, embed_dim, bias=bias)
        self.value = nn.Linear(embed_dim, embed_dim, bias=bias)
        self.output = nn.Linear(embed_dim, embed_dim, bias=bias)

    def split(self, x):
        """(B, T, E) -> (B, H, T, D)"""
        return x.unflatten(-1, (-1, self.head_size)).transpose(1, 2)

    def forward(self, query, key=None, value=None, mask=None):
        key = query if key is None else key
        value = key if value is None else value
        heads = (self.split(self.query(query)), self.split(self.key(key)), self.split(self.value(value)))
        if mask is not None and mask.dim() == 3:
            mask = mask.unsqueeze(1)  # (B, 1, T_q or 1, T_k): the same for every head
        output, weights = attend(*heads, mask)  # (B, H, T_q, D), (B, H, T_q, T_k)
        return self.output(output.transpose(1, 2).flatten(2)), weights.mean(dim=1)

    def pieces(self):
        return {name: [tensor] for name, tensor in self.named_parameters()}


class TorchMultiHeadAttention(nn.Module):
    """An adapter that gives torch's own layer the course's conventions."""

    def __init__(self, embed_dim, num_heads, bias=True):
        super().__init__()
        head_size_of(embed_dim, num_heads)
        self.layer = nn.MultiheadAttention(embed_dim, num_heads, bias=bias, batch_first=True)

    def forward(self, query, key=None, value=None, mask=None):
        key = query if key is None else key
        value = key if value is None else value
        if mask is None:
            return self.layer(query, key, value)
        mask = mask.expand(len(query), query.shape[1], key.shape[1])  # (B, T_q, T_k)
        # torch answers NaN where there is nothing to attend to: let such a query see everything
        # first, and take away afterwards what it saw.
        lost = ~mask.any(dim=-1, keepdim=True)  # (B, T_q, 1)
        # In torch's layer True means *blocked*, and every head wants a mask of its own: (B * H, T_q, T_k).
        blocked = ~(mask | lost)
        blocked = blocked.repeat_interleave(self.layer.num_heads, dim=0)
        output, weights = self.layer(query, key, value, attn_mask=blocked)
        nothing = torch.zeros(()) if self.layer.out_proj.bias is None else self.layer.out_proj.bias
        return torch.where(lost, nothing.to(output), output), weights.masked_fill(lost, 0.0)

    def pieces(self):
        found = {f"output.{kind}": [tensor] for kind, tensor in self.layer.out_proj.named_parameters()}
        for kind, packed in (("weight", self.layer.in_proj_weight), ("bias", self.layer.in_proj_bias)):
            if packed is not None:  # (3 * E, ...): query, key and value on top of each other
                for name, part in zip(("query", "key", "value"), packed.chunk(3), strict=True):
                    found[f"{name}.{kind}"] = [part]
        return found


def copy_weights(source, target):
    """Give `target` the weights of `source`; each is any one of the three layers, of the same sizes."""
    with torch.no_grad():
        for name, pieces in target.pieces().items():
            whole = torch.cat(source.pieces()[name])  # (E, E) or (E,)
            for piece, part in zip(pieces, whole.split([len(piece) for piece in pieces]), strict=True):
                piece.copy_(part)


class PositionalEncoding(nn.Module):
    """Lesson 7: adds to each token the sines and cosines of its position. x (B, T, E) -> (B, T, E)"""

    def __init__(self, embed_dim, max_len=256):
        super().__init__()
        even = torch.arange(0, embed_dim, 2)
        angles = torch.arange(max_len).unsqueeze(1) / 10000 ** (even / embed_dim)  # (max_len, clocks)
        table = torch.empty(max_len, embed_dim)
        table[:, 0::2] = torch.sin(angles)
        table[:, 1::2] = torch.cos(angles)[:, : embed_dim // 2]
        self.register_buffer("pe", table, persistent=False)

    def forward(self, x):
        length, max_len = x.shape[1], len(self.pe)
        if length > max_len:
            raise ValueError(f"a text of {length} tokens, but max_len is {max_len}")
        return x + self.pe[:length]
