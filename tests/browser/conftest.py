"""JupyterLab as `make lab` starts it, a browser in front of it, and a place for the README's pictures."""

import os
import re

import pytest
from course_copies import ROOT
from servers import Lab

# `README_PICTURES=1 pytest tests/browser` takes the README's pictures again.
README_PICTURES = ROOT / ("docs/images" if os.environ.get("README_PICTURES") else "artefacts")


@pytest.fixture(scope="module")
def start_lab(tmp_path_factory):
    """Starts JupyterLab with a theme and an environment, once for each, and stops it at the end."""
    labs = {}

    def start(theme: str = "JupyterLab Light", **environment: str) -> Lab:
        kind = (theme, *environment.items())
        if kind not in labs:
            # A space in the path, as students have them.
            labs[kind] = Lab(tmp_path_factory.mktemp("my home"), theme, **environment)
        return labs[kind]

    yield start
    for lab in labs.values():
        lab.stop()
    for lab in labs.values():
        log = lab.log.read_text()
        assert lab.process.returncode == 0 and "JupyterLab has stopped." in log, log


@pytest.fixture
def own_page(browser):
    """Opens a browser of their own for each student."""
    contexts = []

    def open_page(height=900, **options):
        context = browser.new_context(viewport={"width": 1340, "height": height}, **options)
        context.set_default_timeout(60_000)
        contexts.append(context)
        return context.new_page()

    yield open_page
    for context in contexts:
        context.close()


@pytest.fixture
def page(own_page):
    # One and a half device pixels to one of the page's: the lessons' pictures are then shown dot for dot.
    return own_page(height=1000, device_scale_factor=1.5)


@pytest.fixture
def elsewhere(page):
    """The addresses outside this machine that the page has asked for, in a list that grows."""
    urls = []
    own = re.compile(r"(http://127\.0\.0\.1[:/]|data:|blob:)")
    page.on("request", lambda request: own.match(request.url) or urls.append(request.url))
    return urls


@pytest.fixture
def readme_picture():
    """Keeps a picture that the README shows; in docs/images/ when that is asked for."""

    def keep(shown, name: str, **options) -> None:
        README_PICTURES.mkdir(parents=True, exist_ok=True)
        shown.screenshot(path=README_PICTURES / f"{name}.png", animations="disabled", **options)

    return keep
