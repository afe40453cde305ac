"""Lesson 5 on one page: several heads side by side, and what they cost."""

import torch
import torch.nn as nn

from attention_lab.lesson_05.attention_head import AttentionHead


class MultiHeadAttention(nn.Module):
    def __init__(self, embed_dim, num_heads, bias=False):
        super().__init__()
        if embed_dim % num_heads != 0:
            raise ValueError(f"a width of {embed_dim} is not divisible by {num_heads} heads")
        self.heads = nn.ModuleList(
            AttentionHead(embed_dim, embed_dim // num_heads, bias=bias) for _ in range(num_heads)
        )
        self.output = nn.Linear(embed_dim, embed_dim, bias=bias)

    def forward(self, query, key=None, value=None, mask=None):
        results = [head(query, key, value, mask) for head in self.heads]
        outputs, weights = zip(*results, strict=True)  # H times (B, T_q, D), H times (B, T_q, T_k)
        joined = torch.cat(outputs, dim=-1)  # (B, T_q, H * D) = (B, T_q, E)
        return self.output(joined), torch.stack(weights).mean(dim=0)  # (B, T_q, E), (B, T_q, T_k)


def parameter_count(embed_dim, num_heads, bias):
    outputs = 4 * embed_dim  # query, key and value of all heads together, and the output projection
    return outputs * embed_dim + (outputs if bias else 0)  # however many heads there are
