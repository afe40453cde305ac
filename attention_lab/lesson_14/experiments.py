"""What lesson 14 measures of a language model: its mistakes' answers, its heads, and what a token costs."""

import time
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import torch

from attention_lab.lesson_14.given import MISTAKES, GivenBlock, given_sample
from attention_lab.lesson_14.writing import write

MEASURED_HEADS = Path(__file__).with_name("measured_heads.npz")


def whole_answer(model, prompt, sample=given_sample, **options):
    """The answer as one string, without printing; `options` are those of `write`."""
    text = ""
    for step in write(model, prompt, sample, **options):
        text = step.text
    return text


def with_mistake(model, mistake):
    """The model on given blocks that all have one of `MISTAKES`."""
    return replace(model, blocks=[GivenBlock(model, layer, mistake) for layer in range(model.num_layers)])


def mistaken_answers(model, prompt, most=25):
    """A row for the right model and for each of `MISTAKES`: what it answers at temperature 0."""
    models = {"none": with_mistake(model, None)} | {name: with_mistake(model, name) for name in MISTAKES}
    answers = {name: whole_answer(mistaken, prompt, most=most) for name, mistaken in models.items()}
    return pd.DataFrame({"mistake": list(answers), "answer": [_one_line(text) for text in answers.values()]})


def sampled_answers(model, prompt, sample, settings, most=25, seed=0):
    """A row for each pair (temperature, top_p) in `settings`: what the model answers."""
    rows = [
        {
            "temperature": temperature,
            "top_p": top_p,
            "answer": _one_line(
                whole_answer(
                    model, prompt, sample, temperature=temperature, top_p=top_p, most=most, seed=seed
                )
            ),
        }
        for temperature, top_p in settings
    ]
    return pd.DataFrame(rows)


def _one_line(text):
    return " ".join(text.split()) or "(nothing: it ends at once)"


def as_text(table):
    """Show a table of texts: aligned at the left, its lines broken, without its index."""
    left = [{"selector": "th, td", "props": "text-align: left; white-space: normal"}]
    return table.style.hide().format(precision=1).set_uuid("text").set_table_styles(left)  # no id by chance


def bytes_of(cache):
    """The bytes of all keys and values in a model's cache."""
    return sum(tensor.nbytes for pair in cache for tensor in pair)


@torch.no_grad()
def cache_after(model, length):
    """The model's cache after a text of so many tokens."""
    return model(torch.zeros(1, length, dtype=torch.long), last=True)[1]


def milliseconds_a_token(model, lengths, runs=5, clock=time.perf_counter):
    """A row per length of the text so far: the next token with the cache, and with the whole text read again.

    Times are in milliseconds, the fastest of some runs, because disturbances only ever add time.
    """

    @torch.no_grad()
    def fastest(ids, cache=None):
        taken = []
        for _ in range(runs):
            began = clock()
            model(ids, cache, last=True)
            taken.append(clock() - began)
        return 1000 * min(taken)

    rows = []
    for length in lengths:
        ids = torch.zeros(1, length, dtype=torch.long)
        rows.append(
            {
                "tokens so far": length,
                "with the cache": fastest(ids[:, :1], cache_after(model, length - 1)),
                "read again": fastest(ids),
            }
        )
    return pd.DataFrame(rows)


@torch.no_grad()
def head_weights(model, ids):
    """The weights of all heads for one text (1, T): (layers, H, T, T)."""
    x, tables = model.tensors["token_embd.weight"][ids], []
    for layer, block in enumerate(model.blocks):
        given = GivenBlock(model, layer)
        query, key = given.queries_and_keys(given.norm(x, "attn_norm"))
        key = key.repeat_interleave(model.num_heads // model.num_kv_heads, dim=1)
        scores = (query @ key.mT)[0] / query.shape[-1] ** 0.5  # (H, T, T)
        later = torch.ones(scores.shape[-2:], dtype=torch.bool).triu(1)
        tables.append(scores.masked_fill(later, float("-inf")).softmax(dim=-1))
        x, _ = block(x, None)
    return torch.stack(tables)


def find_heads(model, phrase):
    """Search all heads for three patterns, on a phrase that is written twice.

    Parameters
    ----------
    model
        A `LanguageModel`.
    phrase
        Some words that do not repeat themselves.

    Returns
    -------
    found : pandas.DataFrame
        For each pattern the block and head with the largest mean weight there. *Induction* is weight on the
        token that came after the same token the first time; its mean is over the second half.
    tokens : list of str
        The 2 L tokens.
    weights : torch.Tensor
        (3, 2 L, 2 L): the weights of the three heads found.
    """
    once = model.ids_of(phrase, chat=False)
    length, ids = once.shape[1], once.repeat(1, 2)
    weights = head_weights(model, ids)  # (layers, H, 2 L, 2 L)
    shares = {
        "the previous token": weights.diagonal(-1, dim1=-2, dim2=-1),
        "the first token": weights[..., 1:, 0],
        "induction": weights.diagonal(1 - length, dim1=-2, dim2=-1)[..., 1:],
    }
    rows, tables = [], []
    for pattern, share in shares.items():
        mean = share.mean(dim=-1)  # (layers, H)
        block, head = divmod(int(mean.argmax()), mean.shape[1])
        rows.append(
            {"pattern": pattern, "block": block, "head": head, "mean weight": float(mean[block, head])}
        )
        tables.append(weights[block, head])
    tokens = [model.tokenizer.decode([token]).strip() or "␣" for token in ids[0].tolist()]
    return pd.DataFrame(rows), tokens, torch.stack(tables)


def measured_heads():
    """Return the stored tokens and weights (3, 20, 20) of the three heads that were found in SmolLM2."""
    with np.load(MEASURED_HEADS) as stored:
        return [str(token) for token in stored["tokens"]], torch.from_numpy(stored["weights"]).float() / 255
