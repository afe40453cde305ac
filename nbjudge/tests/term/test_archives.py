"""Archives named as platforms name them: whose files they hold, when these came, where feedback goes.

Canvas: https://github.com/instructure/canvas-lms/blob/master/lib/content_zipper.rb
Moodle: https://docs.moodle.org/en/Using_Assignment#Downloading_submissions

Blackboard: https://help.blackboard.com/Learn/Instructor/Original/Assignments/Download_Assignments
"""

import io
import re
import shutil
import zipfile
from collections.abc import Iterable
from pathlib import Path

import nbformat
import pytest
from nbgrader.api import Gradebook
from nbgrader_command import run as nbgrader
from term_class import CONFIG, typed

# nbgrader's gradebook links a submission before it adds it.
pytestmark = [
    pytest.mark.integration,
    pytest.mark.filterwarnings("ignore:Object of type <Submitted:sqlalchemy.exc.SAWarning"),
]
OWN_PATTERN = r".*/(?P<file_id>[^/]+)-by-(?P<student_id>\w+)-at-(?P<timestamp>[\d-]+)"
ATTEMPT = "Week 1_ada_attempt_2026-11-21-"


def collect(root: Path, names: list[str], config: str = "") -> tuple[dict[str, str], str]:
    """Make a course, and collect an archive with files of these names."""
    (root / "source/ps1").mkdir(parents=True)
    nbformat.write(nbformat.v4.new_notebook(), root / "source/ps1/week.ipynb")
    (root / "nbgrader_config.py").write_text(CONFIG + config)
    with Gradebook(f"sqlite:///{root / 'gradebook.db'}") as gradebook:
        gradebook.add_student("mary_ann")
        gradebook.add_student("ada", first_name="Ada", last_name="Lovelace", lms_user_id="101")
    return collect_archive(root, names)


def collect_archive(root: Path, names: list[str], *options: str) -> tuple[dict[str, str], str]:
    """Collect such an archive: what is submitted, by path, and what nbgrader says."""
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w") as archive:
        for name in names:
            archive.writestr(name, f"{name}, 2026-01-01")
    (root / "downloaded/ps1/archive").mkdir(parents=True, exist_ok=True)
    (root / "downloaded/ps1/archive/submissions.zip").write_bytes(content.getvalue())
    run = nbgrader(root, "zip_collect", "ps1", *options)
    assert run.returncode == 0, run.stderr
    files = [path for path in (root / "submitted").rglob("*") if path.is_file()]
    return {str(path.relative_to(root / "submitted")): path.read_text() for path in files}, run.stderr


def test_blackboards_times_are_in_the_courses_zone(tmp_path):
    """The last attempt counts, and its time to the second."""
    first, last = (f"{ATTEMPT}{time}_week.ipynb" for time in ("09-30-15", "10-00-00"))
    mary_ann, stranger = (
        f"Week_1_{who}_attempt_2026-07-01-10-00-00_week.ipynb" for who in ("mary_ann", "eve")
    )
    others = [f"{ATTEMPT}10-00-00_data.csv", f"{ATTEMPT}10-00-00.txt", mary_ann, stranger]
    files, _ = collect(tmp_path, [first, last, *others])
    assert files["mary_ann/ps1/timestamp.txt"] == files["eve/ps1/timestamp.txt"] == "2026-07-01 08:00:00"
    files = {name: text for name, text in files.items() if name.startswith("ada/")}
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


MOODLE = "_assignsubmission_file_"


def placed_by_moodle(name: str) -> tuple[str, str] | None:
    """Whom a file of a zip is for and its name, as Moodle's `is_valid_filename_for_import` decides.

    https://github.com/moodle/moodle/blob/main/mod/assign/feedback/file/importziplib.php
    """
    parts = name.split("/")
    for at, part in enumerate(parts):
        info = part.split("_", 4)
        if (
            len(info) >= 4
            and info[1].isdigit()
            and info[2:4]
            in (
                ["assignfeedback", "file"],
                ["assignsubmission", "file"],
            )
        ):
            return info[1], "/".join([each for each in info[4:] if each] + parts[at + 1 :])
    return None


