"""Ready-made parts of lesson 9's experiments: a small language model, a timer, and a memory test."""

import time

import torch
import torch.nn as nn
import torch.nn.functional as F


class ReadyAttention(nn.Module):
    """Causal multi-head attention with a cache, around torch's own attention function."""

    def __init__(self, embed_dim, num_heads):
        super().__init__()
        self.num_heads = num_heads
        self.qkv = nn.Linear(embed_dim, 3 * embed_dim, bias=False)
        self.output = nn.Linear(embed_dim, embed_dim, bias=False)

    def forward(self, x, cache=None):
        """x: (B, T_new, E)      cache: (2, B, H, T_past, D), or None      returns: output, cache"""
        projected = self.qkv(x).unflatten(-1, (3, self.num_heads, -1)).permute(2, 0, 3, 1, 4)
        query, new = projected[0], projected[1:]  # (B, H, T_new, D), (2, B, H, T_new, D)
        cache = new if cache is None else torch.cat([cache, new], dim=3)
        T_new, T = new.shape[3], cache.shape[3]
        visible = torch.ones(T_new, T, dtype=torch.bool).tril(T - T_new)
        found = F.scaled_dot_product_attention(query, *cache, attn_mask=visible)
        return self.output(found.transpose(1, 2).flatten(2)), cache


class Model(nn.Module):
    """A language model with one layer of attention, not trained, and two ways to take a step.

    attention: a module, called as attention(x, cache) -> output (B, T_new, E), cache
    """

    def __init__(self, attention, embed_dim=64, vocabulary=50):
        super().__init__()
        self.embedding = nn.Embedding(vocabulary, embed_dim)
        self.attention = attention
        self.logits = nn.Linear(embed_dim, vocabulary)
        self.tokens_read = 0  # by the attention layer, so far

    def with_cache(self, ids, cache):
        """ids: the new tokens (B, T_new)      returns: logits (B, T_new, V), and the longer cache"""
        self.tokens_read += ids.shape[1]
        output, cache = self.attention(self.embedding(ids), cache)
        return self.logits(output), cache

    def without_cache(self, ids, text):
        """The same logits. Here `text` is all ids before these, and the model reads them all again."""
        text = ids if text is None else torch.cat([text, ids], dim=1)
        return self.with_cache(text, None)[0], text


@torch.no_grad()
def write(step, tokens, new_tokens):
    """Continue a text `(1, T)` greedily, and return the new tokens as a list."""
    logits, cache = step(tokens, None)
    written = [logits[0, -1].argmax()]
    while len(written) < new_tokens:
        logits, cache = step(written[-1].view(1, 1), cache)
        written.append(logits[0, -1].argmax())
    return torch.stack(written).tolist()


@torch.no_grad()
def milliseconds_per_token(model, lengths, runs=6):
    """Return the time of one more token after texts of these lengths, a list for each way.

    Each number is the fastest of several runs, because disturbances only ever add time.
    """
    times = {"without a cache": [], "with a cache": []}
    for length in lengths:
        ids = torch.randint(50, (2, length))
        _, cache = model.with_cache(ids, None)
        for name, step, past in (
            ("without a cache", model.without_cache, ids),
            ("with a cache", model.with_cache, cache),
        ):
            taken = []
            for _ in range(runs):
                start = time.perf_counter()
                step(ids[:, :1], past)
                taken.append(time.perf_counter() - start)
            times[name].append(1000 * min(taken))
    return times


LETTERS, DIGITS, PAIRS = 20, 10, 10


class Recall(nn.Module):
    """Reads pairs of a letter and a digit, then a letter, and names the digit that belongs to it.

    attention: a module, called as attention(x) -> output (B, T, 64) and something else
    """

    def __init__(self, attention):
        super().__init__()
        self.letters, self.digits = nn.Embedding(LETTERS, 64), nn.Embedding(DIGITS + 1, 64)
        self.attention = attention
        self.final = nn.Linear(64, DIGITS)

    def forward(self, letters, digits):
        x = self.letters(letters) + self.digits(digits)  # (B, T, 64): a pair is one token
        return self.final(self.attention(x)[0][:, -1])  # the last token holds the question


def recall_texts(count, generator):
    """Letters and digits of `count` texts, each (count, PAIRS + 1), and the answers (count,)."""
    letters = torch.rand(count, LETTERS, generator=generator).argsort(dim=-1)[:, :PAIRS]
    digits = torch.randint(DIGITS, (count, PAIRS), generator=generator)
    chosen = torch.randint(PAIRS, (count, 1), generator=generator)
    unknown = torch.full((count, 1), DIGITS)  # the last token's digit
    letters = torch.cat([letters, letters.gather(1, chosen)], dim=1)
    return letters, torch.cat([digits, unknown], dim=1), digits.gather(1, chosen)[:, 0]


def train_recall(reader, steps, generator):
    """Train with Adam on batches of 64 texts; return the loss of each step."""
    optimizer, losses = torch.optim.Adam(reader.parameters(), lr=0.005), []
    for _ in range(steps):
        letters, digits, answers = recall_texts(64, generator)
        loss = F.cross_entropy(reader(letters, digits), answers)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return losses


@torch.no_grad()
def share_right(reader, generator):
    """The share of 4,000 new texts for which the reader names the right digit."""
    letters, digits, answers = recall_texts(4000, generator)
    return (reader(letters, digits).argmax(dim=-1) == answers).double().mean().item()
