"""Every command line of the documentation's shell blocks runs, or is run by the test that is named here."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from fresh_clone import ROOT
from nbgrader_command import run_program
from tiny_course import FOLDER, NAME, answered, hand_in, make_course

pytestmark = pytest.mark.integration

PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
BLOCK = re.compile(r"^```sh\n(.*?)^```", re.MULTILINE | re.DOTALL)
# What sets a machine up, opens a window or needs other machines, and what shows that it works.
ELSEWHERE = {
    "make": "tests/test_packaging.py",
    "python3": "tests/test_packaging.py",
    ".": "tests/test_packaging.py",
    "pip": "tests/test_start.py",
    "conda": "tests/test_packaging.py",
    "export": "tests/test_packaging.py",
    "attention-lab start": "tests/test_start.py",
    "attention-lab new-lesson": "tests/test_skeletons.py",
    "attention-lab new-exercise": "tests/test_skeletons.py",
    "attention-lab build 14_more": "tests/test_skeletons.py",  # its module is in the course's own package
    "attention-lab try doubled": "tests/test_skeletons.py",
    "attention-lab grade 02_scaling --scheduler": "nbjudge/tests/whole_class/test_cluster.py",
    "attention-lab report 01_dot_product --compare": "nbjudge/tests/report/test_earlier_classes.py",
    "attention-lab regrade": "nbjudge/tests/regrade/test_regrade.py",
    "jupyter": "tests/browser/test_formgrader.py",
    "dask": "nbjudge/tests/whole_class/test_cluster.py",
    "apt-get": "nbjudge/tests/sandbox/test_bubblewrap.py",
}
# Starts processes of its own, as they are: the other commands of Python's are forked.
AS_THEY_ARE = ("attention-lab grade",)
# Kubernetes' own; the page says that nothing of ours shows it.
NEEDS_A_CLUSTER = ("helm", "--generate-name")


def command_lines() -> list[str]:
    """The lines of all shell blocks, once each, without their comments."""
    blocks = [block for page in PAGES for block in BLOCK.findall(page.read_text())]
    lines = [re.sub(r"\s+#.*", "", line).strip() for block in blocks for line in block.splitlines()]
    return list(dict.fromkeys(line for line in lines if line and not line.startswith(NEEDS_A_CLUSTER)))


def run_elsewhere(line: str) -> str | None:
    return next((where for start, where in ELSEWHERE.items() if f"{line} ".startswith(f"{start} ")), None)


def for_the_tiny_course(line: str) -> str:
    """The same command for the lesson of the tiny course."""
    line = re.sub(r"\b0\d_(dot_product|scaling)\b", FOLDER, line)
    return line.replace("dot_product.ipynb", f"{NAME}.ipynb").replace("build/lab", "release")


def typed(line: str, folder: Path) -> subprocess.CompletedProcess[str]:
    """What becomes of a command line in a folder."""
    words = shlex.split(line)
    if words[0] in ("nbgrader", "attention-lab") and not line.startswith(AS_THEY_ARE):
        return run_program(folder, *words)
    environment = os.environ | {"PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"}
    return subprocess.run(words, cwd=folder, env=environment, capture_output=True, text=True)


@pytest.mark.long
@pytest.mark.timeout(1500)
def test_what_the_documentation_says_to_type_works():
    lines = [line for line in command_lines() if run_elsewhere(line) is None]
    assert len(lines) > 10
    with TemporaryDirectory(prefix="typed-") as place:
        root = Path(place).resolve() / "course"
        make_course(root)
        hand_in(root, "ada", answered())
        for line in lines:
            folder = root / "submitted" / "ada" / FOLDER if "validate" in line else root
            run = typed(for_the_tiny_course(line), folder)
            assert run.returncode == 0, f"{line}\n{run.stdout[-1500:]}{run.stderr[-1500:]}"


def test_every_test_that_runs_a_command_is_there():
    assert [where for where in ELSEWHERE.values() if not (ROOT / where).exists()] == []
    lines = command_lines()
    unused = [start for start in ELSEWHERE if not any(f"{line} ".startswith(f"{start} ") for line in lines)]
    assert unused == []
