"""Each verb of the Makefile does in its default form, in a fresh clone, what the README says of it."""

from __future__ import annotations

import re
import zipfile

import pytest
from fresh_clone import ROOT, fresh_clone, typed

TYPED_ELSEWHERE = {
    "demo": "below, with two students",
    "site": "tests/site/conftest.py",
    "lab": "tests/test_lab.py",
    "test": ".ci/run",
    "test-all": "takes hours; its one difference is below",
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
    (made,) = (clone / "dist").glob("attention-lab-*.zip")
    assert zipfile.ZipFile(made).testzip() is None


@pytest.mark.timeout(900)
def test_make_demo_grades_a_class_and_says_where_to_read_on(clone):
    done = typed(clone, "make", "demo", "STUDENTS=2")
    assert done.returncode == 0, done.stdout + done.stderr
    (page,) = re.findall(r"'(demo/feedback/.*?\.html)'", done.stdout.replace("\n", ""))
    assert (clone / page).is_file()


def test_make_test_all_is_make_test_with_all_that_takes_long(clone):
    every, daily = (typed(clone, "make", "--dry-run", verb).stdout for verb in ("test-all", "test"))
    assert "-n 3" in every and '-m "not long' in daily
    assert every == daily.replace('"not long', '"(long or not long)')
    assert "test-all: export EVERY_SEED = 1" in (clone / "Makefile").read_text()


@pytest.mark.long
def test_make_bench_runs_programs_that_start(clone):
    programs = re.findall(r"benchmarks/\w+\.py", typed(clone, "make", "--dry-run", "bench").stdout)
    assert len(programs) == 3
    for program in programs:
        done = typed(clone, ".venv/bin/python", program, "--help")
        assert done.returncode == 0 and "usage:" in done.stdout, done.stderr
