"""The BBC news through `datasets`: loaded where that works, one line that says why where it does not.

`datasets` is a stand-in here and the hub a server on this machine: nothing leaves it.
"""

import sys
import threading
from http.server import BaseHTTPRequestHandler, HTTPServer
from types import SimpleNamespace

import pytest

from attention_lab.corpus import CLASS_NAMES, load_news

HUB_NAMES = ("tech", "business", "sport", "entertainment", "politics")


class Rows(dict):
    """Columns by name, as a `datasets.Dataset` gives them."""


def rows(split, count):
    return Rows(
        text=[f"article {number} of the {split} split" for number in range(count)],
        label=[number % 5 for number in range(count)],
        label_text=[HUB_NAMES[number % 5] for number in range(count)],
    )


def install(monkeypatch, load_dataset):
    monkeypatch.setitem(sys.modules, "datasets", SimpleNamespace(load_dataset=load_dataset))


@pytest.fixture
def hub(monkeypatch):
    """Starts a hub that answers with the status it is given; its address is in the environment."""
    servers = []

    def start(status=200):
        class Answer(BaseHTTPRequestHandler):
            def do_GET(self):
                paths.append(self.path)
                self.send_response(status)
                self.end_headers()

            def log_message(self, *_):
                """Keep the test's output clean."""

        paths = []
        server = HTTPServer(("127.0.0.1", 0), Answer)
        servers.append(server)
        threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True).start()
        monkeypatch.setenv("HF_ENDPOINT", f"http://127.0.0.1:{server.server_port}")
        monkeypatch.setenv("no_proxy", "127.0.0.1")
        return paths

    yield start
    for server in servers:
        server.shutdown()
        server.server_close()


def test_the_bbc_news_are_loaded_by_their_hub_name(monkeypatch, hub, capsys):
    asked_hub, asked_name = hub(), []
    loaded = {"train": rows("train", 40), "test": rows("test", 10)}
    install(monkeypatch, lambda name: asked_name.append(name) or loaded)
    news = load_news("bbc")
    assert asked_name == ["SetFit/bbc-news"] and asked_hub == ["/api/datasets/SetFit/bbc-news"]
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
    hub()
    install(monkeypatch, lambda name: {"train": rows("train", 40), "test": rows("test", 10)})
    assert load_news("bbc", seed=2) == load_news("bbc", seed=2)
    assert load_news("bbc", seed=2).validation != load_news("bbc", seed=3).validation


def test_articles_that_are_there_twice_are_not_trained_on_and_tested(monkeypatch, hub):
    hub()
    twice = rows("train", 10)
    both = Rows({column: values * 2 for column, values in twice.items()})
    test = Rows({column: values[:4] for column, values in twice.items()})
    install(monkeypatch, lambda name: {"train": both, "test": test})
    news = load_news("bbc")
    assert len(news.train) + len(news.validation) == 6
    assert not set(news.train.texts + news.validation.texts) & set(news.test.texts)


def with_columns(split, **columns):
    """The same rows with columns renamed."""
    return Rows({columns.get(name, name): values for name, values in split.items()})


def weather(split):
    return Rows(split | {"label_text": ["weather", *split["label_text"][1:]]})


def breaks_off(name):
    raise RuntimeError("the download broke off\nand here is a long story")


ALL = {"train": rows("train", 10), "test": rows("test", 5)}
# What cannot be loaded: the status of the hub or another address, what `datasets` does, what is said of it.
FAILURES = {
    "no hub": ("http://127.0.0.1:9", None, "no hub with SetFit/bbc-news answers at http"),
    "no address": ("not an address", None, "answers at not an address"),
    "half an address": ("http://[", None, "answers at http://["),
    "not the news": (404, None, "404"),
    "broken off": (200, breaks_off, "the download broke off"),
    "no text": (200, lambda _: ALL | {"train": with_columns(ALL["train"], text="headline")}, "split 'train'"),
    "no label": (200, lambda _: ALL | {"train": with_columns(ALL["train"], label_text="x")}, "split 'train'"),
    "no test split": (200, lambda _: {"train": ALL["train"]}, "its split 'test'"),
    "another topic": (200, lambda _: ALL | {"test": weather(ALL["test"])}, "its topic 'weather'"),
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
