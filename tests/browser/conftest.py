"""JupyterLab as `make lab` starts it, a browser in front of it, and a place for the pictures."""

import functools
import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from playwright.sync_api import sync_playwright
from ports import free_ports
from waiting import wait_until_it_answers

ROOT = Path(__file__).resolve().parents[2]
ARTEFACTS = ROOT / "artefacts"
# `README_PICTURES=1 pytest tests/browser` takes the README's pictures again.
README_PICTURES = ROOT / "docs/images" if os.environ.get("README_PICTURES") else ARTEFACTS
CHROMIUM = "/usr/bin/chromium"
QUIET = ["gpu", "background-networking", "component-update", "sync"]
OPEN_LAB = """
import sys
from pathlib import Path
from rich.console import Console
from nbjudge.course.course import Course
from attention_lab.start.jupyter_lab import open_lab
open_lab(Course(Path(sys.argv[1])), Path("lessons"), Console())
"""
# JupyterLab asks its first visitor whether it may fetch news, and covers the page with the question.
NO_NEWS = {"fetchNews": "false", "checkForUpdates": False}


class Lab:
    """A running JupyterLab, and the folder of the student who uses it."""

    def __init__(self, home: Path, theme: str = "JupyterLab Light", **environment: str):
        self.folder = home / "lessons"
        self.log = home / "log"
        (self.port,) = free_ports(1)
        settings = home / "config/lab/user-settings/@jupyterlab/apputils-extension"
        settings.mkdir(parents=True)
        (settings / "notification.jupyterlab-settings").write_text(json.dumps(NO_NEWS))
        (settings / "themes.jupyterlab-settings").write_text(json.dumps({"theme": theme}))
        own = {f"JUPYTER_{name.upper()}_DIR": str(home / name) for name in ("config", "data", "runtime")}
        own |= {"HOME": str(home), "JUPYTER_PORT": str(self.port), "JUPYTER_IP": "127.0.0.1"}
        own |= {"JUPYTER_TOKEN": "student", "OMP_NUM_THREADS": "1"}
        hidden = ("DISPLAY", "WAYLAND_DISPLAY")  # no second browser
        visible = {name: value for name, value in os.environ.items() if name not in hidden}
        with self.log.open("w") as log:
            self.process = subprocess.Popen(
                [sys.executable, "-c", OPEN_LAB, ROOT],
                cwd=home,
                env=visible | own | environment,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
            )

    def url(self, path: str) -> str:
        return f"http://127.0.0.1:{self.port}/{path}?token=student"

    def stop(self) -> None:
        """As Ctrl-C does."""
        self.process.send_signal(signal.SIGINT)
        try:
            self.process.wait(150)
        finally:
            self.process.kill()


@pytest.fixture(scope="module")
def start_lab(tmp_path_factory):
    """Starts JupyterLab with a theme and an environment, once for each, and stops it at the end."""
    labs = {}

    def start(theme: str = "JupyterLab Light", **environment: str) -> Lab:
        kind = (theme, *environment.items())
        if kind not in labs:
            # A space in the path, as students have them.
            labs[kind] = Lab(tmp_path_factory.mktemp("my home"), theme, **environment)
            lab = labs[kind]
            wait_until_it_answers(lab.process, lab.url("api/status"), lab.log)
        return labs[kind]

    yield start
    for lab in labs.values():
        lab.stop()
    for lab in labs.values():
        log = lab.log.read_text()
        assert lab.process.returncode == 0 and "JupyterLab has stopped." in log, log


@pytest.fixture(scope="module")
def browser():
    arguments = ["--no-sandbox", "--no-first-run", *(f"--disable-{part}" for part in QUIET)]
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=arguments)
        yield browser
        browser.close()


@pytest.fixture
def page(browser):
    # One and a half device pixels to one of the page's: the lessons' pictures are then shown dot for dot.
    context = browser.new_context(viewport={"width": 1340, "height": 1000}, device_scale_factor=1.5)
    context.set_default_timeout(60_000)
    yield context.new_page()
    context.close()


@pytest.fixture
def picture():
    """Keeps a picture of a page, or of a part of it, under artefacts/."""

    def keep(shown, name: str, folder: Path = ARTEFACTS, **options) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        shown.screenshot(path=folder / f"{name}.png", animations="disabled", **options)

    return keep


@pytest.fixture
def readme_picture(picture):
    """Keeps a picture that the README shows; in docs/images/ when that is asked for."""
    return functools.partial(picture, folder=README_PICTURES)


@pytest.fixture
def own_page(browser):
    """A browser of their own for each student."""
    contexts = []

    def open_page():
        context = browser.new_context(viewport={"width": 1340, "height": 900})
        context.set_default_timeout(60_000)
        contexts.append(context)
        return context.new_page()

    yield open_page
    for context in contexts:
        context.close()
