"""Deadlines in the course's zone, extensions and penalties that follow them without grading."""

import csv
import shutil
import zipfile
from datetime import datetime, timedelta
from pathlib import Path
from zoneinfo import ZoneInfo

import pytest
from nbgrader.api import Gradebook
from term_class import make_class, typed
from traitlets.config import Config

from nbjudge.course.dates import (
    days_after,
    late_sentence,
    read_deadline,
    read_received,
    shown,
    started_days,
)
from nbjudge.errors import CourseError
from nbjudge.nbgrader_hooks.late_policy import LatePolicy

VIENNA = ZoneInfo("Europe/Vienna")


@pytest.mark.parametrize(
    ("text", "utc"),
    [
        ("2026-12-01 23:59", "2026-12-01 22:59"),
        ("2026-07-01T23:59", "2026-07-01 21:59"),
        ("2026-12-01 23:59 UTC", "2026-12-01 23:59"),
        ("2026-12-01 23:59 America/New_York", "2026-12-02 04:59"),
        ("2026-12-01T23:59+02:00", "2026-12-01 21:59"),
        ("2026-12-01 23:59 -0500", "2026-12-02 04:59"),
        ("2026-10-25 02:30", "2026-10-25 01:30"),  # twice: the later one
        ("2026-10-25 02:30 +02:00", "2026-10-25 00:30"),
    ],
)
def test_a_deadline_is_read_in_its_zone(text, utc):
    assert read_deadline(text, VIENNA) == datetime.fromisoformat(utc)


@pytest.mark.parametrize("text", ["2026-12-01", "soon", "2026-12-01 23:59 Mars", "1.12.2026 23:59", ""])
def test_what_is_no_date_and_time_is_refused(text):
    with pytest.raises(CourseError, match="is no date and time: write it as '2026-12-01 23:59'"):
        read_deadline(text, VIENNA)


def test_a_time_that_does_not_exist_is_refused():
    with pytest.raises(CourseError, match="clocks go forward then: write 01:30 or 03:30"):
        read_deadline("2026-03-29 02:30", VIENNA)
    # A submission is not refused: it is the earlier reading, as where the time exists twice.
    assert shown(read_received("2026-03-29-02-30-00", VIENNA), VIENNA) == "2026-03-29 01:30 CET"
    assert shown(read_received("2026-10-25-02-30-00", VIENNA), VIENNA) == "2026-10-25 02:30 CEST"


def test_platforms_times_are_read_to_the_second():
    assert read_received("2026-11-21-09-30-15", VIENNA) == datetime(2026, 11, 21, 8, 30, 15)
    assert read_received("Saturday, 21 November 2026, 9:30 AM", VIENNA) == datetime(2026, 11, 21, 8, 30)


def test_a_day_ends_at_the_deadlines_time_of_day():
    """Also on the days of 23 and 25 hours."""
    due = read_deadline("2026-10-24 23:59", VIENNA)
    assert shown(days_after(due, 3, VIENNA), VIENNA) == "2026-10-27 23:59 CET"
    hours = {0: 0, 0.1: 1, 25: 1, 25.1: 2, 49: 2, 49.1: 3}
    assert [started_days(due, due + timedelta(hours=each), VIENNA) for each in hours] == [*hours.values()]
    due = read_deadline("2026-03-28 23:59", VIENNA)
    assert [started_days(due, due + timedelta(hours=each), VIENNA) for each in (23, 23.1)] == [1, 2]


@pytest.mark.parametrize(
    ("policy", "hours", "penalty"),
    [
        ({"percent_per_day": 10, "grace_minutes": 15}, 0.25, None),
        ({"percent_per_day": 10, "grace_minutes": 15}, 0.26, 2),
        ({"percent_per_day": 10}, 30, 4),
        ({"percent_per_day": 10, "cap_percent": 25}, 100, 5),
        ({"percent_per_day": 10, "zero_after_days": 2}, 48, 4),
        ({"percent_per_day": 10, "zero_after_days": 2}, 48.1, 20),
        ({"zero_after_days": 1}, 1, 0),
        ({"function": lambda student, points, seconds: len(student) + points + seconds}, 1, 3623),
        ({}, 1, None),  # nbgrader's own, which takes nothing off
    ],
)
def test_what_a_policy_takes_off(policy, hours, penalty):
    plugin = LatePolicy(config=Config(LatePolicy=policy))
    assert plugin.late_submission_penalty("ada", 20, hours * 3600) == penalty


