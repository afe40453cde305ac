"""The secret that a submission brings through nbgrader's exchange: its feedback is found by it."""

import os

import pytest

from nbjudge.nbgrader_hooks.plugins import write_small_file
from nbjudge.submission.files import EXCHANGE_SECRET, TIMESTAMP_FILE, Folder, files_beside, read_handed_in


@pytest.fixture
def folders(tmp_path):
    submitted, graded = tmp_path / "submitted", tmp_path / "autograded"
    submitted.mkdir()
    graded.mkdir()
    return submitted, graded


def test_it_is_kept_with_the_grade_and_that_of_a_later_submission_takes_its_place(folders):
    submitted, graded = folders
    for secret in ("first", "second"):
        (submitted / EXCHANGE_SECRET).write_text(secret)
        write_small_file(read_handed_in(Folder(submitted)), graded, EXCHANGE_SECRET)
        assert (graded / EXCHANGE_SECRET).read_text() == secret
        (graded / EXCHANGE_SECRET).chmod(0o444)  # as nbgrader leaves it


def test_what_else_is_under_its_name_is_passed_over(folders, tmp_path):
    submitted, graded = folders
    write_small_file(
        read_handed_in(Folder(submitted)), graded, EXCHANGE_SECRET
    )  # it came another way than through the exchange
    (tmp_path / "of another student").write_text("secret")
    spoilt = submitted / EXCHANGE_SECRET
    spoilt.symlink_to(tmp_path / "of another student")
    write_small_file(read_handed_in(Folder(submitted)), graded, EXCHANGE_SECRET)
    spoilt.unlink()
    os.mkfifo(spoilt)
    write_small_file(read_handed_in(Folder(submitted)), graded, EXCHANGE_SECRET)
    spoilt.unlink()
    spoilt.write_bytes(b"\xff\xfe")
    write_small_file(read_handed_in(Folder(submitted)), graded, EXCHANGE_SECRET)
    spoilt.write_text("x" * 1001)
    write_small_file(read_handed_in(Folder(submitted)), graded, EXCHANGE_SECRET)
    assert list(graded.iterdir()) == []


@pytest.mark.parametrize("notebook", ["tiny.ipynb", "inner/tiny.ipynb"])
def test_nbgraders_own_files_are_not_put_beside_the_notebook(folders, notebook):
    submitted, _ = folders
    (submitted / "inner").mkdir()
    for folder in (submitted, submitted / "inner"):
        for name in (TIMESTAMP_FILE, EXCHANGE_SECRET, "helper.py"):
            (folder / name).write_text(name)
    handed_in = read_handed_in(Folder(submitted))
    assert handed_in.files[TIMESTAMP_FILE] and handed_in.files[EXCHANGE_SECRET]
    files, _ = files_beside(handed_in, notebook, ())
    assert not {TIMESTAMP_FILE, EXCHANGE_SECRET} & set(files) and files["helper.py"] == b"helper.py"
