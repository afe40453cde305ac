"""Lesson 13, on one page: a sentence encoder of BERT's form."""

import math

import torch
import torch.nn as nn
import torch.nn.functional as F


class EfficientMultiHeadAttention(nn.Module):
    """Lesson 6's layer: query, key and value (B, T, E) -> output (B, T, E), weights (B, T, T)."""

    def __init__(self, embed_dim, num_heads, bias=False):
        super().__init__()
        self.num_heads = num_heads
        self.query = nn.Linear(embed_dim, embed_dim, bias=bias)
        self.key = nn.Linear(embed_dim, embed_dim, bias=bias)
        self.value = nn.Linear(embed_dim, embed_dim, bias=bias)
        self.output = nn.Linear(embed_dim, embed_dim, bias=bias)

    def forward(self, query, key=None, value=None, mask=None):
        key = query if key is None else key
        value = key if value is None else value
        parts = self.query(query), self.key(key), self.value(value)
        q, k, v = (x.unflatten(-1, (self.num_heads, -1)).transpose(1, 2) for x in parts)  # (B, H, T, D)
        scores = q @ k.mT / math.sqrt(q.shape[-1])  # (B, H, T, T)
        if mask is not None:
            scores = scores.masked_fill(~mask.unsqueeze(-3), -math.inf)
        weights = torch.softmax(scores, dim=-1)
        if mask is not None:
            weights = weights.masked_fill(~mask.unsqueeze(-3), 0.0)
        output = (weights @ v).transpose(1, 2).flatten(2)  # (B, T, E)
        return self.output(output), weights.mean(dim=1)


class TransformerBlock(nn.Module):
    """Attention and a feed-forward part, each added to its input and then normalised."""

    def __init__(self, embed_dim, num_heads, hidden_dim):
        super().__init__()
        self.attention = EfficientMultiHeadAttention(embed_dim, num_heads, bias=True)
        self.norm1 = nn.LayerNorm(embed_dim, eps=1e-12)
        self.linear1 = nn.Linear(embed_dim, hidden_dim)
        self.linear2 = nn.Linear(hidden_dim, embed_dim)
        self.norm2 = nn.LayerNorm(embed_dim, eps=1e-12)

    def forward(self, x, mask=None):
        attended, _ = self.attention(x, mask=mask)  # (B, T, E)
        x = self.norm1(x + attended)
        hidden = F.gelu(self.linear1(x))  # (B, T, hidden_dim)
        return self.norm2(x + self.linear2(hidden))


PARTS = {
    "attention.query": "attention.self.query",
    "attention.key": "attention.self.key",
    "attention.value": "attention.self.value",
    "attention.output": "attention.output.dense",
    "norm1": "attention.output.LayerNorm",
    "linear1": "intermediate.dense",
    "linear2": "output.dense",
    "norm2": "output.LayerNorm",
}


def load_block(weights, layer):
    """One layer of a BERT checkpoint under the names of `TransformerBlock`."""
    state = {}
    for part, bert_part in PARTS.items():
        for kind in ("weight", "bias"):
            state[f"{part}.{kind}"] = weights[f"encoder.layer.{layer}.{bert_part}.{kind}"]
    return state


def mean_pool(x, mask):
    """The mean over the visible tokens: (B, T, E), (B, T) -> (B, E)."""
    shown = mask.unsqueeze(-1).to(x.dtype)  # (B, T, 1)
    return (x * shown).sum(dim=1) / shown.sum(dim=1).clamp(min=1)


@torch.no_grad()  # the texts' vectors: (B, E)
def embed(texts, tokenizer, embeddings, blocks):
    """A vector of length 1 for each text."""
    encodings = tokenizer.encode_batch(texts)
    input_ids = torch.tensor([encoding.ids for encoding in encodings])  # (B, T)
    mask = torch.tensor([encoding.attention_mask for encoding in encodings]).bool()
    x = embeddings(input_ids)
    for block in blocks:
        x = block(x, mask=mask.unsqueeze(1))
    return F.normalize(mean_pool(x, mask), dim=-1)
