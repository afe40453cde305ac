"""A second implementation of the encoder, made of torch's own layers, to compare a learner's with."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import nn

from attention_lab.encoder.model import Encoder


class ReferenceBlock(nn.Module):
    """torch's own transformer layer, called like a learner's `TransformerBlock`."""

    def __init__(self, layer: nn.TransformerEncoderLayer) -> None:
        super().__init__()
        self.layer = layer

    def forward(self, x: torch.Tensor, mask: torch.Tensor | None = None) -> torch.Tensor:
        """x: (B, T, E)      mask: bool (B, 1, T), True = may attend      returns: (B, T, E)"""
        if mask is not None and mask.dim() != 3:
            raise ValueError(f"the mask must have shape (B, 1, T), not {tuple(mask.shape)}")
        hidden = None if mask is None else ~mask[:, 0]  # torch's padding mask means the opposite
        out: torch.Tensor = self.layer(x, src_key_padding_mask=hidden)
        return out


def reference_blocks(encoder: Encoder) -> list[ReferenceBlock]:
    """All blocks of an encoder as torch's own `nn.TransformerEncoderLayer`, in evaluation mode."""
    return [_block(encoder, layer) for layer in range(encoder.num_layers)]


def _block(encoder: Encoder, layer: int) -> ReferenceBlock:
    block = nn.TransformerEncoderLayer(
        encoder.embed_dim,
        encoder.num_heads,
        encoder.hidden_dim,
        dropout=0.0,
        activation="gelu",
        layer_norm_eps=1e-12,
        batch_first=True,
    )
    state = {}
    for kind in ("weight", "bias"):

        def entry(name: str, kind: str = kind) -> torch.Tensor:
            return encoder.weights[f"encoder.layer.{layer}.{name}.{kind}"]

        projections = [entry(f"attention.self.{name}") for name in ("query", "key", "value")]
        state[f"self_attn.in_proj_{kind}"] = torch.cat(projections)
        state[f"self_attn.out_proj.{kind}"] = entry("attention.output.dense")
        state[f"norm1.{kind}"] = entry("attention.output.LayerNorm")
        state[f"linear1.{kind}"] = entry("intermediate.dense")
        state[f"linear2.{kind}"] = entry("output.dense")
        state[f"norm2.{kind}"] = entry("output.LayerNorm")
    block.load_state_dict(state)
    return ReferenceBlock(block).eval().requires_grad_(False)


@torch.no_grad()
def reference_embed(
    texts: list[str], encoder: Encoder, blocks: Sequence[nn.Module] | None = None
) -> torch.Tensor:
    """A vector of length 1 for each text, (B, E), one text at a time and so without any padding."""
    blocks = reference_blocks(encoder) if blocks is None else blocks
    rows = []
    for text in texts:
        x = encoder.embeddings(torch.tensor([_ids(encoder, text)]))
        for block in blocks:
            x = block(x)
        mean = x[0].mean(dim=0)
        rows.append(mean / mean.norm())
    return torch.stack(rows)


def _ids(encoder: Encoder, text: str) -> list[int]:
    encoding = encoder.tokenizer.encode(text)
    return [number for number, seen in zip(encoding.ids, encoding.attention_mask, strict=True) if seen]
