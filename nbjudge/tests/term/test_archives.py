"""Archives named as platforms name them: whose files they hold, and when these came.

Blackboard: https://help.blackboard.com/Learn/Instructor/Original/Assignments/Download_Assignments
"""

import io
import zipfile
from pathlib import Path

import pytest
from nbgrader.api import Gradebook
from nbgrader_command import run as nbgrader
from term_class import CONFIG

pytestmark = pytest.mark.integration
OWN_PATTERN = r".*/(?P<file_id>[^/]+)-by-(?P<student_id>\w+)-at-(?P<timestamp>[\d-]+)"
ATTEMPT = "Week 1_ada_attempt_2026-11-21-"


def collect(root: Path, names: list[str], config: str = "") -> tuple[dict[str, str], str]:
    """Collect an archive with files of these names: what is submitted, by path, and what nbgrader says."""
    (root / "source/ps1").mkdir(parents=True)
    (root / "source/ps1/week.ipynb").touch()
    (root / "nbgrader_config.py").write_text(CONFIG + config)
    with Gradebook(f"sqlite:///{root / 'gradebook.db'}") as gradebook:
        gradebook.add_student("ada", first_name="Ada", last_name="Lovelace", lms_user_id="101")
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w") as archive:
        for name in names:
            archive.writestr(name, f"{name}, 2026-01-01")
    (root / "downloaded/ps1/archive").mkdir(parents=True)
    (root / "downloaded/ps1/archive/submissions.zip").write_bytes(content.getvalue())
    run = nbgrader(root, "zip_collect", "ps1")
    assert run.returncode == 0, run.stderr
    files = [path for path in (root / "submitted").rglob("*") if path.is_file()]
    return {str(path.relative_to(root / "submitted")): path.read_text() for path in files}, run.stderr


def test_blackboards_times_are_in_the_courses_zone(tmp_path):
    """The last attempt counts, and its time to the second."""
    first, last = (f"{ATTEMPT}{time}_week.ipynb" for time in ("09-30-15", "10-00-00"))
    files, _ = collect(tmp_path, [first, last, f"{ATTEMPT}10-00-00_data.csv", f"{ATTEMPT}10-00-00.txt"])
    assert files["ada/ps1/timestamp.txt"] == "2026-11-21 09:00:00"
    assert files["ada/ps1/week.ipynb"].startswith(last) and set(files) == {
        f"ada/ps1/{name}" for name in ("week.ipynb", "data.csv", "timestamp.txt")
    }


def test_a_pattern_of_the_courses_own_has_its_zone(tmp_path):
    """nbgrader would read 09-30-00 as 09:00 in a zone of its own."""
    files, _ = collect(
        tmp_path,
        ["week-by-ada-at-2026-07-21-09-30-00.ipynb"],
        f"c.FileNameCollectorPlugin.named_regexp = {OWN_PATTERN!r}\n",
    )
    assert files["ada/ps1/timestamp.txt"] == "2026-07-21 07:30:00"


def test_a_students_own_time_is_not_collected(tmp_path):
    moodle = "Ada Lovelace_4711_assignsubmission_file_"
    files, said = collect(tmp_path, [f"{moodle}/week.ipynb", f"{moodle}/timestamp.txt"])
    assert set(files) == {"ada/ps1/week.ipynb"}
