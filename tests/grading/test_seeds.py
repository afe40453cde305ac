"""The seed covers all that reaches the kernel of a submission, and nothing else."""

from __future__ import annotations

import os

import pytest
from tiny_course import answered, cell_of

from nbjudge.grading.job import KEY_FILE, submission_seed
from nbjudge.submission.files import Folder
from nbjudge.submission.folder import read_handed_in

FILES = {"helper.py": b"two = 2", "data/table.csv": b"1,2"}


@pytest.fixture
def seed(tmp_path):
    def seed(student="ada", notebook=None, files=FILES) -> int:
        return submission_seed(tmp_path, student, notebook or answered(), files)

    return seed


def with_source(source: str):
    work = answered()
    cell_of(work, "double").source = source
    return work


def test_the_same_submission_has_the_same_seed_whatever_order_its_files_come_in(seed):
    assert seed() == seed() == seed(files=dict(reversed(FILES.items())))


@pytest.mark.parametrize(
    "change",
    [
        {"student": "ben"},
        {"student": "ada\udcff"},
        {"notebook": with_source("def double(x): return x")},
        {"files": {}},
        {"files": FILES | {"helper.py": b"two = 3"}},
        {"files": FILES | {"empty": b""}},
        {"files": {"help": b"er.pytwo = 2", "data/table.csv": b"1,2"}},
        {"files": {"helper.pyt": b"wo = 2", "data/table.csv": b"1,2"}},
        {"files": {"Helper.py": b"two = 2", "data/table.csv": b"1,2"}},
        {"files": FILES | {"\udcff": b""}},
    ],
    ids=lambda change: repr(change)[:40],
)
def test_any_other_submission_has_another(seed, change):
    assert seed(**change) != seed()


def test_no_two_submissions_are_one_stream(seed):
    """Bytes that move over the border between two parts make another submission."""
    both = answered()
    both.cells = both.cells[:2]
    both.cells[0].source, both.cells[1].source = "ab", "c"
    seeds = {seed(notebook=both)}
    both.cells[0].source, both.cells[1].source = "a", "bc"
    seeds.add(seed(notebook=both))
    both.cells[1].source = ""
    seeds |= {seed(notebook=both, files={}), seed(notebook=both, files={"": b""})}
    seeds.add(seed("adac", notebook=both, files={}))
    assert len(seeds) == 5


def test_another_course_asks_other_questions(seed, tmp_path):
    first = seed()
    (tmp_path / KEY_FILE).write_text("0" * 64)
    assert seed() != first


def test_files_with_names_that_are_no_text_count_too(seed, tmp_path):
    folder = os.fsencode(tmp_path / "beside")
    os.mkdir(folder)
    with open(folder + b"/\xff.py", "wb") as file:
        file.write(b"1")
    files = read_handed_in(Folder(tmp_path / "beside")).files
    assert list(files.values()) == [b"1"]
    assert seed(files=files) != seed(files={})