def placed_by_canvas(name: str) -> tuple[str, str]:
    """The numbers of user and attachment, as Canvas's `infer_comment_context_from_filename` finds them.

    https://github.com/instructure/canvas-lms/blob/master/app/models/abstract_assignment.rb
    """
    split = [part for part in name.rpartition("/")[2].split("_") if part != "LATE"]
    if split[0] == "anon":
        return split[1], split[2]
    user, attachment, *_ = [part for part in split if re.fullmatch(r"\d+", part)]
    return user, attachment


# Files of an archive, and where week.html goes: to whom, and for Canvas about which file.
RETURNED = {
    "moodle": (
        [f"Ada Lovelace_4711{MOODLE}/week.ipynb", f"Ada Lovelace_4711{MOODLE}/data/table.csv"]
        + [f"Ben_jamin Li_4712{MOODLE}/mine.ipynb", f"Zoë O'Brien_4713{MOODLE[:-1]}/week.ipynb"],
        {
            "ada": ("4711", "week.html"),
            "Ben_jamin Li": ("4712", "week.html"),
            "Zoë O'Brien": ("4713", "week.html"),
        },
    ),
    "canvas": (
        [
            "lovelaceada_101_900_data.csv",
            "lovelaceada_101_901_week-2.ipynb",
            "lovelaceada_101_902_week-3.ipynb",
        ]
        + ["obrienzoë_LATE_102_903_my_week_1.ipynb", "anon_Ab1x_904_week.ipynb"],
        {"ada": ("101", "901"), "102": ("102", "903"), "anon_Ab1x": ("Ab1x", "904")},
    ),
}


@pytest.mark.parametrize("naming", RETURNED)
def test_pages_go_where_the_work_came_from(tmp_path, naming):
    """Each platform's own rule finds the student of every page; late, handed in again, several files."""
    names, expected = RETURNED[naming]
    files, said = collect(tmp_path, names)
    assert {path.partition("/")[0] for path in files} >= set(expected)
    if naming == "canvas":
        assert "ada/ps1/week.ipynb" in files and "ada/ps1/week-3.ipynb" in files
        assert "ada handed in two files that Canvas may have renamed from 'week.ipynb'" in said
        assert "102: Canvas marks this submission as late" in said and "--received TABLE" in said
    enter_pages(tmp_path, expected)
    shown = typed(tmp_path, "nbjudge", "return", "ps1", f"--{naming}", "--dry-run")
    assert "Nothing was changed" in shown and not (tmp_path / "returned").exists()
    said = typed(tmp_path, "nbjudge", "return", "ps1", f"--{naming}")
    assert "Not in the archive that was collected: by hand." in said
    returned = zipfile.ZipFile(tmp_path / f"returned/ps1-{naming}.zip")
    place = placed_by_moodle if naming == "moodle" else placed_by_canvas
    pages = {returned.read(name).decode(): place(name) for name in returned.namelist()}
    assert pages == expected
    assert all(name.endswith("week.html") for name in returned.namelist())
    typed(tmp_path, "nbjudge", "student", "rename", "ada", "ada.l")
    assert typed(tmp_path, "nbjudge", "return", "ps1", f"--{naming}", "--dry-run").startswith(
        "student in the zip"
    )


TWO_ACCOUNTS = {
    "moodle": (f"Cid Li_4714{MOODLE}/week.ipynb", f"Ada Lovelace_4711{MOODLE}/week.ipynb"),
    "canvas": ("licid_107_901_week.ipynb", "lovelaceada_101_900_week.ipynb"),
}


