"""Configuration of nbjudge's own tests, which run without the course, and without torch if it is missing."""

import re
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path

import pytest
from shared_hooks import *  # noqa: F403

IMPORTS_TORCH = re.compile(r"^ *(from|import) (torch|nbjudge\.torch)\b", re.MULTILINE)


class NeedsTorch(pytest.Module):
    """A file of tests that imports torch, where torch is not installed."""

    def collect(self) -> Iterator[pytest.Item]:
        pytest.skip("torch is not installed", allow_module_level=True)


def pytest_pycollect_makemodule(module_path: Path, parent: pytest.Collector) -> pytest.Module | None:
    """Skip files that import torch where it is missing."""
    if find_spec("torch") is None and IMPORTS_TORCH.search(module_path.read_text()):
        return NeedsTorch.from_parent(parent, path=module_path)
    return None