def test_nbgraders_own_setting_still_holds():
    plugin = LatePolicy(config=Config(LateSubmissionPlugin={"penalty_method": "zero"}))
    assert plugin.late_submission_penalty("ada", 20, 60) == 20


def test_lateness_in_words():
    assert late_sentence(12_030, 1.5, 15) == "3 h 20 min late, 10 %: 1.5 points"
    assert late_sentence(176_400, 1, 3) == "2 d 1 h late, 33.3 %: 1 point"
    assert late_sentence(30, 0.25, 1) == "30 s late, 25 %: 0.25 points"
    assert late_sentence(0, 2, 8) == "handed in late, 25 %: 2 points"  # entered by hand
    assert late_sentence(30, None, 1) == ""


# ---- the commands, in a course that nbgrader grades once -----------------------------------------


def penalties(root: Path) -> dict[str, float | None]:
    with Gradebook(f"sqlite:///{root / 'gradebook.db'}") as gradebook:
        return {
            each.student_id: each.notebooks[0].late_submission_penalty
            for each in gradebook.assignment_submissions("ps1")
        }


@pytest.fixture(scope="module")
def graded(tmp_path_factory) -> Path:
    root = tmp_path_factory.mktemp("graded")
    make_class(root)
    return root


@pytest.fixture
def course(graded, tmp_path) -> Path:
    return shutil.copytree(graded, tmp_path / "course")


@pytest.mark.integration
def test_a_waiting_extension_counts_when_it_is_graded(course):
    assert penalties(course) == {"ada": 1.5, "ben": None, "eve": None, "fay": None}
    with Gradebook(f"sqlite:///{course / 'gradebook.db'}") as gradebook:
        assert gradebook.find_assignment("ps1").duedate == datetime(2026, 12, 1, 22, 59)
        assert gradebook.find_submission("ps1", "fay").duedate == datetime(2026, 12, 3, 11)


@pytest.mark.integration
def test_penalties_follow_dates_and_policy(course):
    """Without grading; a dry run shows the same and changes nothing."""
    graded = {file: file.stat().st_mtime_ns for file in (course / "autograded").rglob("*.ipynb")}
    earlier = ["nbjudge", "due", "ps1", "2026-12-01 20:00"]
    dry = typed(course, *earlier, "--dry-run")
    assert penalties(course)["ben"] is None and dry.endswith("Nothing was changed (--dry-run).")
    assert dry.startswith(typed(course, *earlier).rpartition("ps1 is due")[0])
    assert penalties(course) == {"ada": 1.5, "ben": 1.5, "eve": None, "fay": None}
    said = typed(course, "nbjudge", "due", "ps1", "2026-12-02 12:00")
    assert "6 h 19 min late, 10 %: 1.5 points" in said  # what ada loses no longer
    assert set(penalties(course).values()) == {None}
    typed(course, "nbjudge", "due", "ps1", "2026-11-30 12:00")
    assert penalties(course) == {"ada": 3, "ben": 3, "eve": None, "fay": None}
    config = course / "nbgrader_config.py"
    config.write_text(config.read_text().replace("per_day = 10", "per_day = 20"))
    assert "Late penalties follow the dates as they are now, for: ada, ben." in typed(
        course, "nbjudge", "grade", "ps1"
    )
    assert penalties(course)["ada"] == 6
    config.write_text(config.read_text().replace("c.LatePolicy", "# c.LatePolicy"))
    typed(course, "nbjudge", "due", "ps1")
    assert set(penalties(course).values()) == {None}
    typed(course, "nbjudge", "due", "ps1", "--remove")
    with Gradebook(f"sqlite:///{course / 'gradebook.db'}") as gradebook:
        assert gradebook.find_submission("ps1", "fay").extension is None
    assert graded == {file: file.stat().st_mtime_ns for file in (course / "autograded").rglob("*.ipynb")}


