"""What is put beside a notebook of the files that were handed in, and what is said of the others."""

import pytest

from nbjudge.submission import files as folders
from nbjudge.submission.files import LARGEST_EXTRA_FILE, Folder, files_beside, read_handed_in


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
    assert bool(note) == bool(words) and all(each in note for each in words)


def test_files_that_are_not_looked_at_are_mentioned(tmp_path, monkeypatch):
    monkeypatch.setattr(folders, "MOST_ENTRIES", 1)
    (tmp_path / "helper.py").touch()
    assert "first 1 files" in files_beside(read_handed_in(Folder(tmp_path)), "tiny.ipynb", ())[1]
