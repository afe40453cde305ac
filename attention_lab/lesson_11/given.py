"""Ready-made attention in two ways, for lesson 11's experiments: with the matrix of scores, and in blocks."""

import math
import time

import matplotlib.pyplot as plt
import torch

from attention_lab.memory import peak_bytes
from attention_lab.plots import curves


def plain_attention(query, key, value):
    """Attention as in lesson 2: it makes the matrix of scores. query, key, value: (..., T, d)."""
    return torch.softmax(query @ key.mT / math.sqrt(query.shape[-1]), dim=-1) @ value


def attention_in_blocks(query, key, value, block_size=128):
    """The same output without the matrix. For each block of queries it goes through the blocks of keys.

    It keeps the largest score so far, and two sums that belong to it: of the exponentials, and of the values
    times the exponentials. A block with a larger score makes the old sums smaller.
    """
    outputs = []
    for queries in query.split(block_size, dim=-2):
        largest = torch.full((*queries.shape[:-1], 1), -math.inf)
        total, weighted = torch.zeros_like(largest), torch.zeros(*queries.shape[:-1], value.shape[-1])
        for keys, values in zip(key.split(block_size, -2), value.split(block_size, -2), strict=True):
            scores = queries @ keys.mT / math.sqrt(query.shape[-1])  # one block of the matrix
            before, largest = largest, torch.maximum(largest, scores.amax(dim=-1, keepdim=True))
            exponentials, factor = torch.exp(scores - largest), torch.exp(before - largest)
            total = total * factor + exponentials.sum(dim=-1, keepdim=True)
            weighted = weighted * factor + exponentials @ values
        outputs.append(weighted / total)
    return torch.cat(outputs, dim=-2)


def megabytes(function, *inputs, **options):
    """Return the most memory that torch holds at once while the function runs."""
    return peak_bytes(function, *inputs, **options) / 1e6


def milliseconds(function, *inputs, runs=2):
    """Return the time of the fastest run, because disturbances only ever add time."""
    taken = []
    for _ in range(runs):
        began = time.perf_counter()
        function(*inputs)
        taken.append(time.perf_counter() - began)
    return 1000 * min(taken)


def draw_race(lengths, memory, times):
    """Draw megabytes and milliseconds, a list per way, over the lengths: two panels, logarithmic axes."""
    _, (left, right) = plt.subplots(1, 2, figsize=(8.5, 4), layout="constrained")
    curves(lengths, memory, x_label="tokens", y_label="MB held at once", log_x=True, log_y=True, ax=left)
    curves(lengths, times, x_label="tokens", y_label="milliseconds", log_x=True, log_y=True, ax=right)
    for axes, title in ((left, "Memory"), (right, "Time")):
        axes.set_title(title)
        axes.minorticks_off()
        axes.set_xticks(lengths, lengths)