@pytest.mark.integration
def test_an_extension_is_replaced_and_taken_back(course):
    """An absolute one stays where it is when the deadline moves; days move with it."""
    assert (
        "before"
        not in typed(course, "nbjudge", "extend", "ada", "ps1", "--days", "3", "--dry-run").partition("ada:")[
            2
        ]
    )
    assert penalties(course)["ada"] == 1.5
    typed(course, "nbjudge", "extend", "ada", "ps1", "--days", "3")
    assert penalties(course)["ada"] is None
    typed(course, "nbjudge", "due", "ps1", "2026-11-27 12:00")
    with Gradebook(f"sqlite:///{course / 'gradebook.db'}") as gradebook:
        assert gradebook.find_submission("ps1", "ada").duedate == datetime(2026, 11, 30, 11)
        assert gradebook.find_submission("ps1", "fay").duedate == datetime(2026, 12, 3, 11)
    typed(course, "nbjudge", "extend", "ada", "ps1", "--remove")
    assert penalties(course) == {"ada": 7.5, "ben": 7.5, "eve": None, "fay": None}
    for line, words in (
        ("nbjudge extend adda ps1 --days 1", "There is no student 'adda'. Did you mean ada?"),
        ("nbjudge extend ada ps1", "Give one of --until DATE, --days NUMBER and --remove."),
        ("nbjudge extend ada ps1 --until 2026-11-01T10:00", "an extension ends after that"),
        ("nbjudge extend ada ps9 --days 1", "There is no assignment 'ps9'"),
    ):
        assert words in typed(course, *line.split(), status=1)


@pytest.mark.integration
def test_times_come_from_a_platforms_table(course):
    """Those that it names; who is not in the table, or not in the class, is named."""
    rows = [["Full name", "Email address", "Last modified (submission)"]]
    rows += [["Eve Moneypenny", "EVE@x.org", "Thursday, 3 December 2026, 12:30 AM"]]
    rows += [["A stranger", "none@x.org", "Thursday, 3 December 2026, 12:30 AM"], ["Gil", "gil@x.org", "-"]]
    with (course / "worksheet.csv").open("w", encoding="utf-8-sig", newline="") as file:
        csv.writer(file).writerows(rows)
    typed(course, "nbgrader", "db", "student", "add", "eve", "--email=eve@x.org")
    line = ["nbjudge", "due", "ps1", "--received", "worksheet.csv"]
    assert penalties(course)["eve"] is None
    said = typed(course, *line, "--dry-run")
    assert "1 d 31 min late, 20 %: 3 points" in said
    assert not (course / "submitted/eve/ps1/timestamp.txt").exists()
    assert "1 of 4 submissions get their time from worksheet.csv. 3 keep the time that they have." in said
    assert "no student of the gradebook: none@x.org." in typed(course, *line)
    assert penalties(course) == {"ada": 1.5, "ben": None, "eve": 3, "fay": None}
    assert (course / "submitted/eve/ps1/timestamp.txt").read_text() == "2026-12-02 23:30:00 UTC\n"
    # A table that was wrong is corrected by the right one.
    (course / "worksheet.csv").write_text("student;received\neve;2026-12-02 08:00\nben;2026-12-01 21:00\n")
    said = typed(course, *line, "--dry-run")
    assert "eve 2026-12-03 00:30 CET 2026-12-02 08:00 CET" in said and penalties(course)["eve"] == 3
    assert "1 of 4 submissions get their time from worksheet.csv. 3 keep" in typed(course, *line)
    assert penalties(course) == {"ada": 1.5, "ben": None, "eve": 1.5, "fay": None}
    assert (course / "submitted/eve/ps1/timestamp.txt").read_text() == "2026-12-02 07:00:00 UTC\n"
    (course / "worksheet.csv").write_text("student;time\neve;2026-12-01\n")
    assert "has no column for received: name it with c.Course.roster_columns" in typed(
        course, *line, status=1
    )


