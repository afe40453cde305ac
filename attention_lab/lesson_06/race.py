"""How fast are the loop, the efficient layer and torch's own layers? A fair race, and a stored result."""

import json
import time
from pathlib import Path

import matplotlib.pyplot as plt
import torch
import torch.nn as nn
import torch.nn.functional as F

from attention_lab.lesson_06.naive import MultiHeadAttention

EMBED_DIM, HEADS = 64, 8
BATCHES, LENGTHS = (1, 4, 12), (8, 64, 256)
FORWARD, TRAINING = "forward", "forward and backward"
RUNNERS = ("naive", "efficient", "torch, weights", "torch", "fused")


def make_runners(efficient_class, split_heads, merge_heads):
    """Five layers with the same parameters: name -> function x (B, T, E) -> (output, weights or None).

    The loop; the efficient layer; torch's layer, with and without weights; and the efficient layer around
    torch's fused attention, which returns no weights. Raises ValueError if their outputs differ.
    """
    torch.manual_seed(0)
    efficient = efficient_class(EMBED_DIM, HEADS, bias=True)
    naive = MultiHeadAttention(EMBED_DIM, HEADS, bias=True)
    mha = nn.MultiheadAttention(EMBED_DIM, HEADS, batch_first=True).eval()
    projections = {name: getattr(efficient, name) for name in ("query", "key", "value")}
    with torch.no_grad():
        mha.in_proj_weight.copy_(torch.cat([layer.weight for layer in projections.values()]))
        mha.in_proj_bias.copy_(torch.cat([layer.bias for layer in projections.values()]))
        for name, layer in projections.items():
            for kind in ("weight", "bias"):
                for head, part in zip(naive.heads, getattr(layer, kind).chunk(HEADS), strict=True):
                    getattr(getattr(head, name), kind).copy_(part)
    for other in (mha.out_proj, naive.output):
        other.load_state_dict(efficient.output.state_dict())

    def fused(x):
        query, key, value = (split_heads(layer(x), HEADS) for layer in projections.values())  # (B, H, T, D)
        return efficient.output(merge_heads(F.scaled_dot_product_attention(query, key, value))), None

    layers = (naive, efficient, lambda x: mha(x, x, x), lambda x: mha(x, x, x, need_weights=False), fused)
    runners = dict(zip(RUNNERS, layers, strict=True))
    x = torch.rand(4, 6, EMBED_DIM)
    for name, runner in runners.items():
        if not torch.allclose(runner(x)[0], naive(x)[0], atol=1e-5):
            raise ValueError(f"{name} and the loop give different outputs: there is nothing to race.")
    return runners


def one_lap(runner, x, backward):
    """Return the milliseconds of processor time of one call, with its backward pass or without."""
    start = time.process_time()
    output, _ = runner(x)
    if backward:
        output.sum().backward()
    return 1000 * (time.process_time() - start)


def race(runners, laps=25):
    """Race all runners on one thread, lap by lap through all sizes, so that a disturbance hits them all.

    To time your own layers: `race_figure(race(make_runners(EfficientMultiHeadAttention, split_heads,
    merge_heads)))`.

    Returns a dict (FORWARD or TRAINING, B, T) -> name -> lower quartile, median and upper quartile in
    milliseconds of processor time.
    """
    sizes = [(kind, batch, length) for kind in (FORWARD, TRAINING) for batch in BATCHES for length in LENGTHS]
    times = {size: {name: [] for name in runners} for size in sizes}
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    for lap in range(laps + 2):  # the first two laps are the warm-up
        for kind, batch, length in sizes:
            backward = kind == TRAINING
            x = torch.rand(batch, length, EMBED_DIM, requires_grad=backward)
            with torch.set_grad_enabled(backward):
                for name, runner in runners.items():
                    milliseconds = one_lap(runner, x, backward)
                    if lap >= 2:
                        times[kind, batch, length][name].append(milliseconds)
    torch.set_num_threads(threads)
    quarters = torch.tensor([0.25, 0.5, 0.75])
    return {
        size: {name: torch.tensor(its).quantile(quarters).tolist() for name, its in by_name.items()}
        for size, by_name in times.items()
    }


def stored_results():
    """Return what `race` returned on 25 November 2026, with torch 2.13 on a machine that had other work."""
    rows = json.loads(Path(__file__).with_name("race.json").read_text())
    return {tuple(size): dict(zip(RUNNERS, quartiles, strict=True)) for *size, quartiles in rows}


def fastest(times):
    """Return the names of the fastest runner and of all whose interquartile ranges overlap its own."""
    best = min(times.values(), key=lambda quartiles: quartiles[1])
    names = [name for name, quartiles in times.items() if quartiles[0] <= best[2]]
    return ["all but the loop"] if names == list(RUNNERS[1:]) else names


def race_figure(results):
    """Draw a table for each kind: who is fastest, and the medians of the loop and the efficient layer."""
    figure, panels = plt.subplots(1, 2, figsize=(12, 4.6), layout="constrained")
    for panel, kind in zip(panels, (FORWARD, TRAINING), strict=True):
        gains = torch.zeros(len(BATCHES), len(LENGTHS))
        for row, batch in enumerate(BATCHES):
            for column, length in enumerate(LENGTHS):
                times = results[kind, batch, length]
                loop, efficient = times["naive"], times["efficient"]
                apart = loop[0] > efficient[2] or efficient[0] > loop[2]
                gains[row, column] = loop[1] / efficient[1] if apart else 1.0
                gain = f"efficient × {loop[1] / efficient[1]:.1f}" if apart else "no clear difference"
                lines = ["fastest:", *fastest(times), "", f"the loop: {loop[1]:.1f} ms", gain]
                panel.text(column, row, "\n".join(lines), ha="center", va="center", color="black", fontsize=9)
        panel.imshow(gains.log2().clamp(-2, 2), cmap="PuOr", vmin=-5, vmax=5, aspect="auto")
        panel.set_xticks(range(3), [f"T = {length}" for length in LENGTHS])
        panel.set_yticks(range(3), [f"B = {batch}" for batch in BATCHES])
        panel.set_title(kind, weight="bold")
    return figure
