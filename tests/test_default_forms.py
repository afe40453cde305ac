"""Each verb of the Makefile does in its default form, in a fresh clone, what the README says of it."""

from __future__ import annotations

import re
import zipfile
from itertools import product

import pytest
from fresh_clone import ROOT, fresh_clone, typed

pytestmark = pytest.mark.integration

TYPED_ELSEWHERE = {
    "demo": "below, with two students",
    "site": "tests/site/conftest.py",
    "lab": "tests/test_lab.py",
    "check": "the first part of `make test`",
    "test": ".ci/run",
    "test-integration": ".ci/run",
    "test-all": "takes hours; what it runs is below",
    "bench": "takes an hour; its programs are below",
}
SYSTEM_PACKAGES = {"chromium", "bubblewrap", "postgresql", "iproute2", "hub-proxy", "r-base-core", "help"}


@pytest.fixture(scope="module")
def clone(tmp_path_factory):
    return fresh_clone(tmp_path_factory.mktemp("clone") / "attention-lab")


def test_every_verb_is_tried_somewhere():
    verbs = set(
        re.findall(r"^([a-z][a-z-]+):(?! export)", (ROOT / "Makefile").read_text(), flags=re.MULTILINE)
    )
    assert verbs - SYSTEM_PACKAGES == TYPED_ELSEWHERE.keys() | {"build", "bundle"}


def test_make_says_what_can_be_made(clone):
    done = typed(clone, "make")
    assert done.returncode == 0
    assert {f"make {verb}" for verb in (*TYPED_ELSEWHERE, "build", "bundle")} <= {
        " ".join(line.split()[:2]) for line in done.stdout.splitlines()
    }


@pytest.mark.long
@pytest.mark.timeout(900)
def test_make_build_finds_a_clone_built_and_enters_its_lessons(clone):
    done = typed(clone, "make", "build")
    assert done.returncode == 0, done.stdout + done.stderr
    lines = [line for line in done.stdout.splitlines() if ": " in line]
    assert len(lines) == len(list((clone / "source").glob("*/*.ipynb")))
    assert (clone / "gradebook.db").is_file()
    assert not typed(
        clone, "git", "-C", str(ROOT), "diff", "--no-index", "--quiet", "release", str(clone / "release")
    ).returncode


def test_make_bundle_makes_the_zip(clone):
    done = typed(clone, "make", "bundle")
    assert done.returncode == 0, done.stdout + done.stderr
    (bundle,) = (clone / "dist").glob("attention-lab-*.zip")
    assert zipfile.ZipFile(bundle).testzip() is None


@pytest.mark.timeout(900)
def test_make_demo_grades_a_class_and_says_where_to_read_on(clone):
    done = typed(clone, "make", "demo", "STUDENTS=2")
    assert done.returncode == 0, done.stdout + done.stderr
    (page,) = re.findall(r"'(demo/feedback/.*?\.html)'", done.stdout.replace("\n", ""))
    assert (clone / page).is_file()


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
