"""A PostgreSQL server of a test's own, from the system's package, on a socket in a folder of its own."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest

psycopg = pytest.importorskip("psycopg")

PACKAGE = Path("/usr/lib/postgresql")  # Debian's; each version has a folder below it
DATABASE = "postgres"
OWNER = "teacher"
PATIENCE = 120  # seconds


def programs() -> Path:
    """The folder of the newest version's programs; skips where there is none, but not in CI."""
    found = sorted(PACKAGE.glob("*/bin/postgres"), key=lambda path: int(path.parts[-3]))
    if not found:
        assert not os.environ.get("CI"), f"There is no PostgreSQL under {PACKAGE}."
        pytest.skip(f"there is no PostgreSQL under {PACKAGE}: install the package postgresql")
    return found[-1].parent


@contextmanager
def postgresql() -> Iterator[str]:
    """The URL of an empty database on a running server."""
    with TemporaryDirectory(prefix="postgresql-") as name:
        folder, as_its_user = Path(name), dict[str, Any]()
        if os.geteuid() == 0:  # as which it does not run
            as_its_user = {"user": "postgres", "group": "postgres", "extra_groups": []}
            shutil.chown(folder, "postgres", "postgres")
        data, options = folder / "data", {"cwd": folder} | as_its_user
        initdb = [
            programs() / "initdb",
            "-D",
            data,
            "-U",
            OWNER,
            "--auth=trust",
            "--locale=C.UTF-8",
            "--no-sync",
        ]
        subprocess.run(initdb, check=True, capture_output=True, **options)
        settings = ["-c", "listen_addresses=", "-c", "fsync=off"]
        with (folder / "words").open("wb") as words:
            command = [programs() / "postgres", "-D", data, "-k", folder, *settings]
            server = subprocess.Popen(command, stderr=words, **options)
        try:
            _wait_until_it_answers(folder, server)
            yield f"postgresql+psycopg://{OWNER}@/{DATABASE}?host={folder}"
        finally:
            server.send_signal(signal.SIGINT)  # it closes connections and ends
            server.wait(PATIENCE)


def _wait_until_it_answers(folder: Path, server: subprocess.Popen[bytes]) -> None:
    ends = time.monotonic() + PATIENCE
    while True:
        try:
            psycopg.connect(host=str(folder), user=OWNER, dbname=DATABASE).close()
            return
        except psycopg.OperationalError:
            log = (folder / "words").read_text(errors="replace")
            assert server.poll() is None and time.monotonic() < ends, log
            time.sleep(0.1)
