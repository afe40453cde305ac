"""Every released notebook starts in a service that has torch, and neither JupyterLab nor nbgrader."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = [pytest.mark.integration, pytest.mark.timeout(600)]
HERE = Path(__file__).parent
ROOT = HERE.parents[1]


def run_python(*arguments: str) -> subprocess.CompletedProcess[str]:
    environment = os.environ | {"PYTHONPATH": str(HERE / "host"), "OMP_NUM_THREADS": "1", "MPLBACKEND": "agg"}
    return subprocess.run([sys.executable, *arguments], env=environment, capture_output=True, text=True)


def test_the_set_up_cells_run_and_check_works():
    lessons = sorted(path.parent.name for path in (ROOT / "release").glob("*/*.ipynb"))
    done = run_python(str(HERE / "session.py"), str(ROOT / "release"), *lessons)
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.count("set-up cell runs") == len(lessons)
    assert done.stdout.count("check names the mistake and accepts the right answer") == 3


def test_the_service_has_no_jupyterlab_and_no_nbgrader():
    """The control: the modules are missing in child processes, too, and `google.colab` is there."""
    for name in ("jupyterlab", "nbgrader"):
        assert run_python("-c", f"import {name}").returncode != 0
    assert run_python("-c", "import google.colab").returncode == 0
