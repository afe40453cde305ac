"""Ready-made parts of lesson 10's experiment: a reader that names the letter three positions back.

The two layers get positions in different ways: `TableAttention` adds lesson 7's table to the tokens,
`TurnedAttention` turns queries and keys. Everything else is the same.
"""

import torch
import torch.nn as nn
import torch.nn.functional as F

LETTERS, BACK = 10, 3
TRAINED = 32  # letters in a text of the training


def window(length, width):
    """The causal mask `(T, T)` that lets each token see the last `width` tokens, itself included."""
    distance = torch.arange(length)[:, None] - torch.arange(length)  # (T, T): how far back each key is
    return (distance >= 0) & (distance < width)


def clock_angles(length, width):
    """The angles of lesson 7's clocks, `(T, width / 2)`."""
    speeds = 10000.0 ** (-torch.arange(0, width, 2) / width)
    return torch.arange(length, dtype=torch.float32)[:, None] * speeds


class TableAttention(nn.Module):
    """Multi-head attention around torch's own function, with lesson 7's table added to the tokens."""

    def __init__(self, embed_dim, num_heads):
        super().__init__()
        self.num_heads = num_heads
        self.qkv = nn.Linear(embed_dim, 3 * embed_dim, bias=False)
        self.output = nn.Linear(embed_dim, embed_dim, bias=False)

    def with_positions(self, x, query_key_value):
        """x: (B, T, E), before the projection      query_key_value: a function of x, see `forward`"""
        angles = clock_angles(*x.shape[1:])
        return query_key_value(x + torch.stack([angles.sin(), angles.cos()], dim=-1).flatten(-2))

    def forward(self, x, mask):
        """x: (B, T, E)      mask: (T, T), True = may attend      returns: output (B, T, E), None"""

        def query_key_value(x):
            return self.qkv(x).unflatten(-1, (3, self.num_heads, -1)).permute(2, 0, 3, 1, 4)

        found = F.scaled_dot_product_attention(*self.with_positions(x, query_key_value), attn_mask=mask)
        return self.output(found.transpose(1, 2).flatten(2)), None


class TurnedAttention(TableAttention):
    """The same with turned queries and keys: each pair is a complex number, multiplied by a turn."""

    def with_positions(self, x, query_key_value):
        query, key, value = query_key_value(x)  # (B, H, T, D) each
        angles = clock_angles(*query.shape[2:])  # (T, D/2)
        turns = torch.polar(torch.ones_like(angles), angles)
        query, key = (
            torch.view_as_real(torch.view_as_complex(part.unflatten(-1, (-1, 2)).contiguous()) * turns)
            for part in (query, key)
        )
        return query.flatten(-2), key.flatten(-2), value


class Reader(nn.Module):
    """Letters in; at each position, logits for the letter three positions back."""

    def __init__(self, make_layer):
        super().__init__()
        self.letters, self.attention = nn.Embedding(LETTERS, 32), make_layer(32, 2)
        self.final = nn.Linear(32, LETTERS)

    def forward(self, ids, width):
        """ids: (B, T)      width: how many tokens each token sees      returns: logits (B, T, LETTERS)"""
        output, _ = self.attention(self.letters(ids), window(ids.shape[1], width))
        return self.final(output)


def train_reader(make_layer, steps=400, seed=0):
    """A reader around `make_layer(embed_dim, num_heads)`, trained on random texts of 32 letters."""
    torch.manual_seed(seed)
    reader = Reader(make_layer)
    optimizer = torch.optim.Adam(reader.parameters(), lr=0.01)
    for _ in range(steps):
        ids = torch.randint(LETTERS, (32, TRAINED))
        logits = reader(ids, TRAINED)[:, BACK:]  # the first three positions have no letter three back
        loss = F.cross_entropy(logits.flatten(0, 1), ids[:, :-BACK].flatten())
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    return reader


@torch.no_grad()
def share_right(reader, length, width=10**6):
    """The share of right answers at the last 8 positions of 200 texts of this length."""
    ids = torch.randint(LETTERS, (200, length), generator=torch.Generator().manual_seed(1))
    guesses = reader(ids, width).argmax(dim=-1)
    return (guesses[:, -8:] == ids[:, -8 - BACK : -BACK]).double().mean().item()
