"""What lesson 8 measures on real news, with its own news beside it: minutes, not seconds."""

from collections import Counter
from itertools import chain
from types import SimpleNamespace

import torch
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline

from attention_lab.corpus import CLASS_NAMES, Split, load_news, train_tokenizer
from attention_lab.corpus.real_news import REAL_CLASS_NAMES, load_real_news
from attention_lab.lesson_08.given import Reader, one_epoch
from attention_lab.lesson_08.layers import (
    EfficientMultiHeadAttention,
    NaiveMultiHeadAttention,
    PositionalEncoding,
    TorchMultiHeadAttention,
)
from attention_lab.lesson_08.plumbing import encoded, hits, in_batches, interval, train

EMBED_DIM, HEADS, VOCABULARY, EPOCHS, SEEDS, TRAINING_TEXTS = 64, 8, 1000, 4, range(5), 2000
KINDS = {
    "naive": (NaiveMultiHeadAttention, False),
    "efficient": (EfficientMultiHeadAttention, False),
    "torch": (TorchMultiHeadAttention, False),
    "efficient, with positions": (EfficientMultiHeadAttention, True),
}


def real_news():
    """Test accuracy on two corpora: the lesson's models, five seeds each, with 95 % intervals.

    At most 2,000 training texts of at most 128 tokens, 4 epochs of Adam, one thread. The last row of a
    corpus is the gain by positions; every interval covers other seeds and other test texts.
    """
    torch.set_num_threads(1)
    corpora = (("generated", load_news(), CLASS_NAMES), ("Reuters R8", load_real_news(), REAL_CLASS_NAMES))
    return list(chain.from_iterable(rows_of(*corpus) for corpus in corpora))


def rows_of(corpus, news, class_names):
    """The rows of one corpus: baselines without attention, four kinds of model, the gain by positions."""
    texts, labels = news.train.texts[:TRAINING_TEXTS], news.train.labels[:TRAINING_TEXTS]
    tokenizer = train_tokenizer(texts, vocab_size=VOCABULARY)
    train_data, test_data = encoded(Split(texts, labels), tokenizer), encoded(news.test, tokenizer)
    test_batches = in_batches(test_data)
    commonest = Counter(news.test.labels).most_common(1)[0][1] / len(news.test)
    counting = make_pipeline(CountVectorizer(), LogisticRegression(max_iter=1000)).fit(texts, labels)
    yield row(corpus, "always the commonest topic", commonest)
    yield row(corpus, "counting words", counting.score(news.test.texts, news.test.labels))
    right = {}
    for kind, (layer, with_positions) in KINDS.items():
        runs = []
        for seed in SEEDS:
            torch.manual_seed(seed)
            positional = PositionalEncoding(EMBED_DIM) if with_positions else None
            model = Reader(VOCABULARY, EMBED_DIM, len(class_names), layer(EMBED_DIM, HEADS), positional)
            train(model, one_epoch, train_data, seed, EPOCHS, SimpleNamespace(update=lambda: None))
            runs.append(hits(model, test_batches).float())
        right[kind] = torch.stack(runs)  # (seeds, texts)
        yield row(corpus, kind, *interval(right[kind]), right[kind].mean(dim=1).tolist())
    gains = right["efficient, with positions"] - right["efficient"]
    yield row(corpus, "gain by positions", *interval(gains), gains.mean(dim=1).tolist())


def row(corpus, model, mean, low=None, high=None, seeds=()):
    """One row of the table, rounded to three decimals."""
    return {
        "news": corpus,
        "model": model,
        "accuracy": round(mean, 3),
        "95 %": "" if low is None else f"{low:.3f} to {high:.3f}",
        "seeds": " ".join(f"{value:.3f}" for value in seeds),
    }


TABLES = {"real_news": real_news}
