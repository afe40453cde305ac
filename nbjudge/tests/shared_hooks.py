"""Fixtures and hooks that the tests of both packages share; each `conftest.py` imports them."""

import fcntl
import os
import shutil
import signal
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from nbjudge.fast_start import skip_address_grammar

skip_address_grammar()  # in these processes; the programs that tests start import it as users' do

# nbgrader starts alembic by its name; it is installed next to the interpreter.
os.environ["PATH"] = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"

# If pytest runs in the background, SIGINT is ignored, and programs that the tests start would inherit this.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

REPOSITORY = Path(__file__).resolve().parents[2]
# Programs that are not on the PATH where they are installed.
LOCATIONS = {
    "configurable-http-proxy": (REPOSITORY, ".venv/hub-proxy/node_modules/.bin/configurable-http-proxy"),
    "postgres": (Path("/usr/lib/postgresql"), "*/bin/postgres"),
}
STARTS_A_PROGRAM = {"subprocess.Popen", "os.exec", "os.fork", "os.forkpty", "os.posix_spawn", "os.system"}
UNIT_TESTS_MAY_START = {"git", "true", "fc-list"}  # matplotlib starts fc-list once per machine

Once = Callable[[str, Callable[[Path], None]], Path]


@pytest.fixture(scope="session")
def once(tmp_path_factory: pytest.TempPathFactory, worker_id: str) -> Once:
    """Fill a folder once for all pytest workers: the first one fills it, the others wait."""
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


def find_program(name: str) -> bool:
    """Return whether a program is installed."""
    if name in LOCATIONS:
        folder, pattern = LOCATIONS[name]
        return any(folder.glob(pattern))
    return shutil.which(name) is not None


def pytest_runtest_setup(item: pytest.Item) -> None:
    """Skip a test whose program is missing (marker `requires`); in CI, let it fail."""
    required = [program for marker in item.iter_markers("requires") for program in marker.args]
    if item.get_closest_marker("browser"):
        required.append("chromium")
    for program in required:
        if not find_program(program):
            reason = f"the program {program} is not installed"
            if os.environ.get("CI"):
                pytest.fail(reason)
            pytest.skip(reason)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Start the slowest tests first, so that no worker is left alone with one at the end.

    Browser tests come last, because their servers keep running and use processor time.
    """
    items.sort(key=_allowed_seconds, reverse=True)


def _allowed_seconds(item: pytest.Item) -> float:
    """Return the time limit of a test; tests that share a JupyterLab stay together at the end."""
    if item.get_closest_marker("browser"):
        return -1
    allowed = item.get_closest_marker("timeout")
    return float(allowed.args[0]) if allowed else 0


class UnitTestGuard:
    """Refuses to start a program in a test that has no marker `integration`."""

    def __init__(self) -> None:
        self.is_active = False
        sys.addaudithook(self.audit)

    def audit(self, event: str, arguments: tuple[Any, ...]) -> None:
        """Raise RuntimeError for an audit event that starts a program while a unit test runs."""
        if not self.is_active or event not in STARTS_A_PROGRAM:
            return
        program = Path(str(arguments[0])).name if arguments else ""
        if program not in UNIT_TESTS_MAY_START:
            raise RuntimeError(
                f"A unit test starts a program ({event} {program}): mark it with @pytest.mark.integration."
            )


_guard = UnitTestGuard()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item: pytest.Item) -> Iterator[None]:
    """Let `UnitTestGuard` watch every unit test."""
    marked = any(item.get_closest_marker(name) for name in ("integration", "long"))
    _guard.is_active = not marked
    try:
        return (yield)
    finally:
        _guard.is_active = False