@pytest.mark.integration
def test_a_row_is_found_by_any_of_its_columns(course):
    """A folder may have the name that the platform gives; a row that fits two is named, and not used."""
    for old, new in (("eve", "Eve Moneypenny"), ("ben", "Ben Li"), ("ada", "ada@x.org")):
        typed(course, "nbjudge", "student", "rename", old, new)
    names = {"eve": ("Eve", "Moneypenny"), "b1": ("Ben", "Li")}
    for student, (first, last) in names.items():
        fields = [f"--first-name={first}", f"--last-name={last}", f"--email={student}@x.org"]
        typed(course, "nbgrader", "db", "student", "add", student, *fields)
    rows = ["eve@x.org,2026-12-02 08:00", "b1@x.org,2026-12-02 08:00", "ADA@x.org,2026-12-02 08:00"]
    (course / "times.csv").write_text("\n".join(["email,received", *rows]))
    line = ["nbjudge", "due", "ps1", "--received", "times.csv", "--dry-run"]
    assert "3 of 4 submissions get their time" in typed(course, *line)
    (course / "submitted/LI  ben/ps1").mkdir(parents=True)
    said = typed(course, *line)
    assert "2 of 5 submissions get their time" in said
    assert "more than one student: b1@x.org (Ben Li, LI ben)." in said
    (course / "times.csv").write_text("\n".join(["email,received", rows[0], "b1@x.org,soon"]))
    (course / "submitted/LI  ben/ps1").rmdir()
    assert "times.csv, line 3 (b1@x.org): 'soon' is no date and time" in typed(course, *line, status=1)


@pytest.mark.integration
def test_page_and_report_say_how_late(course):
    typed(course, "nbgrader", "generate_feedback", "ps1")
    sentence = "2 h 20 min late, 10 %: 1.5 points"
    assert f"{sentence}, taken off the sum." in (course / "feedback/ada/ps1/week.html").read_text()
    typed(course, "nbjudge", "report", "ps1")
    with (course / "reports/ps1/students.csv").open(encoding="utf-8-sig") as file:
        late = {row["student"]: row["late"] for row in csv.DictReader(file)}
    assert late == {"ada": sentence, "ben": "", "eve": "", "fay": ""}
    assert sentence in (course / "reports/ps1/index.html").read_text()
    assert "Traceback" not in typed(course, "nbjudge", "due", "ps1", "2026-12-02 12:00")
    assert "older than their grades" in typed(course, "nbjudge", "grade", "ps1")


def mark(root: Path, student: str, points: float) -> None:
    """Give points by hand, as the formgrader does."""
    with Gradebook(f"sqlite:///{root / 'gradebook.db'}") as gradebook:
        gradebook.find_grade("t", "week", "ps1", student).manual_score = points
        gradebook.db.commit()


@pytest.mark.integration
def test_penalties_follow_marks_wherever_scores_leave(course):
    """A percentage of the points that there are now; a dry run writes none of it."""
    typed(course, "nbgrader", "db", "student", "add", "ada", "--email=ada@x.org")
    typed(course, "nbgrader", "generate_feedback", "ps1")
    mark(course, "ada", 10)
    for line in (["--mail-merge", "--dry-run"], ["--mail-merge"]):
        assert penalties(course)["ada"] == 1.5
        assert "the pages of ada are older" in typed(course, "nbjudge", "return", "ps1", *line, status=1)
    assert penalties(course)["ada"] == 1
    typed(course, "nbgrader", "generate_feedback", "ps1")
    mark(course, "ada", 8)
    typed(course, "nbgrader", "generate_feedback", "ps1")
    assert "10 %: 0.8 points, taken off" in (course / "feedback/ada/ps1/week.html").read_text()
    typed(course, "nbjudge", "return", "ps1", "--mail-merge")
    mail = zipfile.ZipFile(course / "returned/ps1-mail-merge.zip").read("mail.csv").decode("utf-8-sig")
    assert '"ada@x.org","","",7.2,15' in mail
    mark(course, "ada", 6)
    exporter = "nbjudge.exports.learning_platform.PlatformExporter"
    typed(course, "nbgrader", "export", f"--exporter={exporter}", "--to", "scores.csv")
    assert '"ada","","","ada@x.org",5.4' in (course / "scores.csv").read_text(encoding="utf-8-sig")
    typed(course, "nbgrader", "generate_feedback", "ps1")
    config = course / "nbgrader_config.py"
    config.write_text(config.read_text().replace("per_day = 10", "per_day = 20"))
    said = typed(course, "nbjudge", "return", "ps1", "--folders", "--dry-run", status=1)
    assert "the pages of ada are older" in said and round(penalties(course)["ada"], 6) == 0.6
    mark(course, "ada", 5)
    typed(course, "nbjudge", "report", "ps1")
    assert '"ada","","graded",4.0,' in (course / "reports/ps1/students.csv").read_text(encoding="utf-8-sig")
