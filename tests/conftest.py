"""What all tests share: work done once for all of pytest's workers, and the report of the attacks."""

from __future__ import annotations

import fcntl
import os
import signal
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

# nbgrader calls alembic by its name, which is installed beside the interpreter.
os.environ["PATH"] = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"

# Where pytest runs in the background, Ctrl-C is ignored, and would be by all that the tests start and stop.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

Once = Callable[[str, Callable[[Path], None]], Path]


@pytest.fixture(scope="session")
def once(tmp_path_factory: pytest.TempPathFactory, worker_id: str) -> Once:
    """Fill a folder once for all of pytest's workers: whoever comes first does, the others wait."""
    base = tmp_path_factory.getbasetemp()
    shared = base if worker_id == "master" else base.parent

    def make_once(name: str, make: Callable[[Path], None]) -> Path:
        folder = shared / name
        with (shared / f"{name}.lock").open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            if not (shared / f"{name}.done").exists():
                folder.mkdir()
                make(folder)
                (shared / f"{name}.done").touch()
        return folder

    return make_once


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """What takes longest begins first, so that no worker is left alone with it at the end.

    Browser tests come last: their servers live on, and would take from the others' processor.
    """
    items.sort(key=_longest, reverse=True)


def _longest(item: pytest.Item) -> float:
    """Seconds that a test may take by its own word; those that share a JupyterLab stay together."""
    if item.get_closest_marker("browser"):
        return -1
    allowed = item.get_closest_marker("timeout")
    return float(allowed.args[0]) if allowed else 0


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """How many attacks on the grader were withstood; with -v also which, and what each tried."""
    results = dict(_attacks(terminalreporter))
    if not results:
        return
    terminalreporter.section("attacks", sep="-")
    if terminalreporter.config.get_verbosity() > 0:
        for (name, tries), withstood in sorted(results.items()):
            terminalreporter.line(f"{'withstood' if withstood else 'FAILED   '}  {name}: {tries}")
    terminalreporter.line(f"{sum(results.values())} of {len(results)} attacks withstood")


def _attacks(terminalreporter: pytest.TerminalReporter) -> Iterator[tuple[tuple[str, str], bool]]:
    """((name, what it tries), whether it was withstood), as the tests recorded it as a property.

    Read from the reports: pytest-xdist's workers send those, the tests themselves are theirs.
    """
    for outcome in ("passed", "failed", "error"):
        for report in terminalreporter.stats.get(outcome, []):
            properties = getattr(report, "user_properties", ())  # a file that did not load has none
            tries = dict(properties).get("attack")
            if tries is not None and (report.when == "call" or report.failed):
                name = report.nodeid.rpartition("[")[2].rstrip("]")
                yield (name, tries), outcome == "passed"
