"""The WordPiece tokenizer: sizes, ids, padding and cutting, and the same vocabulary on every run."""

import hashlib
import json
import os
import subprocess
import sys

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from attention_lab.corpus import load_news, train_tokenizer

PAD, UNK, CLS = 0, 1, 2
FINGERPRINT = """
import hashlib, json
from attention_lab.corpus import load_news, train_tokenizer
vocabulary = train_tokenizer(load_news().train.texts).get_vocab()
print(hashlib.sha256(json.dumps(vocabulary, sort_keys=True).encode()).hexdigest())
"""

NEWS = load_news()
TOKENIZER = train_tokenizer(NEWS.train.texts)
ANY_TEXTS = st.lists(
    st.one_of(st.sampled_from(NEWS.test.texts), st.text(max_size=40)), min_size=1, max_size=5
)


def tokens_of(encoding):
    """The ids without padding."""
    return encoding.ids[: sum(encoding.attention_mask)]


def test_the_vocabulary_has_exactly_the_size_asked_for():
    assert TOKENIZER.get_vocab_size() == len(TOKENIZER.get_vocab()) == 1000
    assert sorted(TOKENIZER.get_vocab().values()) == list(range(1000))
    assert train_tokenizer(NEWS.train.texts, vocab_size=300).get_vocab_size() == 300


@pytest.mark.integration
@pytest.mark.parametrize("parallel", ["true", "false"])
def test_another_process_learns_the_same_vocabulary(parallel):
    printed = subprocess.run(
        [sys.executable, "-c", FINGERPRINT],
        env=os.environ | {"PYTHONHASHSEED": "7", "TOKENIZERS_PARALLELISM": parallel},
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    vocabulary = json.dumps(TOKENIZER.get_vocab(), sort_keys=True)
    assert printed.splitlines()[-1] == hashlib.sha256(vocabulary.encode()).hexdigest()


def test_it_learns_from_the_texts_it_is_given_and_no_others():
    tokenizer = train_tokenizer(["a zebra", "two zebras"], vocab_size=23)
    assert "zebra" in tokenizer.get_vocab() and "zebra" not in TOKENIZER.get_vocab()
    assert UNK in tokenizer.encode("market").ids


@pytest.mark.parametrize(("size", "found"), [(1000, 26), (5, 19)])
def test_texts_that_do_not_hold_that_many_pieces_are_refused(size, found):
    with pytest.raises(ValueError, match=rf"{size} word pieces and found {found} in 2 texts"):
        train_tokenizer(["a zebra", "two zebras"], vocab_size=size)


def test_capitals_make_no_difference_and_punctuation_is_alone():
    assert TOKENIZER.encode("THE Bank, the BANK.").tokens == ["[CLS]", "the", "bank", ",", "the", "bank", "."]


def test_the_sentences_of_the_lesson_are_whole_words():
    for text in ("how are you", "you how are", "can you can that"):
        assert TOKENIZER.encode(text).tokens == ["[CLS]", *text.split()]


@pytest.mark.parametrize("seed", range(4))
def test_all_generated_texts_are_made_of_known_pieces_and_fit(seed):
    news = load_news(seed=seed)
    tokenizer = train_tokenizer(news.train.texts)
    for split in (news.train, news.validation, news.test, news.pairs):
        for encoding in tokenizer.encode_batch(split.texts):
            assert UNK not in encoding.ids and not encoding.overflowing


@settings(max_examples=60, deadline=None)
@given(ANY_TEXTS)
def test_sequences_start_with_cls_and_are_padded_on_the_right_to_the_longest(texts):
    alone = [TOKENIZER.encode(text) for text in texts]
    longest = max(len(encoding) for encoding in alone)
    for encoding, single in zip(TOKENIZER.encode_batch(texts), alone, strict=True):
        assert encoding.ids[0] == CLS
        assert encoding.ids == single.ids + [PAD] * (longest - len(single))
        assert encoding.attention_mask == [1] * len(single) + [0] * (longest - len(single))
        assert all(0 <= number < 1000 for number in encoding.ids)


def test_the_length_asked_for_is_the_longest():
    tokenizer = train_tokenizer(NEWS.train.texts, max_length=16)
    lengths = [len(tokens_of(encoding)) for encoding in tokenizer.encode_batch(NEWS.test.texts)]
    assert max(lengths) == 16 and min(lengths) < 16
