"""Waiting for a JupyterLab that was just started."""

from __future__ import annotations

import subprocess
import time
import urllib.request
from pathlib import Path

PATIENCE = 120  # seconds


def wait_until_it_answers(process: subprocess.Popen[bytes], address: str, log: Path) -> None:
    """Return as soon as `address` answers; fail with the server's own words where it never does."""
    deadline = time.monotonic() + PATIENCE
    while True:
        assert process.poll() is None, log.read_text()
        try:
            urllib.request.urlopen(address, timeout=10).close()
            return
        except OSError:
            assert time.monotonic() < deadline, log.read_text()
            time.sleep(0.1)
