"""The learner's side needs nothing that exists on Unix only: a whole `check`, as on Windows.

Simulated in processes without those modules, functions and files: see `no_unix/sitecustomize.py`.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest

pytestmark = [pytest.mark.integration, pytest.mark.timeout(300)]
WITHOUT = Path(__file__).parent / "no_unix"
SESSION = """
from IPython.core.interactiveshell import InteractiveShell

shell = InteractiveShell.instance()
for cell in {cells!r}:
    result = shell.run_cell(cell)
    assert result.success, cell
    print(result.result)
"""
WRONG = "def softmax(scores):\n    e = torch.exp(scores)\n    return e / e.sum(dim=-1, keepdim=True)"
RIGHT = "def softmax(x):\n    e = torch.exp(x - x.amax(-1, True))\n    return e / e.sum(-1, True)"
CELLS = [
    "import torch\nfrom attention_lab import check",
    f"{WRONG}\nfirst = check('softmax')\nfirst",
    "first.mistake()",
    f"{RIGHT}\ncheck('softmax')",
]


@pytest.mark.smoke
def test_a_wrong_answer_is_named_and_a_right_one_accepted(tmp_path):
    folder = tmp_path / "my work" / "01_dot_product"
    folder.mkdir(parents=True)
    done = subprocess.run(
        [sys.executable, "-c", SESSION.format(cells=CELLS)],
        cwd=folder,
        env=os.environ | {"PYTHONPATH": str(WITHOUT), "OMP_NUM_THREADS": "1", "MPLBACKEND": "agg"},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert "5 of 6 groups of cases agree" in done.stdout
    assert "exp overflows to inf" in done.stdout
    assert "right in all 6 groups of cases" in done.stdout


def test_the_simulation_stops_code_that_needs_unix():
    """The control: without it the test above could pass for nothing."""
    for line in ("import resource", "import os; os.fork()", "import signal; signal.SIGALRM"):
        done = subprocess.run(
            [sys.executable, "-c", line], env=os.environ | {"PYTHONPATH": str(WITHOUT)}, capture_output=True
        )
        assert done.returncode != 0


def test_windows_can_hold_every_file_that_students_get():
    """No name that it refuses, and no two that differ only in upper and lower case."""
    folders = ["attention_lab", "checks", "nbjudge/src", "release", "source"]
    root = WITHOUT.parents[2]
    listed = subprocess.run(
        ["git", "ls-files", "-z", *folders], cwd=root, capture_output=True, text=True, check=True
    )
    names = list(filter(None, listed.stdout.split("\0")))
    devices = r"(^|/)(con|prn|aux|nul|com\d|lpt\d)(\.|/|$)"
    refused = re.compile(rf'[<>:"|?*\\\x00-\x1f]|[. ](/|$)|{devices}', re.IGNORECASE)
    assert len(names) > 300 and not [name for name in names if refused.search(name)]
    assert max(Counter(map(str.casefold, names)).values()) == 1