@pytest.mark.parametrize("naming", TWO_ACCOUNTS)
def test_a_merged_student_does_not_come_back(tmp_path, naming):
    """Work that comes again under the id that is gone is the other one's, and so is its page."""
    old, new = TWO_ACCOUNTS[naming]
    files, _ = collect(tmp_path, [old])
    (gone,) = {path.partition("/")[0] for path in files}
    enter_pages(tmp_path, [gone])
    typed(tmp_path, "nbjudge", "student", "merge", gone, "ada")
    shutil.rmtree(tmp_path / "submitted")
    files, _ = collect_archive(tmp_path, [old], "--force")
    assert set(files) == {"ada/ps1/week.ipynb"}
    place = old.replace("assignsubmission", "assignfeedback").replace(".ipynb", ".html")
    assert f"ada {place}" in typed(tmp_path, "nbjudge", "return", "ps1", f"--{naming}")
    # Work of both in one archive: none is lost.
    shutil.rmtree(tmp_path / "submitted")
    files, said = collect_archive(tmp_path, [old, new], "--force")
    assert len([text for path, text in files.items() if path.endswith(".ipynb")]) == 2, said
    # Another student who gets the id is one of their own.
    with Gradebook(f"sqlite:///{tmp_path / 'gradebook.db'}") as gradebook:
        gradebook.add_student(gone)
    shutil.rmtree(tmp_path / "submitted")
    files, _ = collect_archive(tmp_path, [old], "--force")
    assert set(files) == {f"{gone}/ps1/week.ipynb"}


def enter_pages(root: Path, students: Iterable[str]) -> None:
    """A page for each student, and for one whose work did not come with the archive."""
    with Gradebook(f"sqlite:///{root / 'gradebook.db'}") as gradebook:
        gradebook.update_or_create_assignment("ps1")
        gradebook.update_or_create_notebook("week", "ps1")
        for student in (*students, "by hand"):
            gradebook.update_or_create_student(student)
            gradebook.update_or_create_submission("ps1", student)
            (root / "feedback" / student / "ps1").mkdir(parents=True)
            (root / "feedback" / student / "ps1/week.html").write_text(student)


def test_pages_for_people_and_for_mail(tmp_path):
    (tmp_path / "source/ps1").mkdir(parents=True)
    nbformat.write(nbformat.v4.new_notebook(), tmp_path / "source/ps1/week.ipynb")
    (tmp_path / "nbgrader_config.py").write_text(CONFIG)
    enter_pages(tmp_path, ["ada", "ben"])
    with Gradebook(f"sqlite:///{tmp_path / 'gradebook.db'}") as gradebook:
        gradebook.update_or_create_student("ada", first_name="Ada", last_name="=1+1", email="ada@x.org")
        gradebook.add_student("eve")
        gradebook.add_submission("ps1", "eve")
    said = typed(tmp_path, "nbjudge", "return", "ps1", "--mail-merge", "--output", "mail.zip")
    assert "Without an e-mail address, and not in mail.csv: ben, by hand. Without a page: eve." in said
    archive = zipfile.ZipFile(tmp_path / "mail.zip")
    assert archive.namelist() == ["ada/week.html", "ben/week.html", "by hand/week.html", "mail.csv"]
    row = archive.read("mail.csv").decode("utf-8-sig").splitlines()[1]
    assert row == '"ada@x.org","Ada","\'=1+1",0,0,"ada/week.html"'
    typed(tmp_path, "nbjudge", "return", "ps1", "--folders")
    assert zipfile.ZipFile(tmp_path / "returned/ps1-folders.zip").namelist() == archive.namelist()[:3]
    for words, sentence in (
        (["--moodle"], "holds no archive of Moodle's, whose names say where feedback goes"),
        ([], "Give one of --moodle, --canvas, --folders, --mail-merge."),
        (["--canvas", "--folders"], "Give one of --moodle"),
    ):
        assert sentence in typed(tmp_path, "nbjudge", "return", "ps1", *words, status=1)
    graded = tmp_path / "autograded/ben/ps1"
    graded.mkdir(parents=True)
    (graded / "week.ipynb").touch()  # graded after the page
    said = typed(tmp_path, "nbjudge", "return", "ps1", "--folders", status=1)
    assert "the pages of ben are older than their grades. `nbgrader generate_feedback ps1` makes them" in said
