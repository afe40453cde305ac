"""The learner's side on other machines: as on Windows, and in a service that has torch and no JupyterLab.

Both are simulated in processes without those modules, functions and files: see the files `sitecustomize.py`.
"""

import os
import re
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest

pytestmark = [pytest.mark.integration, pytest.mark.timeout(600)]
TESTS = Path(__file__).parents[1]
ROOT = TESTS.parent
WITHOUT_UNIX, COLAB = TESTS / "tutor/no_unix", TESTS / "colab/host"
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


def run_python(host: Path, *arguments: str, folder: Path = ROOT) -> subprocess.CompletedProcess[str]:
    environment = os.environ | {"PYTHONPATH": str(host), "OMP_NUM_THREADS": "1", "MPLBACKEND": "agg"}
    run = [sys.executable, *arguments]
    return subprocess.run(run, cwd=folder, env=environment, capture_output=True, text=True)


@pytest.mark.smoke
def test_a_wrong_answer_is_named(tmp_path):
    folder = tmp_path / "my work" / "01_dot_product"
    folder.mkdir(parents=True)
    done = run_python(WITHOUT_UNIX, "-c", SESSION.format(cells=CELLS), folder=folder)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "5 of 6 groups of cases agree" in done.stdout
    assert "exp overflows to inf" in done.stdout
    assert "right in all 6 groups of cases" in done.stdout


def test_all_set_up_cells_run_and_check_works():
    lessons = sorted(path.parent.name for path in (ROOT / "release").glob("*/*.ipynb"))
    done = run_python(COLAB, str(TESTS / "colab/session.py"), str(ROOT / "release"), *lessons)
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.count("set-up cell runs") == len(lessons)
    assert done.stdout.count("check names the mistake and accepts the right answer") == 3
    assert done.stdout.count("a prediction has its reply") == 11


@pytest.mark.parametrize(
    ("host", "line"),
    [
        (WITHOUT_UNIX, "import resource"),
        (WITHOUT_UNIX, "import os; os.fork()"),
        (WITHOUT_UNIX, "import signal; signal.SIGALRM"),
        (COLAB, "import jupyterlab"),
        (COLAB, "import nbgrader"),
        (COLAB, "import google.colab; raise SystemExit(1)"),
    ],
)
def test_simulations_stop_code_with_missing_parts(host, line):
    """The control: without it the tests above could pass for nothing."""
    done = run_python(host, "-c", line)
    assert done.returncode != 0 and "google" not in done.stderr


def test_windows_can_hold_every_file_that_students_get():
    """No name that it refuses, and no two that differ only in upper and lower case."""
    folders = ["attention_lab", "checks", "nbjudge/src", "release", "source"]
    listed = subprocess.run(["git", "ls-files", "-z", *folders], cwd=ROOT, capture_output=True, text=True)
    names = list(filter(None, listed.stdout.split("\0")))
    devices = r"(^|/)(con|prn|aux|nul|com\d|lpt\d)(\.|/|$)"
    refused = re.compile(rf'[<>:"|?*\\\x00-\x1f]|[. ](/|$)|{devices}', re.IGNORECASE)
    assert len(names) > 300 and not [name for name in names if refused.search(name)]
    assert max(Counter(map(str.casefold, names)).values()) == 1
