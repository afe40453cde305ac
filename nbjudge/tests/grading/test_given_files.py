"""A course's own files beside a notebook."""

from nbjudge.submission.files import LARGEST_EXTRA_FILE, copy_plain_files, plain_file_names


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
