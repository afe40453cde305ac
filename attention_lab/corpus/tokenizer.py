"""A WordPiece tokenizer, trained on the texts that it is given."""

from __future__ import annotations

import os
from collections.abc import Sequence

from tokenizers import Tokenizer
from tokenizers.decoders import WordPiece as WordPieceDecoder
from tokenizers.models import WordPiece
from tokenizers.normalizers import BertNormalizer
from tokenizers.pre_tokenizers import BertPreTokenizer
from tokenizers.processors import TemplateProcessing
from tokenizers.trainers import WordPieceTrainer

# The texts are few: one thread is enough, and the library then has nothing to warn of when a process forks.
os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")

SPECIAL_TOKENS = ["[PAD]", "[UNK]", "[CLS]"]
PAD_ID, UNK_ID, CLS_ID = range(len(SPECIAL_TOKENS))
LONGEST_TEXT = 128  # tokens; the generated news stay below it, those of the BBC are cut


def train_tokenizer(
    texts: Sequence[str], vocab_size: int = 1000, max_length: int = LONGEST_TEXT
) -> Tokenizer:
    """Learn `vocab_size` word pieces from `texts`, which should be the training texts and no others.

    Text is put into lower case and taken apart at spaces and punctuation. Each sequence starts with `[CLS]`
    (id 2) and is cut after `max_length` tokens, `[CLS]` included; `encode_batch` pads it on the right with
    `[PAD]` (id 0) to the longest of its batch. A word with a character that the training texts do not have
    is `[UNK]` (id 1). The same texts give the same vocabulary. Texts that do not hold exactly `vocab_size`
    pieces raise `ValueError`.
    """
    vocabulary = _learn(texts, vocab_size)
    if len(vocabulary) != vocab_size:
        raise ValueError(
            f"train_tokenizer was asked for {vocab_size} word pieces and found {len(vocabulary)} in "
            f"{len(texts)} texts: give it other texts, or another vocab_size."
        )
    tokenizer = _untrained(WordPiece(vocabulary, unk_token="[UNK]"))
    tokenizer.add_special_tokens(SPECIAL_TOKENS)  # known already: this makes them one token in any text
    tokenizer.post_processor = TemplateProcessing(single="[CLS] $A", special_tokens=[("[CLS]", CLS_ID)])
    tokenizer.decoder = WordPieceDecoder()
    tokenizer.enable_truncation(max_length)
    tokenizer.enable_padding(pad_id=PAD_ID, pad_token="[PAD]")
    return tokenizer


def _untrained(model: WordPiece) -> Tokenizer:
    tokenizer = Tokenizer(model)
    tokenizer.normalizer = BertNormalizer(lowercase=True)
    tokenizer.pre_tokenizer = BertPreTokenizer()
    return tokenizer


def _learn(texts: Sequence[str], vocab_size: int) -> dict[str, int]:
    """Word pieces and their ids, the special tokens first.

    The library's trainer numbers the letters inside words in the order of a hash table that changes from
    run to run, and breaks ties by number (huggingface/tokenizers, issue 1794). So they are handed to it in
    a fixed order, as if they were special tokens; only the vocabulary of this tokenizer is used further.
    """
    tokenizer = _untrained(WordPiece(unk_token="[UNK]"))
    trainer = WordPieceTrainer(
        vocab_size=vocab_size,
        min_frequency=1,
        special_tokens=SPECIAL_TOKENS + _letters_inside_words(tokenizer, texts),
        show_progress=False,
    )
    tokenizer.train_from_iterator(texts, trainer=trainer)
    return tokenizer.get_vocab()


def _letters_inside_words(tokenizer: Tokenizer, texts: Sequence[str]) -> list[str]:
    """Every character of a word after its first, as the piece that continues a word: `##e`."""
    inside: set[str] = set()
    for text in texts:
        for word, _ in tokenizer.pre_tokenizer.pre_tokenize_str(tokenizer.normalizer.normalize_str(text)):
            inside.update(word[1:])
    return [f"##{letter}" for letter in sorted(inside)]
