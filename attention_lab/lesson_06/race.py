"""How fast are the loop, the efficient layer and torch's own layers? A fair race, and a stored result."""

import time

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


# Measured on 25 November 2026 with torch 2.13, 25 laps, on one thread of a machine that had other work to do.
# Each line: kind, B, T, and for each of RUNNERS lower quartile, median and upper quartile in milliseconds.
_STORED = """
forward   1   8  1.38 1.96 2.43  0.337 0.421 0.536  0.35 0.382 0.432  0.158 0.176 0.229  0.199 0.274 0.353
forward   1  64  1.43 2.04 2.89  0.543 0.752 0.997  0.45 0.586 0.645  0.295 0.418 0.464  0.424 0.503 0.645
forward   1 256  5.14 6.77 7.62  3.54 4.26 5.21  2.84 3.33 3.86  2.55 3.15 3.66  2.28 2.53 3.27
forward   4   8  1.74 2.02 2.67  0.38 0.452 0.629  0.361 0.431 0.525  0.163 0.231 0.29  0.257 0.321 0.409
forward   4  64  2.81 3.62 4.28  1.42 1.67 1.94  1.04 1.34 1.64  1.03 1.23 1.55  0.952 1.23 1.48
forward   4 256  17.1 20 23.7  13.3 15.9 17.5  10.6 13 14.7  9.83 11.9 13.4  7.47 9.94 10.5
forward  12   8  1.6 2.37 2.73  0.435 0.637 0.785  0.42 0.573 0.781  0.277 0.381 0.526  0.448 0.541 0.78
forward  12  64  5.7 8.04 8.78  3.73 4.41 4.85  2.96 3.72 4  2.77 3.4 3.69  2.6 3.27 3.61
forward  12 256  59.6 68.4 79.9  55.9 73.9 90.6  33.8 41.3 47.4  28.6 34.4 36.3  21.9 26 28.7
backward  1   8  4.58 5.99 8.31  1.57 2.05 2.61  1.4 1.64 2.59  0.944 1.49 2.11  0.892 1.18 1.63
backward  1  64  6.8 8.26 10  2.05 2.61 2.88  1.92 2.31 2.85  1.79 2.49 2.8  1.34 1.96 2.62
backward  1 256  14.1 19 21.6  9.98 11.7 12.8  9.49 10.8 11.9  8.48 10.3 11.4  8.58 10.1 11.3
backward  4   8  5.03 6.28 8.84  1.54 1.9 2.6  1.44 1.86 2.43  1.26 1.67 2.03  1.04 1.59 2
backward  4  64  8.29 11.6 13.8  3.97 5.14 6.08  4.42 5.17 5.65  4.26 5.03 6.08  3.5 4.37 4.98
backward  4 256  41.8 48 54.4  34.5 38.5 42  34.5 41.3 44.2  31.4 34.3 41.3  27 30.2 36.7
backward 12   8  5.39 6.01 8.25  1.9 2.19 2.71  1.79 2.35 2.71  1.95 2.25 2.85  1.27 2.1 2.37
backward 12  64  14.8 16 20.2  8.81 9.84 11.9  9.77 10.4 12.8  9.71 10.8 13.3  8.22 9.15 11.7
backward 12 256  142 149 184  147 164 181  123 139 151  91.4 106 123  79.9 93.4 108
"""


def stored_results():
    """Return the stored results in the form in which `race` returns them."""
    results = {}
    for line in _STORED.strip().splitlines():
        kind, batch, length, *numbers = line.split()
        size = FORWARD if kind == "forward" else TRAINING, int(batch), int(length)
        quartiles = torch.tensor([float(number) for number in numbers]).view(len(RUNNERS), 3).tolist()
        results[size] = dict(zip(RUNNERS, quartiles, strict=True))
    return results


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
