"""Folders that lead elsewhere, clash with the assignment's files, or were changed since they were graded."""

import os
from pathlib import Path

import pytest

from nbjudge.course.folders import CourseFolders
from nbjudge.nbgrader_hooks.plugins import write_small_file
from nbjudge.submission import files as folders
from nbjudge.submission.files import (
    EXCHANGE_SECRET,
    LARGEST_EXTRA_FILE,
    TIMESTAMP_FILE,
    Folder,
    SubmissionFolder,
    copy_plain_files,
    files_beside,
    plain_file_names,
    read_handed_in,
    write_files,
)

NOTEBOOKS = ["tiny.ipynb"]


def digest(folder: Path) -> str:
    return read_handed_in(Folder(folder), NOTEBOOKS).digest


@pytest.mark.parametrize(
    "structure",
    ["{nbgrader_step}/{student_id}/{assignment_id}", "{assignment_id}/{nbgrader_step}/x-{student_id}/in"],
)
@pytest.mark.parametrize("level", [1, 2])
def test_no_link_below_submitted_is_followed(tmp_path, structure, level):
    """The folder `submitted` itself may be one."""
    course_folders = CourseFolders(tmp_path, directory_structure=structure)
    ada = course_folders.submission("ada", "ps1")
    ada.path.mkdir(parents=True)
    (ada.path / "tiny.ipynb").write_bytes(b"{}")
    eve = course_folders.submission("eve", "ps1")
    own, neighbours = eve.inner.split("/"), ada.inner.split("/")
    link = eve.base.joinpath(*own[:level])
    link.parent.mkdir(parents=True, exist_ok=True)
    link.symlink_to(ada.base.joinpath(*neighbours[:level]))
    assert (eve.path / "tiny.ipynb").exists()
    read = read_handed_in(eve, NOTEBOOKS)
    assert f"{own[level - 1]!r} is a link" in read.obstacle and not read.notebooks and not read.files
    ada.base.rename(tmp_path / "elsewhere")
    ada.base.symlink_to(tmp_path / "elsewhere")
    assert read_handed_in(ada, NOTEBOOKS).notebooks == {"tiny.ipynb": b"{}"}


def test_digest_differs_with_every_change(tmp_path):
    """Times do not matter."""
    (tmp_path / "tiny.ipynb").write_bytes(b"{}")
    (tmp_path / "helper.py").write_bytes(b"x = 1")
    digests = [digest(tmp_path)]
    os.utime(tmp_path / "tiny.ipynb", (0, 0))
    assert digest(tmp_path) == digests[0]
    for change in (
        lambda: (tmp_path / "tiny.ipynb").write_bytes(b"[]"),
        lambda: (tmp_path / "helper.py").rename(tmp_path / "helped.py"),
        lambda: (tmp_path / "helped.py").unlink(),
        lambda: (tmp_path / "link").symlink_to("tiny.ipynb"),
    ):
        change()
        digests.append(digest(tmp_path))
    assert len(set(digests)) == len(digests)


@pytest.mark.parametrize(
    ("files", "notebook", "given", "expected", "note"),
    [
        (
            {"data": b"1", "table.csv/x": b"2", "Data": b"3", "own/x": b"4", "given.csv": b"5"},
            "tiny.ipynb",
            ["data/x.csv", "table.csv", "given.csv"],
            {"Data": b"3", "own/x": b"4", "given.csv": b"5"},
            "'data', 'table.csv/x' were left out",
        ),
        # Without the assignment's files, as `exclude_overwriting` has it, nothing clashes.
        ({"data": b"1", "data.csv/x": b"2"}, "tiny.ipynb", [], {"data": b"1", "data.csv/x": b"2"}, ""),
        # The files of an inner folder are beside its notebook.
        (
            {"ps1/helper.py": b"inner", "helper.py": b"outer", "other.py": b"other"},
            "ps1/tiny.ipynb",
            [],
            {"helper.py": b"inner", "other.py": b"other"},
            "",
        ),
    ],
)
def test_files_beside_a_notebook(tmp_path, files, notebook, given, expected, note):
    """The assignment's folders and files win, and only what clashes is left out."""
    found, message = files_beside(SubmissionFolder(Folder(tmp_path), files=files), notebook, given)
    assert found == expected and message.startswith(note) and bool(message) == bool(note)


def test_files_that_are_there_are_not_written_over(tmp_path):
    """A clash of names stops nothing."""
    (tmp_path / "data").mkdir()
    (tmp_path / "given.csv").write_text("given")
    write_files({"data": b"1", "given.csv": b"2", "given.csv/x": b"3", "own.py": b"4"}, tmp_path)
    assert (tmp_path / "given.csv").read_text() == "given" and (tmp_path / "own.py").read_text() == "4"


