"""Configuration of nbjudge's own tests, which run without the course, and without torch if it is missing."""

import re
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest
from shared_hooks import *  # noqa: F403

IMPORTS_TORCH = re.compile(r"^ *(from|import) (torch|nbjudge\.torch)\b", re.MULTILINE)


class NeedsTorch(pytest.Module):
    """A file of tests that imports torch, where torch is not installed."""

    def collect(self) -> Iterator[pytest.Item]:
        pytest.skip("torch is not installed", allow_module_level=True)


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    """Chromium without network services of its own."""
    playwright_api = pytest.importorskip("playwright.sync_api")
    quiet = ("gpu", "background-networking", "component-update", "sync")
    arguments = ["--no-sandbox", "--no-first-run", *(f"--disable-{part}" for part in quiet)]
    with playwright_api.sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path="/usr/bin/chromium", args=arguments)
        yield browser
        browser.close()


def pytest_pycollect_makemodule(module_path: Path, parent: pytest.Collector) -> pytest.Module | None:
    """Skip files that import torch where it is missing."""
    if find_spec("torch") is None and IMPORTS_TORCH.search(module_path.read_text()):
        return NeedsTorch.from_parent(parent, path=module_path)
    return None
