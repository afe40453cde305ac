"""`nbgrader zip_collect` as documented, on archives of the forms that Moodle and Canvas make."""

from __future__ import annotations

import io
import zipfile
from pathlib import Path

import pytest
from nbgrader.api import Gradebook
from nbgrader_command import run

pytestmark = [pytest.mark.integration, pytest.mark.timeout(300)]

CONFIG = "from nbjudge import configure\n\nconfigure(get_config())\n"
FILE = "_assignsubmission_file"


def zipped(*names: str) -> bytes:
    archive = io.BytesIO()
    with zipfile.ZipFile(archive, "w") as file:
        for name in names:
            file.writestr(name, zipped("week-1.ipynb") if name.endswith(".zip") else name)
    return archive.getvalue()


def collect(root: Path, *names: str, config: str = "") -> tuple[dict[str, str], str]:
    """Collect an archive with these names; what each collected file holds, and what nbgrader logged."""
    (root / "source/ps1").mkdir(parents=True)
    (root / "source/ps1/week-1.ipynb").touch()
    (root / "nbgrader_config.py").write_text(CONFIG + config)
    with Gradebook(f"sqlite:///{root / 'gradebook.db'}") as gradebook:
        gradebook.add_student("ada", first_name="Ada", last_name="Lovelace", lms_user_id=" 101")
    archive = root / "downloaded/ps1/archive/2026_1_PS.zip"
    archive.parent.mkdir(parents=True)
    archive.write_bytes(zipped(*names))
    done = run(root, "zip_collect", "ps1")
    assert done.returncode == 0, done.stderr
    submitted = root / "submitted"
    files = {str(path.relative_to(submitted)): path.read_text() for path in submitted.rglob("*.*")}
    return files, done.stderr


def test_moodles_archive_is_collected(tmp_path):
    """Files come to the student of that name, with folders or without, and namesakes are kept apart."""
    names = {
        f"Ada  LOVELACE_4711{FILE}_/week-1.ipynb": "ada/ps1/week-1.ipynb",
        f"Ada  LOVELACE_4711{FILE}_/data/table.csv": "ada/ps1/data/table.csv",
        f"Zoë O'Brien_4712{FILE}/week-1.ipynb": "Zoë O'Brien/ps1/week-1.ipynb",
        f"Ben Li_4713{FILE}_week-1.ipynb": "Ben Li/ps1/week-1.ipynb",
        f"Ben Li_4714{FILE}_week-1.ipynb": "Ben Li 4714/ps1/week-1.ipynb",
    }
    files, messages = collect(
        tmp_path, *names, "Ada LOVELACE_4711_assignsubmission_onlinetext_/onlinetext.html"
    )
    assert files == {there: name for name, there in names.items()}
    assert "one is collected as 'Ben Li', the other as 'Ben Li 4714'" in messages


def test_canvas_archive_is_collected(tmp_path):
    """Files come to the student with Canvas's number, under the released name, and late ones are named."""
    names = {
        "lovelaceada_101_4711_week-1-2.ipynb": "ada/ps1/week-1.ipynb",
        "lovelaceada_101_4712_helper.py": "ada/ps1/helper.py",
        "o_brienzoë_LATE_102_4713_week-1.ipynb": "102/ps1/week-1.ipynb",
        "anon_Ab1_4714_week-1.ipynb": "anon_Ab1/ps1/week-1.ipynb",
    }
    files, messages = collect(tmp_path, *names, "libena_103_4715_mine_1_2_.zip")
    nested = files.pop("103/ps1/mine_1_2_/week-1.ipynb")
    assert files == {there: name for name, there in names.items()} and nested == "week-1.ipynb"
    assert "102: Canvas marks this submission as late" in messages and "ada: Canvas" not in messages


def test_a_courses_own_pattern_is_kept(tmp_path):
    """A course that sets `named_regexp` is collected by it."""
    pattern = r".*/(?P<file_id>[^/]+)-by-(?P<student_id>\w+)"
    config = f"c = get_config()\nc.FileNameCollectorPlugin.named_regexp = {pattern!r}\n"
    files, _ = collect(tmp_path, "week-1-by-eve.ipynb", f"Ada_1{FILE}_/week-1.ipynb", config=config)
    assert list(files) == ["eve/ps1/week-1.ipynb"]