def test_a_courses_own_data_may_be_large(tmp_path):
    """The limits on what students hand in are not the course's; beside a grade only small files stay."""
    source, target, graded = (tmp_path / name for name in ("source", "target", "graded"))
    for folder in (source, target, graded):
        folder.mkdir()
    with (source / "data.bin").open("wb") as file:
        file.truncate(LARGEST_EXTRA_FILE + 1)
    (source / "picture.png").write_bytes(b"1")
    assert plain_file_names(source) == ["data.bin", "picture.png"]
    copy_plain_files(source, target)
    assert (target / "data.bin").stat().st_size == LARGEST_EXTRA_FILE + 1
    copy_plain_files(source, graded, largest=LARGEST_EXTRA_FILE)
    assert [file.name for file in graded.iterdir()] == ["picture.png"]


@pytest.mark.parametrize(
    ("sizes", "left_out", "words"),
    [
        ({"a.txt": 1, "z.py": 1}, set(), []),
        ({"table.pt": LARGEST_EXTRA_FILE + 1, "a.txt": 1}, {"table.pt"}, ["may have 10 MiB"]),
        ({"given.csv": LARGEST_EXTRA_FILE + 1}, {"given.csv"}, []),
        (
            {f"{number}.txt": 1 for number in range(4)} | {"in/tools.py": 1},
            {"2.txt", "3.txt"},
            ["'2.txt', '3.txt' were left out: 3 files of 100 MiB together"],
        ),
        ({"a.txt": 60, "b.txt": 60, "c.txt": 1}, {"b.txt"}, ["'b.txt' was left out"]),
    ],
    ids=["few", "large", "large and given", "many", "together large"],
)
def test_files_that_are_left_out_are_named(tmp_path, monkeypatch, sizes, left_out, words):
    """Python's files come first, because an answer needs them more often than data."""
    monkeypatch.setattr(folders, "MOST_EXTRA_FILES", 3)
    for name, size in sizes.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_bytes(b"x" * size)
    limit = 100 if "b.txt" in sizes else folders.ALL_EXTRA_FILES
    files, note = files_beside(read_handed_in(Folder(tmp_path)), "tiny.ipynb", ["given.csv"], limit)
    assert set(files) == set(sizes) - left_out
    assert bool(note) == bool(words) and all(word in note for word in words)
    monkeypatch.setattr(folders, "MOST_ENTRIES", 1)
    assert "first 1 files" in files_beside(read_handed_in(Folder(tmp_path)), "tiny.ipynb", ())[1]


def kept_secret(submitted: Path, graded: Path) -> str | None:
    """Return what is with the grade of the secret by which nbgrader's exchange finds the feedback."""
    graded.mkdir(exist_ok=True)
    write_small_file(read_handed_in(Folder(submitted)), graded, EXCHANGE_SECRET)
    kept = graded / EXCHANGE_SECRET
    return kept.read_text() if kept.exists() else None


def test_a_later_submissions_secret_replaces_the_first(tmp_path):
    """What else has the secret's name is passed over."""
    file = tmp_path / EXCHANGE_SECRET
    for write, kept in (
        (lambda: None, None),  # it came another way than through the exchange
        (lambda: file.symlink_to("/etc/hostname"), None),
        (lambda: os.mkfifo(file), None),
        (lambda: file.write_bytes(b"\xff\xfe"), None),
        (lambda: file.write_text("x" * 1001), None),
        (lambda: file.write_text("first"), "first"),
        (lambda: file.write_text("second"), "second"),
    ):
        write()
        assert kept_secret(tmp_path, tmp_path / "graded") == kept
        file.unlink(missing_ok=True)
        if kept:
            (tmp_path / "graded" / EXCHANGE_SECRET).chmod(0o444)  # as nbgrader leaves it


@pytest.mark.parametrize("notebook", ["tiny.ipynb", "inner/tiny.ipynb"])
def test_nbgraders_own_files_stay_out(tmp_path, notebook):
    (tmp_path / "inner").mkdir()
    for folder in (tmp_path, tmp_path / "inner"):
        for name in (TIMESTAMP_FILE, EXCHANGE_SECRET, "helper.py"):
            (folder / name).write_text(name)
    handed_in = read_handed_in(Folder(tmp_path))
    assert handed_in.files[TIMESTAMP_FILE] and handed_in.files[EXCHANGE_SECRET]
    files, _ = files_beside(handed_in, notebook, ())
    assert not {TIMESTAMP_FILE, EXCHANGE_SECRET} & set(files) and files["helper.py"] == b"helper.py"
