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


def assert_generated(news, line, because):
    assert news == load_news()
    assert line.count("\n") == 1, line
    assert "the generated corpus (seed 0), because" in line and because in line


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


def test_without_the_package(monkeypatch, capsys):
    monkeypatch.setitem(sys.modules, "datasets", None)
    news = load_news("bbc")
    assert_generated(news, capsys.readouterr().out, "datasets is not installed (pip install datasets)")


def test_without_a_hub(monkeypatch, hub, capsys):
    """Nothing listens at port 9 of this machine; `datasets` is not even asked."""
    hub()
    monkeypatch.setenv("HF_ENDPOINT", "http://127.0.0.1:9")
    install(monkeypatch, lambda name: pytest.fail("datasets was asked without a hub"))
    assert_generated(load_news("bbc"), capsys.readouterr().out, "no hub with SetFit/bbc-news answers at http")


@pytest.mark.parametrize("address", ["not an address", "http://[", "ftp://127.0.0.1:9"])
def test_with_an_address_that_is_none(monkeypatch, capsys, address):
    monkeypatch.setenv("HF_ENDPOINT", address)
    install(monkeypatch, lambda name: pytest.fail("datasets was asked without a hub"))
    assert_generated(load_news("bbc"), capsys.readouterr().out, f"answers at {address}")


def test_with_a_hub_that_does_not_have_the_news(monkeypatch, hub, capsys):
    hub(status=404)
    install(monkeypatch, lambda name: pytest.fail("datasets was asked without the news"))
    assert_generated(load_news("bbc"), capsys.readouterr().out, "404")


def test_a_load_that_fails_is_told_in_one_line(monkeypatch, hub, capsys):
    hub()

    def load_dataset(name):
        raise RuntimeError("the download broke off\nand here is a long story")

    install(monkeypatch, load_dataset)
    assert_generated(load_news("bbc"), capsys.readouterr().out, "the download broke off")


@pytest.mark.parametrize("missing", ["text", "label_text"])
def test_a_set_with_other_columns(monkeypatch, hub, capsys, missing):
    hub()
    changed = rows("train", 10)
    changed["headline"] = changed.pop(missing)
    install(monkeypatch, lambda name: {"train": changed, "test": rows("test", 5)})
    assert_generated(load_news("bbc"), capsys.readouterr().out, "its split 'train' with the columns text and")


def test_a_set_without_a_test_split(monkeypatch, hub, capsys):
    hub()
    install(monkeypatch, lambda name: {"train": rows("train", 10)})
    assert_generated(load_news("bbc"), capsys.readouterr().out, "its split 'test'")


def test_a_set_with_another_topic(monkeypatch, hub, capsys):
    hub()
    changed = rows("test", 10)
    changed["label_text"][3] = "weather"
    install(monkeypatch, lambda name: {"train": rows("train", 10), "test": changed})
    assert_generated(load_news("bbc"), capsys.readouterr().out, "its topic 'weather' is not one of tech,")
