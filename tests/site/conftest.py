"""The site, built once for all of its tests by its own command, and a browser to look at it."""

import subprocess
import sys
from pathlib import Path

import pytest
from bs4 import BeautifulSoup
from playwright.sync_api import sync_playwright

ROOT = Path(__file__).resolve().parents[2]
CHROMIUM = "/usr/bin/chromium"
QUIET = ["gpu", "background-networking", "component-update", "sync"]


@pytest.fixture(scope="session")
def site(once):
    """The folder of the whole site."""

    def build(folder):
        command = [Path(sys.executable).with_name("attention-lab"), "site", "--folder", folder / "pages"]
        done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
        assert done.returncode == 0, done.stdout + done.stderr
        (folder / "said").write_text(done.stdout)

    return once("site", build) / "pages"


@pytest.fixture(scope="session")
def pages(site):
    """Every page as a tree, by its path below the site."""
    paths = [path.relative_to(site).as_posix() for path in sorted(site.rglob("*.html"))]
    assert len(paths) > 1
    return {path: BeautifulSoup((site / path).read_text(), "html.parser") for path in paths}


@pytest.fixture(scope="module")
def page():
    arguments = ["--no-sandbox", "--no-first-run", *(f"--disable-{part}" for part in QUIET)]
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=arguments)
        context = browser.new_context()
        context.set_default_timeout(120_000)
        yield context.new_page()
        browser.close()
