"""Configuration of the course's tests, and the report on attacks."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from shared_hooks import *  # noqa: F403


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
