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


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Say how many attacks on the grader were withstood; with -v also which, and what each tried."""
    results = dict(_attacks(terminalreporter))
    if not results:
        return
    terminalreporter.section("attacks", sep="-")
    if terminalreporter.config.get_verbosity() > 0:
        for (name, tries), withstood in sorted(results.items()):
            terminalreporter.line(f"{'withstood' if withstood else 'FAILED   '}  {name}: {tries}")
    terminalreporter.line(f"{sum(results.values())} of {len(results)} attacks withstood")


def _attacks(terminalreporter: pytest.TerminalReporter) -> Iterator[tuple[tuple[str, str], bool]]:
    """Yield ((name, what it tries), whether it was withstood) from the property that the tests record.

    It is read from the reports, because pytest-xdist's workers send only those.
    """
    for outcome in ("passed", "failed", "error"):
        for report in terminalreporter.stats.get(outcome, []):
            properties = getattr(report, "user_properties", ())  # a file that did not load has none
            tries = dict(properties).get("attack")
            if tries is not None and (report.when == "call" or report.failed):
                name = report.nodeid.rpartition("[")[2].rstrip("]")
                yield (name, tries), outcome == "passed"
