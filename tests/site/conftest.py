"""The site, built once for all of its tests by its own command, and a browser to look at it."""

import pytest
from bs4 import BeautifulSoup
from course_copies import fresh_clone, typed


@pytest.fixture(scope="session")
def site(once):
    """The folder of the whole site."""

    def build(folder):
        done = typed(fresh_clone(folder / "clone"), "make", "site")
        assert done.returncode == 0, done.stdout + done.stderr
        (folder / "clone" / "said").write_text(done.stdout)

    return once("site", build) / "clone" / "_site"


@pytest.fixture(scope="session")
def pages(site):
    """Every page as a tree, by its path below the site."""
    paths = [path.relative_to(site).as_posix() for path in sorted(site.rglob("*.html"))]
    assert len(paths) > 1
    return {path: BeautifulSoup((site / path).read_text(), "html.parser") for path in paths}


@pytest.fixture(scope="module")
def page(browser):
    context = browser.new_context()
    context.set_default_timeout(120_000)
    return context.new_page()
