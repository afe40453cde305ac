"""The generated news: same seed, same texts; divided cleanly, readable, neither trivial nor unfair."""

import hashlib
import os
import random
import re
import subprocess
import sys
from collections import Counter
from itertools import combinations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.linear_model import LogisticRegression

from attention_lab.corpus import load_news
from attention_lab.corpus.tables import TOPICS, topic

FINGERPRINT = (
    "import hashlib; from attention_lab.corpus import load_news; "
    "print(hashlib.sha256(repr(load_news()).encode()).hexdigest())"
)


@pytest.fixture(scope="module")
def news():
    return load_news()


def splits(news):
    return (news.train, news.validation, news.test)


def words(text):
    return re.findall(r"[\w-]+", text.lower())


def same_words(text):
    """Equal for texts with the same words in any order."""
    return tuple(sorted(words(text)))


def sentences(text):
    return re.findall(r'(?:"[^"]*"|[^."])+[.]', text)


@pytest.mark.integration
def test_hash_seed_and_process_make_no_difference(news):
    printed = subprocess.run(
        [sys.executable, "-c", FINGERPRINT],
        env=os.environ | {"PYTHONHASHSEED": "123"},
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    assert printed.splitlines()[-1] == hashlib.sha256(repr(news).encode()).hexdigest()


def test_the_global_random_state_is_neither_used_nor_changed(news):
    random.seed(5)
    before = random.getstate()
    assert load_news() == news
    assert random.getstate() == before


def test_one_line_says_which_news(capsys):
    news = load_news(seed=3)
    line = capsys.readouterr().out
    assert line.count("\n") == 1 and "generated" in line and "seed 3" in line
    assert all(str(len(split)) in line for split in splits(news))
    assert news.source == "generated"


def test_there_are_enough_texts_and_every_split_has_every_topic(news):
    total = sum(map(len, splits(news)))
    assert total >= 1200
    assert 0.65 < len(news.train) / total < 0.75
    for split in splits(news):
        assert len(split) == len(split.texts) == len(split.labels)
        counts = Counter(split.labels)
        assert sorted(counts) == [0, 1, 2, 3, 4]
        assert max(counts.values()) < 1.3 * min(counts.values())


def test_no_text_is_there_twice(news):
    texts = [text for split in (*splits(news), news.pairs) for text in split.texts]
    assert len(set(texts)) == len(texts)


@settings(max_examples=8, deadline=None)
@given(st.integers(0, 2**32))
def test_every_text_reads_as_english_whatever_the_seed(seed):
    news = load_news(seed=seed)
    for text in [text for split in (*splits(news), news.pairs) for text in split.texts]:
        assert not re.search(r"[{}<>/_]|\s\s|^\s|\s$|\s[.,?]|\n", text), text
        assert re.fullmatch(r'(?:[A-Z0-9"].*[.])', text), text
        assert text.count('"') % 2 == 0, text
        assert "".join(sentences(text)) == text, text
        for sentence in sentences(text):
            assert re.match(r'"?[A-Z0-9]', sentence.strip()), text
        assert not re.search(r"\b(\w+) \1\b", text.lower()), text
        assert not re.search(r"\ba [aeio]|\ban [bcdfgjklmnpqrstvwxyz]|\ba (8|11|18)\b", text.lower()), text
        assert len(set(sentences(" " + text))) == len(sentences(text)), text


def test_counting_words_is_good_and_not_perfect(news):
    counts = CountVectorizer()
    model = LogisticRegression(max_iter=1000).fit(counts.fit_transform(news.train.texts), news.train.labels)
    assert 0.88 < model.score(counts.transform(news.test.texts), news.test.labels) < 0.99
    assert model.score(counts.transform(news.pairs.texts), news.pairs.labels) <= 0.5


def test_the_texts_of_a_pair_have_the_same_words_in_another_order_and_other_labels(news):
    assert len(news.pairs) >= 100 and len(news.pairs) % 2 == 0
    seen = set()
    for first in range(0, len(news.pairs), 2):
        one, other = news.pairs.texts[first : first + 2]
        assert one != other and Counter(words(one)) == Counter(words(other))
        assert news.pairs.labels[first] != news.pairs.labels[first + 1]
        seen.add(frozenset(news.pairs.labels[first : first + 2]))
    assert seen == {frozenset(two) for two in combinations(range(5), 2)}


def test_in_a_pair_the_label_is_the_topic_of_the_one_named_first(news):
    topic_of = {actor: index for index in range(len(TOPICS)) for actor in topic(index).actors}
    for text, label in zip(news.pairs.texts, news.pairs.labels, strict=True):
        places = {text.lower().find(actor): actor for actor in topic_of if actor in text.lower()}
        assert len(places) == 2
        assert topic_of[places[min(places)]] == label


def test_every_split_has_pairs_and_none_is_across_two(news):
    homes = {}
    for number, split in enumerate((*splits(news), news.pairs)):
        for text, label in zip(split.texts, split.labels, strict=True):
            homes.setdefault(same_words(text), []).append((number, label))
    pairs = [home for home in homes.values() if len({label for _, label in home}) > 1]
    assert all(len({number for number, _ in home}) == 1 for home in pairs)
    assert Counter(home[0][0] for home in pairs).keys() == {0, 1, 2, 3}


@pytest.mark.parametrize("seed", range(4))
def test_held_out_pairs_use_known_words_about_actors_that_never_met(seed):
    news = load_news(seed=seed)
    known = {word for text in news.train.texts for word in words(text)}
    assert {word for text in news.pairs.texts for word in words(text)} <= known
    actors = [(actor, index) for index in range(len(TOPICS)) for actor in topic(index).actors]

    def meetings(texts):
        for text in texts:
            for sentence in sentences(text.lower()):
                named = [each for each in actors if re.search(rf"\b{each[0]}\b", sentence)]
                yield from (frozenset(two) for two in combinations(named, 2) if two[0][1] != two[1][1])

    assert not set(meetings(news.pairs.texts)) & set(meetings(news.train.texts))
