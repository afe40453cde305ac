"""What documents and the Makefile say to type does what they say, in a fresh clone or a tiny course."""

import os
import re
import shlex
import subprocess
import sys
import zipfile
from itertools import product
from pathlib import Path
from tempfile import TemporaryDirectory
from xml.etree import ElementTree

import nbformat
import pytest
from course_copies import ROOT, fresh_clone, typed
from nbgrader_command import run_program
from test_docs import fences
from tiny_course import FOLDER, NAME, answered, hand_in, make_course

pytestmark = pytest.mark.integration


# ---- the verbs of the Makefile ----

TYPED_ELSEWHERE = {
    "build": "tests/test_build.py",
    "demo": "below, with two students",
    "site": "tests/site/conftest.py",
    "lab": "tests/test_start.py",
    "check": "the first part of `make test`",
    "test": ".ci/run",
    "test-integration": ".ci/run",
    "test-all": "takes hours; what it runs is below",
    "bench": "takes an hour; its programs are below",
}
SYSTEM_PACKAGES = {"chromium", "bubblewrap", "postgresql", "iproute2", "r-base-core", "help"}
SYSTEM_PACKAGES |= {"hub-proxy", "language-model"}


@pytest.fixture(scope="module")
def clone(tmp_path_factory):
    return fresh_clone(tmp_path_factory.mktemp("clone") / "attention-lab")


def test_every_verb_is_tried_somewhere():
    verbs = set(
        re.findall(r"^([a-z][a-z-]+):(?! export)", (ROOT / "Makefile").read_text(), flags=re.MULTILINE)
    )
    assert verbs - SYSTEM_PACKAGES == TYPED_ELSEWHERE.keys() | {"bundle"}


def test_make_says_what_can_be_made(clone):
    done = typed(clone, "make")
    assert done.returncode == 0
    assert {f"make {verb}" for verb in (*TYPED_ELSEWHERE, "bundle")} <= {
        " ".join(line.split()[:2]) for line in done.stdout.splitlines()
    }


def test_make_bundle_makes_the_zip(clone):
    done = typed(clone, "make", "bundle")
    assert done.returncode == 0, done.stdout + done.stderr
    (bundle,) = (clone / "dist").glob("attention-lab-*.zip")
    assert zipfile.ZipFile(bundle).testzip() is None


@pytest.mark.timeout(900)
def test_make_demo_grades_a_class(clone):
    done = typed(clone, "make", "demo", "STUDENTS=2")
    assert done.returncode == 0, done.stdout + done.stderr
    assert "verdicts are as expected" in done.stdout
    (page,) = re.findall(r"'(demo/feedback/.*?\.html)'", done.stdout.replace("\n", ""))
    assert (clone / page).is_file()
    assert len(list((clone / "demo/feedback").glob("*/*/*.html"))) == 2


def test_every_test_runs_in_one_of_the_make_commands():
    """The marker expressions of the three commands and of `make test-all` leave no test out."""
    makefile = (ROOT / "Makefile").read_text()
    check, smoke, integration, every = (
        re.search(rf"^{name}\s*:= (.+)$", makefile, re.MULTILINE)[1]
        for name in ("check_tests", "smoke_tests", "integration_tests", "every_test")
    )
    for marks in product([False, True], repeat=3):
        values = dict(zip(("integration", "smoke", "long"), marks, strict=True))
        selected = [eval(expression, {}, values) for expression in (check, smoke, integration)]
        assert sum(selected) == (not values["long"]), values
        assert any(selected) or eval(every, {}, values), values
    assert "test-all: export EVERY_SEED = 1" in makefile


@pytest.mark.long
def test_make_bench_runs_programs_that_start(clone):
    programs = set(re.findall(r"benchmarks/\w+\.py", typed(clone, "make", "--dry-run", "bench").stdout))
    assert len(programs) == 4
    for program in programs:
        done = typed(clone, ".venv/bin/python", program, "--help")
        assert done.returncode == 0 and "usage:" in done.stdout.lower(), done.stderr


# ---- the command lines of the documentation's shell blocks ----

DOCS = [*ROOT.glob("docs/*.md"), *ROOT.glob("nbjudge/docs/*.md")]
PAGES = [ROOT / "README.md", *sorted(DOCS, key=lambda page: page.name)]
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
    blocks = [block for page in PAGES for block in fences(page, "sh")]
    lines = [re.sub(r"\s+#.*", "", line).strip() for block in blocks for line in block.splitlines()]
    return list(dict.fromkeys(line for line in lines if line and not line.startswith(NEEDS_A_CLUSTER)))


def run_elsewhere(line: str) -> str | None:
    return next((where for start, where in ELSEWHERE.items() if f"{line} ".startswith(f"{start} ")), None)


def for_the_tiny_course(line: str) -> str:
    """The same command for the lesson of the tiny course."""
    line = re.sub(r"\b0\d_(dot_product|scaling)\b", FOLDER, line)
    return line.replace("dot_product.ipynb", f"{NAME}.ipynb").replace("build/lab", "release")


def typed_line(line: str, folder: Path) -> subprocess.CompletedProcess[str]:
    """Return what becomes of a command line in a folder."""
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
            run = typed_line(for_the_tiny_course(line), folder)
            assert run.returncode == 0, f"{line}\n{run.stdout[-1500:]}{run.stderr[-1500:]}"


def test_every_test_that_runs_a_command_is_there():
    assert [where for where in ELSEWHERE.values() if not (ROOT / where).exists()] == []
    lines = command_lines()
    unused = [start for start in ELSEWHERE if not any(f"{line} ".startswith(f"{start} ") for line in lines)]
    assert unused == []


# ---- `make test` runs the solution notebooks with nbval: a changed number does not pass ----


# What a cell does, what it is said to have printed, and whether that passes.
STORED = [
    ("print('an epoch: 1.25 s')", "an epoch: 0.5 s\n", True),
    ("print('forward 350 µs, backward 2.5 ms')", "forward 1 ms, backward 12 ms\n", True),
    ("print('<object at 0x7f01deadbeef>')", "<object at 0x55aa00112233>\n", True),
    ("print('a weight of 0.3146')", "a weight of 0.3147\n", False),
    ("print('2 sentences')", "3 sentences\n", False),
    ("import sys; print('a warning', file=sys.stderr)", "", False),
]


@pytest.mark.long
def test_only_timings_and_addresses_may_differ(tmp_path):
    notebook = nbformat.v4.new_notebook()
    notebook.metadata.kernelspec = {"display_name": "Python 3", "language": "python", "name": "python3"}
    for source, printed, _ in STORED:
        output = nbformat.v4.new_output("stream", name="stdout", text=printed)
        notebook.cells.append(nbformat.v4.new_code_cell(source, outputs=[output], execution_count=1))
    nbformat.write(notebook, tmp_path / "prints.ipynb")
    report, settings = tmp_path / "report.xml", ROOT / "tests" / "nbval_sanitize.cfg"
    command = [sys.executable, "-m", "pytest", "-c", ROOT / "pyproject.toml", "--rootdir", tmp_path, tmp_path]
    command += ["-p", "no:cacheprovider", "--nbval", "--nbval-sanitize-with", settings]
    one_thread = os.environ | {"OMP_NUM_THREADS": "1"}
    subprocess.run([*command, "--junit-xml", report], cwd=tmp_path, env=one_thread, capture_output=True)
    cases = ElementTree.parse(report).iter("testcase")
    assert [len(case) == 0 for case in cases] == [passes for _, _, passes in STORED]
