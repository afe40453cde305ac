"""Lesson 5's multi-head attention, head by head: the layer that this lesson must equal."""

import torch
import torch.nn as nn

from attention_lab.lesson_05.attention_head import AttentionHead


class MultiHeadAttention(nn.Module):
    """H heads in a loop, side by side, and one projection of their outputs."""

    def __init__(self, embed_dim, num_heads, bias=False):
        super().__init__()
        if embed_dim % num_heads != 0:
            raise ValueError(f"embed_dim {embed_dim} is not divisible by {num_heads} heads")
        head_size = embed_dim // num_heads
        self.heads = nn.ModuleList(AttentionHead(embed_dim, head_size, bias=bias) for _ in range(num_heads))
        self.output = nn.Linear(embed_dim, embed_dim, bias=bias)

    def forward(self, query, key=None, value=None, mask=None):
        """query (B, T_q, E), key and value (B, T_k, E) -> output (B, T_q, E), weights (B, T_q, T_k)."""
        results = [head(query, key, value, mask) for head in self.heads]
        outputs = torch.cat([output for output, _ in results], dim=-1)  # (B, T_q, E)
        weights = torch.stack([weights for _, weights in results])  # (H, B, T_q, T_k)
        return self.output(outputs), weights.mean(dim=0)
