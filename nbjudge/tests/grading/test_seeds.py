"""The seed covers all that reaches the kernel of a submission, and nothing else."""

from __future__ import annotations

import os

import pytest
from tiny_course import answered, cell_of

from nbjudge.grading.job import KEY_FILE, submission_seed
from nbjudge.submission.files import Folder, read_handed_in

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


def with_sources(*sources: str):
    work = answered()
    work.cells = work.cells[: len(sources)]
    for cell, source in zip(work.cells, sources, strict=True):
        cell.source = source
    return work


def test_any_other_submission_has_another_seed(seed, tmp_path):
    """Also where bytes move over the border between two parts, and for another course's key."""
    assert seed() == seed() == seed(files=dict(reversed(FILES.items())))
    others = [
        {"student": "ben"},
        {"student": "ada\udcff"},
        {"notebook": with_source("def double(x): return x")},
        {"notebook": with_sources("ab", "c")},
        {"notebook": with_sources("a", "bc")},
        {"notebook": with_sources("a", ""), "files": {}},
        {"notebook": with_sources("a", ""), "files": {"": b""}},
        {"notebook": with_sources("a", ""), "files": {}, "student": "adac"},
        {"files": {}},
        {"files": FILES | {"helper.py": b"two = 3"}},
        {"files": FILES | {"empty": b""}},
        {"files": {"help": b"er.pytwo = 2", "data/table.csv": b"1,2"}},
        {"files": {"helper.pyt": b"wo = 2", "data/table.csv": b"1,2"}},
        {"files": {"Helper.py": b"two = 2", "data/table.csv": b"1,2"}},
        {"files": FILES | {"\udcff": b""}},
    ]
    seeds = [seed(), *(seed(**change) for change in others)]
    (tmp_path / KEY_FILE).write_text("0" * 64)
    assert len({*seeds, seed()}) == len(seeds) + 1


def test_files_whose_names_are_no_text_count(seed, tmp_path):
    folder = os.fsencode(tmp_path / "beside")
    os.mkdir(folder)
    with open(folder + b"/\xff.py", "wb") as file:
        file.write(b"1")
    files = read_handed_in(Folder(tmp_path / "beside")).files
    assert list(files.values()) == [b"1"]
    assert seed(files=files) != seed(files={})
