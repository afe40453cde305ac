"""Given attention with other divisors, and the experiment on what the width does to a softmax."""

import math

import matplotlib.pyplot as plt
import pandas as pd
import torch

from attention_lab.plots import STYLE, curves

DIVISORS = {"raw": lambda d_k: 1, "1/sqrt(d_k)": math.sqrt, "1/d_k": lambda d_k: d_k}


def attention_with(divisor):
    """Dot-product attention whose scores are divided by `divisor(d_k)`."""

    def attend(query, key, value):
        scores = query @ key.mT / divisor(query.shape[-1])  # (..., T_q, T_k)
        weights = torch.softmax(scores, dim=-1)
        return weights @ value, weights

    return attend


def entropy(weights):
    """Return the entropy of weights (..., T): 0 if one key has all, ln T if all T keys share equally."""
    return -torch.xlogy(weights, weights).sum(dim=-1)


def saturation(draw, widths, jacobian, queries=2_000, keys=8):
    """Entropy and size of the softmax gradient of the median query, for each width and divisor.

    draw: a function of a shape, such as torch.randn      jacobian: your `softmax_jacobian`
    returns: a table with one row per width
    """
    rows = []
    for d_k in widths:
        query = draw(queries, 1, d_k, dtype=torch.float64)
        key = draw(queries, keys, d_k, dtype=torch.float64)
        row = {"d_k": d_k}
        for name, divisor in DIVISORS.items():
            _, weights = attention_with(divisor)(query, key, key)
            weights = weights.squeeze(-2)  # (queries, keys)
            row["entropy", name] = entropy(weights).median().item()
            row["gradient", name] = torch.linalg.matrix_norm(jacobian(weights)).median().item()
        rows.append(row)
    table = pd.DataFrame(rows).set_index("d_k")
    table.columns = pd.MultiIndex.from_tuples(table.columns)
    return table[["entropy", "gradient"]]


def draw_walks(walks):
    """Draw scores as they grow, (number of scores, d_k), and the root of the width."""
    steps = torch.arange(1, walks.shape[-1] + 1)
    with plt.rc_context(STYLE):
        _, ax = plt.subplots(figsize=(8, 4))
        ax.set_title(f"{len(walks)} scores as they grow, and the square root of the width")
        ax.plot(steps, walks.T, color="0.6", linewidth=0.6)
        ax.plot(steps, steps.sqrt(), color="black", linewidth=2, label="± the root of d_k")
        ax.plot(steps, -steps.sqrt(), color="black", linewidth=2)
        ax.set(xlabel="d_k (number of products added)", ylabel="score so far")
        ax.legend(loc="upper left")


def draw_saturation(table):
    """Draw the entropies and the gradients in a table of `saturation`, a panel each."""
    figure, axes = plt.subplots(1, 2, figsize=(12, 4))
    for ax, what in zip(axes, ("entropy", "gradient"), strict=True):
        series = {name: table[what, name].tolist() for name in DIVISORS}
        title = f"{what.capitalize()} as vectors grow wider"
        labels = {"x_label": "d_k", "y_label": f"{what} of the median query", "title": title}
        curves(table.index.tolist(), series, log_x=True, log_y=what == "gradient", ax=ax, **labels)
    figure.tight_layout()
