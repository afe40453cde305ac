"""What lesson 13 measures and draws of an encoder: a word's vectors after each block, its heads' weights.

`blocks` are any modules called as `block(x)`; where heads are looked into, they have lesson 13's attributes
(`attention` with `query`, `key` and `num_heads`).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import matplotlib
import matplotlib.pyplot as plt
import numpy as np
import torch
from matplotlib.axes import Axes

from attention_lab.encoder.model import Encoder
from attention_lab.plots import ACCENT, STYLE, colours

MEASURED = Path(__file__).with_name("measured.npz")
SENTENCE = "The old bank by the river was closed, so we walked to the other side."
RIVER = (
    "We sat on the bank of the river and watched the boats.",
    "The river rose and flooded the left bank.",
    "Trees grow along the bank of the stream.",
    "The fisherman stood on the muddy bank all morning.",
    "They pulled the canoe up on the bank.",
    "Ducks were sleeping on the grassy bank of the lake.",
    "The path follows the north bank of the Thames.",
    "He swam to the opposite bank.",
    "The bank of the canal was covered with reeds.",
    "After the storm the river had washed away its bank.",
)
ACCOUNT = (
    "She opened an account at the bank on Monday.",
    "The bank raised its interest rates again.",
    "He asked the bank for a loan to buy a house.",
    "The bank refused to pay out the money.",
    "My salary goes straight to the bank.",
    "The central bank warned of rising prices.",
    "Two men robbed the bank in the high street.",
    "The bank closed hundreds of branches last year.",
    "You can pay the cheque in at any bank.",
    "Shares of the bank fell after the report.",
)

Block = Callable[..., torch.Tensor]


@torch.no_grad()
def states(text: str, encoder: Encoder, blocks: Sequence[Block]) -> tuple[list[str], torch.Tensor]:
    """A text's tokens, and their vectors: the embeddings and what each block returns.

    Returns
    -------
    tokens
        T strings, `[CLS]` and `[SEP]` among them.
    vectors
        (len(blocks) + 1, T, E)
    """
    encoding = encoder.tokenizer.encode(text)
    length = sum(encoding.attention_mask)
    x = encoder.embeddings(torch.tensor([encoding.ids[:length]]))
    vectors = [x[0]]
    for block in blocks:
        x = block(x)
        vectors.append(x[0])
    return encoding.tokens[:length], torch.stack(vectors)


def bank_by_block(encoder: Encoder, blocks: Sequence[Block]) -> dict[str, torch.Tensor]:
    """Return how alike the vectors of the token *bank* are, within a meaning and across: cosines by block.

    Ten sentences about rivers and ten about money; `[0]` is before the first block. The small encoder does
    not know the word: for it, the stored measurement of all-MiniLM-L6-v2 is returned.
    """
    if encoder.tokenizer.token_to_id("bank") is None or "river" not in encoder.tokenizer.get_vocab():
        print("(measured with all-MiniLM-L6-v2, torch 2.13, and stored)")
        return {name: torch.from_numpy(curve) for name, curve in _measured("bank").items()}
    groups = [[_bank(text, encoder, blocks) for text in texts] for texts in (RIVER, ACCOUNT)]
    return _within_and_across(*(torch.stack(group) for group in groups))


def _bank(text: str, encoder: Encoder, blocks: Sequence[Block]) -> torch.Tensor:
    tokens, vectors = states(text, encoder, blocks)
    return vectors[:, tokens.index("bank")]


def _within_and_across(one: torch.Tensor, other: torch.Tensor) -> dict[str, torch.Tensor]:
    """Mean cosines between (N, layers, E) and (N, layers, E), by layer; no vector is compared with itself."""
    first, second = (torch.nn.functional.normalize(group, dim=-1).transpose(0, 1) for group in (one, other))
    apart = ~torch.eye(len(one), dtype=torch.bool)
    within = [(group @ group.mT)[:, apart].mean(dim=1) for group in (first, second)]
    across = (first @ second.mT).flatten(1).mean(dim=1)
    return {"same meaning": (within[0] + within[1]) / 2, "other meaning": across}


def sentences_within_and_across(embed: Callable[[list[str]], torch.Tensor]) -> tuple[float, float]:
    """The same two mean cosines for the vectors of the twenty whole sentences."""
    groups = [embed(list(texts))[:, None] for texts in (RIVER, ACCOUNT)]
    within, across = _within_and_across(*groups).values()
    return float(within[0]), float(across[0])


@torch.no_grad()
def head_weights(text: str, encoder: Encoder, blocks: Sequence[Any]) -> tuple[list[str], torch.Tensor]:
    """The weights of all heads for one text: its T tokens, and (layers, H, T, T)."""
    tokens, vectors = states(text, encoder, blocks)
    tables = []
    for x, block in zip(vectors, blocks, strict=False):
        attention = block.attention
        query, key = (
            layer(x).unflatten(-1, (attention.num_heads, -1)).transpose(0, 1)
            for layer in (attention.query, attention.key)
        )
        tables.append(torch.softmax(query @ key.mT / math.sqrt(key.shape[-1]), dim=-1))
    return tokens, torch.stack(tables)


def measured_heads() -> tuple[list[str], torch.Tensor]:
    """The stored weights of all 72 heads of all-MiniLM-L6-v2 for `SENTENCE`, rounded to 1/255."""
    with np.load(MEASURED) as stored:
        return [str(token) for token in stored["tokens"]], torch.from_numpy(stored["heads"]).float() / 255


def find_heads(weights: torch.Tensor) -> dict[str, tuple[int, int, float]]:
    """For three patterns the head that shows it most: block, head and its mean weight there.

    weights: (layers, H, T, T). The mean is over the queries for which the pattern exists.
    """
    shares = {
        "the previous token": weights.diagonal(-1, dim1=-2, dim2=-1),
        "the next token": weights.diagonal(1, dim1=-2, dim2=-1),
        "[CLS]": weights[..., 1:, 0],
    }
    found = {}
    for name, share in shares.items():
        mean = share.mean(dim=-1)
        layer, head = divmod(int(mean.argmax()), mean.shape[1])
        found[name] = layer, head, float(mean[layer, head])
    return found


def _measured(prefix: str) -> dict[str, Any]:
    with np.load(MEASURED) as stored:
        return {
            name.partition("/")[2]: stored[name] for name in stored.files if name.startswith(f"{prefix}/")
        }


@matplotlib.rc_context(STYLE)
def heads_picture(weights: torch.Tensor, mark: Sequence[tuple[int, int]] = ()) -> Axes:
    """Draw the weights (layers, H, T, T) of all heads, a row per block, on one colour scale from 0 to 1.

    `mark` frames heads, each a pair (block, head). Queries run down, keys run across. Returns the first Axes.
    """
    layers, heads = weights.shape[:2]
    figure, axes = plt.subplots(
        layers, heads, figsize=(0.85 * heads + 0.8, 0.9 * layers + 0.5), layout="constrained", squeeze=False
    )
    for layer in range(layers):
        for head in range(heads):
            ax = axes[layer, head]
            ax.imshow(weights[layer, head].detach().numpy(), cmap=colours(), vmin=0, vmax=1)
            ax.set(xticks=[], yticks=[])
            marked = (layer, head) in mark
            for spine in ax.spines.values():
                spine.set(visible=True, color=ACCENT if marked else "#c5ced4", linewidth=3 if marked else 0.6)
            if layer == 0:
                ax.set_title(f"{head}", fontsize=9, fontweight="normal", pad=3)
        axes[layer, 0].set_ylabel(f"block {layer}", fontsize=9)
    figure.suptitle("head", fontsize=9)
    first: Axes = axes[0, 0]
    return first
