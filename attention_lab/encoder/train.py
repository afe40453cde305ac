"""`python -m attention_lab.encoder.train`: train the small encoder again, on the course's own news.

Two tasks at once, as such encoders are trained: guess masked word pieces from their neighbours (as BERT), and
tell which two halves belong to one text (as sentence encoders). The same texts give the same weights but for
rounding. It takes about a minute of one core.
"""

from __future__ import annotations

import random
import time

import numpy as np
import torch
from tokenizers import Tokenizer
from tokenizers.models import WordPiece
from tokenizers.processors import TemplateProcessing
from torch import nn
from torch.nn import functional as F

from attention_lab.corpus import load_news
from attention_lab.corpus.tokenizer import train_tokenizer
from attention_lab.encoder.model import SMALL_HEADS, SMALL_TOKENIZER, SMALL_WEIGHTS

VOCABULARY, WIDTH, HIDDEN, LAYERS, POSITIONS = 1000, 64, 256, 4, 128
STEPS, BATCH, RATE, SEED = 900, 24, 3e-3, 0
LONGEST = 24  # tokens of a training text
MASKED_SHARE, TEMPERATURE = 0.15, 0.1
MASK = "[MASK]"


class Training(nn.Module):
    """The encoder as torch's own layers, and the two tasks' read-outs."""

    def __init__(self) -> None:
        super().__init__()
        self.token = nn.Embedding(VOCABULARY, WIDTH)
        self.position = nn.Embedding(POSITIONS, WIDTH)
        self.token_type = nn.Embedding(2, WIDTH)
        self.norm = nn.LayerNorm(WIDTH, eps=1e-12)
        for table in (self.token, self.position, self.token_type):
            nn.init.normal_(table.weight, std=0.1)
        self.blocks = nn.ModuleList(
            nn.TransformerEncoderLayer(
                WIDTH, SMALL_HEADS, HIDDEN, 0.0, "gelu", layer_norm_eps=1e-12, batch_first=True
            )
            for _ in range(LAYERS)
        )
        self.bias = nn.Parameter(torch.zeros(VOCABULARY))

    def forward(self, ids: torch.Tensor) -> torch.Tensor:
        x = self.token(ids) + self.position.weight[: ids.shape[1]] + self.token_type.weight[0]
        x = self.norm(x)
        for block in self.blocks:
            x = block(x, src_key_padding_mask=ids == 0)
        return x

    def guess(self, ids: torch.Tensor, mask_id: int) -> torch.Tensor:
        """The loss of guessing masked tokens."""
        masked = (torch.rand(ids.shape) < MASKED_SHARE) & (ids != 0)
        logits = self(ids.masked_fill(masked, mask_id))[masked] @ self.token.weight.T + self.bias
        return F.cross_entropy(logits, ids[masked])

    def pool(self, ids: torch.Tensor) -> torch.Tensor:
        seen = (ids != 0).unsqueeze(-1).float()
        return F.normalize((self(ids) * seen).sum(dim=1) / seen.sum(dim=1), dim=-1)


def tokenizer_of(texts: list[str]) -> Tokenizer:
    """The course's word pieces, with [SEP] and [MASK] besides, and a text as `[CLS] … [SEP]`."""
    vocabulary = train_tokenizer(texts, VOCABULARY - 2).get_vocab()
    vocabulary |= {"[SEP]": VOCABULARY - 2, MASK: VOCABULARY - 1}
    tokenizer = train_tokenizer(texts, VOCABULARY - 2)
    tokenizer.model = WordPiece(vocabulary, unk_token="[UNK]")
    tokenizer.add_special_tokens(["[PAD]", "[UNK]", "[CLS]", "[SEP]", MASK])
    special = [(name, vocabulary[name]) for name in ("[CLS]", "[SEP]")]
    tokenizer.post_processor = TemplateProcessing(single="[CLS] $A [SEP]", special_tokens=special)
    return tokenizer


def sentences_of(text: str) -> list[str]:
    return text.replace("? ", "?|").replace(". ", ".|").split("|")


def halves(text: str) -> tuple[str, str]:
    sentences = sentences_of(text)
    middle = (len(sentences) + 1) // 2
    return " ".join(sentences[:middle]), " ".join(sentences[middle:])


def train() -> tuple[Training, Tokenizer]:
    torch.manual_seed(SEED)
    rng = random.Random(SEED)
    texts = list(load_news().train.texts)
    tokenizer = tokenizer_of(texts)
    model = Training()
    optimizer = torch.optim.AdamW(model.parameters(), lr=RATE, weight_decay=0.01)
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, RATE, total_steps=STEPS)
    pairs = [pair for pair in map(halves, texts) if pair[1]]
    sentences = [sentence for text in texts for sentence in sentences_of(text)]

    def ids(batch: list[str]) -> torch.Tensor:
        return torch.tensor([encoding.ids for encoding in tokenizer.encode_batch(batch)])[:, :LONGEST]

    start = time.perf_counter()
    for step in range(STEPS):
        loss = model.guess(ids(rng.sample(sentences, 2 * BATCH)), VOCABULARY - 1)
        drawn = rng.sample(pairs, BATCH)
        one, other = (model.pool(ids([pair[side] for pair in drawn])) for side in (0, 1))
        alike = one @ other.T / TEMPERATURE
        same = torch.arange(BATCH)
        both = F.cross_entropy(alike, same) + F.cross_entropy(alike.T, same)
        optimizer.zero_grad()
        (loss + 0.25 * both).backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        schedule.step()
        if step % 100 == 99:
            passed = time.perf_counter() - start
            print(f"step {step + 1}: tokens {loss:.2f}, halves {both / 2:.2f}, {passed:.0f} s", flush=True)
    return model, tokenizer


def by_berts_names(model: Training) -> dict[str, torch.Tensor]:
    """The weights under the names that BERT's checkpoints have."""
    names = {
        "embeddings.word_embeddings.weight": model.token.weight,
        "embeddings.position_embeddings.weight": model.position.weight,
        "embeddings.token_type_embeddings.weight": model.token_type.weight,
        "embeddings.LayerNorm.weight": model.norm.weight,
        "embeddings.LayerNorm.bias": model.norm.bias,
    }
    for layer, block in enumerate(model.blocks):
        state = block.state_dict()
        for kind in ("weight", "bias"):
            thirds = state[f"self_attn.in_proj_{kind}"].chunk(3)
            parts = dict(zip(("query", "key", "value"), thirds, strict=True))
            entries = {f"attention.self.{name}": part for name, part in parts.items()}
            entries |= {
                "attention.output.dense": state[f"self_attn.out_proj.{kind}"],
                "attention.output.LayerNorm": state[f"norm1.{kind}"],
                "intermediate.dense": state[f"linear1.{kind}"],
                "output.dense": state[f"linear2.{kind}"],
                "output.LayerNorm": state[f"norm2.{kind}"],
            }
            names |= {f"encoder.layer.{layer}.{name}.{kind}": part for name, part in entries.items()}
    return {name: tensor.detach() for name, tensor in names.items()}


def main() -> None:
    model, tokenizer = train()
    stored = {name: tensor.half().numpy() for name, tensor in by_berts_names(model).items()}
    np.savez_compressed(SMALL_WEIGHTS, **stored)  # type: ignore[arg-type]
    tokenizer.save(str(SMALL_TOKENIZER), pretty=False)
    for file in (SMALL_WEIGHTS, SMALL_TOKENIZER):
        print(f"{file.name}: {file.stat().st_size / 1000:.0f} kB")


if __name__ == "__main__":
    main()
