"""The WordPiece tokenizer: sizes, ids, padding and cutting, and the same vocabulary on every run."""

import hashlib
import json
import os
import subprocess
import sys
from collections import Counter

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


@pytest.mark.parametrize("seed", range(1, 6))
def test_every_seed_of_the_news_holds_a_thousand_pieces(seed):
    assert train_tokenizer(load_news(seed=seed).train.texts).get_vocab_size() == 1000


def test_ids_of_the_special_tokens():
    assert [TOKENIZER.token_to_id(token) for token in ("[PAD]", "[UNK]", "[CLS]")] == [PAD, UNK, CLS]


def test_the_same_texts_give_the_same_vocabulary():
    assert all(train_tokenizer(NEWS.train.texts).to_str() == TOKENIZER.to_str() for _ in range(4))


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


def test_an_unknown_character_is_the_unknown_token():
    assert TOKENIZER.encode("the \u96ea bank").ids == [
        CLS,
        TOKENIZER.token_to_id("the"),
        UNK,
        TOKENIZER.token_to_id("bank"),
    ]


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


@settings(max_examples=30, deadline=None)
@given(st.sampled_from(NEWS.test.texts), st.integers(2, 40))
def test_long_texts_are_cut_after_the_given_length(text, max_length):
    tokenizer = type(TOKENIZER).from_str(TOKENIZER.to_str())
    whole = tokenizer.encode(text).ids
    tokenizer.enable_truncation(max_length)
    assert tokenizer.encode(text).ids == whole[:max_length]


def test_the_length_asked_for_is_the_longest():
    tokenizer = train_tokenizer(NEWS.train.texts, max_length=16)
    lengths = [len(tokens_of(encoding)) for encoding in tokenizer.encode_batch(NEWS.test.texts)]
    assert max(lengths) == 16 and min(lengths) < 16


def test_the_texts_of_a_pair_have_the_same_tokens_in_another_order():
    encodings = TOKENIZER.encode_batch(NEWS.pairs.texts)
    for one, other in zip(encodings[::2], encodings[1::2], strict=True):
        assert one.ids != other.ids and Counter(tokens_of(one)) == Counter(tokens_of(other))


def test_decoding_gives_the_words_back():
    text = NEWS.test.texts[0]
    letters = TOKENIZER.decode(TOKENIZER.encode(text).ids).replace(" ", "")
    assert letters == text.lower().replace(" ", "")
