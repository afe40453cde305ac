"""Gradebooks for Canvas and Moodle: the columns they document, and cells that do nothing in a spreadsheet."""

import csv
import datetime
import io

import pytest
from nbgrader.api import Gradebook
from nbgrader.apps.exportapp import ExportApp
from traitlets.config import Config

from nbjudge.exports.canvas import CanvasExporter
from nbjudge.exports.learning_platform import PlatformExporter
from nbjudge.exports.moodle import MoodleExporter

# nbgrader's gradebook links a submission before it adds it.
pytestmark = [
    pytest.mark.integration,
    pytest.mark.filterwarnings("ignore:Object of type <Submitted:sqlalchemy.exc.SAWarning"),
]

STUDENTS = {
    "ada": ("Ada", 'Love"lace, Countess', "ada@x.org", "101"),
    "bob": ("=HYPERLINK(1)", "@SUM(1+1)", "bob@x.org", "102"),
    "cid": (None, None, "cid@x.org", "7cid"),
    "-dee": ("Dee\r\nZeta", " +1", "dee+1@x.org", None),
}
FIELDS = ("first_name", "last_name", "email", "lms_user_id")


@pytest.fixture(scope="module")
def database(tmp_path_factory):
    """Two lessons: ada handed in both (one late), bob one that waits to be marked, cid and dee nothing."""
    url = f"sqlite:///{tmp_path_factory.mktemp('class') / 'gradebook.db'}"
    with Gradebook(url) as gradebook:
        for name, fields in STUDENTS.items():
            gradebook.add_student(name, **dict(zip(FIELDS, fields, strict=True)))
        for assignment in ("one", "two"):
            gradebook.add_assignment(assignment, duedate=datetime.datetime(2026, 1, 1))
            gradebook.add_notebook("nb", assignment)
            gradebook.add_grade_cell("code", "nb", assignment, max_score=10, cell_type="code")
            gradebook.add_solution_cell("words", "nb", assignment)
        for assignment, student in (("one", "ada"), ("two", "ada"), ("one", "bob")):
            gradebook.add_submission(assignment, student)
        gradebook.find_grade("code", "nb", "one", "ada").manual_score = 8.125
        gradebook.find_grade("code", "nb", "two", "ada").auto_score = 1
        gradebook.find_submission_notebook("nb", "two", "ada").late_submission_penalty = 3
        gradebook.find_comment("words", "nb", "one", "ada").manual_comment = "=well done\nall of it"
        for assignment in ("one", "two"):
            gradebook.find_grade("code", "nb", assignment, "ada").needs_manual_grade = False
        waiting = gradebook.find_grade("code", "nb", "one", "bob")
        waiting.auto_score, waiting.needs_manual_grade = 5, True
        gradebook.db.commit()
    return url


@pytest.fixture
def export(database, tmp_path):
    """Runs an exporter as `nbgrader export` does; returns the rows of its file."""

    def run(exporter, **options):
        file = tmp_path / "grades.csv"
        config = Config({exporter.__name__: options, "ExportPlugin": {"to": str(file)}})
        with Gradebook(database) as gradebook:
            exporter(config=config).export(gradebook)
        return list(csv.reader(io.StringIO(file.read_bytes().decode("utf-8-sig"), newline=""), strict=True))

    return run


def test_canvas_gets_its_columns_and_finished_grades(export):
    head, possible, *rows = export(CanvasExporter, columns={"one": "Dot products (1234)"}, section="A")
    assert head == ["Student", "ID", "SIS User ID", "SIS Login ID", "Section", "Dot products (1234)", "two"]
    assert possible == ["Points Possible", "", "", "", "", "10", "10"]
    by_login = {row[3]: row for row in rows}
    # Rounded as Canvas does, the late penalty taken off, never below 0.
    assert by_login["ada"] == ['Love"lace, Countess, Ada', "101", "", "ada", "A", "8.12", "0"]
    assert by_login["bob"][5:] == ["", ""]
    assert by_login["cid"][5:] == ["", ""]


def test_canvas_takes_no_id_for_another_students(export):
    rows = export(CanvasExporter)
    assert {row[3]: row[1] for row in rows[2:]} == {"ada": "101", "bob": "102", "cid": "", "-dee": ""}
    rows = export(CanvasExporter, sis_user_id="email", sis_login_id="lms_user_id", canvas_id="")
    assert ['Love"lace, Countess, Ada', "", "ada@x.org", "101"] in [row[:4] for row in rows]
    rows = export(CanvasExporter, student=["bob", "ada"], assignment=["two"])
    assert {row[3] for row in rows[2:]} == {"ada", "bob"} and rows[0][5:] == ["two"]


def test_canvas_warns_of_what_it_would_confuse(tmp_path, caplog):
    """Blanks around a number of Canvas's are cut; namesakes and headings that it skips are warned of."""
    config = Config({"ExportPlugin": {"to": str(tmp_path / "grades.csv")}})
    config.CanvasExporter.columns = {"one": "Final Grade Project (12)", "two": "Final project (13)"}
    with Gradebook(f"sqlite:///{tmp_path / 'gradebook.db'}") as gradebook:
        for student, number in (("a", " 101\t"), ("b", None), ("c", None)):
            gradebook.add_student(student, first_name="Ada", last_name="L", lms_user_id=number)
        for assignment in ("one", "two"):
            gradebook.add_assignment(assignment)
        CanvasExporter(config=config).export(gradebook)
    rows = list(csv.reader((tmp_path / "grades.csv").read_text().splitlines()))
    assert [row[1] for row in rows[2:]] == ["101", "", ""]
    heading, namesakes = (record.getMessage() for record in caplog.records if record.levelname == "WARNING")
    assert "'Final Grade Project (12)'" in heading and "CanvasExporter.columns" in heading
    assert namesakes.startswith("L, Ada: two students have this name")


def test_moodle_finds_students_and_reads_a_dash(export):
    head, *rows = export(MoodleExporter, columns={"one": "Assignment: Dot products"})
    assert head == ["Email address", "First name", "Last name", "Assignment: Dot products", "two"]
    others = ("bob@x.org", "cid@x.org", "dee+1@x.org")
    assert {row[0]: row[3:] for row in rows} == {"ada@x.org": ["8.12", "0"]} | dict.fromkeys(
        others, ["-", "-"]
    )
    head, *rows = export(MoodleExporter, identify_by="username")
    assert head[0] == "Username" and {row[0] for row in rows} == set(STUDENTS)
    assert export(MoodleExporter, identify_by="idnumber", student_field="id")[0][0] == "ID number"
    head, *rows = export(MoodleExporter, comments=True)
    assert head[3:] == ["one", "one (feedback)", "two", "two (feedback)"]
    assert ["8.12", "'=well done all of it", "0", ""] in [row[3:] for row in rows if row[0] == "ada@x.org"]


@pytest.mark.parametrize("exporter", [CanvasExporter, MoodleExporter])
def test_missing_and_unmarked_work_as_asked_for(exporter, export):
    """What was not handed in is 0, and what is not marked has its points, only if a course asks for it."""
    done = {tuple(row[-2:]) for row in export(exporter, missing="zero")}
    assert ("0", "0") in done  # nothing handed in
    bobs = [row for row in export(exporter, with_unmarked=True) if "bob" in "".join(row)]
    assert [row[-2] for row in bobs] == ["5"]
    bobs = [row for row in export(exporter, missing="zero") if "bob" in "".join(row)]
    assert [row[-2:] for row in bobs] == [[exporter.no_score, "0"]]


@pytest.mark.parametrize("exporter", [CanvasExporter, MoodleExporter])
def test_no_cell_is_a_formula_and_a_row_is_a_line(exporter, export, tmp_path):
    rows = export(exporter, comments=True) if exporter is MoodleExporter else export(exporter)
    assert len({len(row) for row in rows}) == 1
    assert len((tmp_path / "grades.csv").read_text().splitlines()) == len(rows)
    begun = {cell for row in rows for cell in row if cell[:1] in tuple("=+-@\t\r")}
    assert begun <= {"-", "-dee"}  # Moodle's sign for no grade; an id in which nothing can be called
    assert any(cell.startswith("'@SUM") or cell.startswith("'=HYPERLINK") for row in rows for cell in row)


def test_a_spreadsheet_gets_the_courses_format(export, database, tmp_path):
    """A platform gets a comma and a point whatever the course sets."""
    head, *rows = export(PlatformExporter)
    assert head == ["Student", "Last name", "First name", "Email address", "one", "two"]
    assert {row[0]: row[4:] for row in rows}["ada"] == ["8.12", "0"]
    european = ["--CsvFiles.separator=semicolon", "--CsvFiles.decimal=comma"]
    texts = []
    for exporter in (PlatformExporter, CanvasExporter, MoodleExporter):
        file, app = tmp_path / f"{exporter.__name__}.csv", ExportApp()
        name = f"{exporter.__module__}.{exporter.__name__}"
        app.initialize([f"--db={database}", f"--exporter={name}", f"--to={file}", *european])
        app.start()
        texts.append(file.read_bytes().decode())
    for text in texts[1:]:
        assert "8.12" in text and ";" not in text and not text.startswith("\ufeff")
    lines = texts[0].removeprefix("\ufeff").splitlines()
    assert lines[0] == '"Student";"Last name";"First name";"Email address";"one";"two"'
    assert '"ada";"Love""lace, Countess";"Ada";"ada@x.org";8,12;0' in lines


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        ({"student": ["eve"]}, "the gradebook has no student 'eve'"),
        ({"assignment": ["three"]}, "the gradebook has no assignment 'three'"),
        ({"to": "/nowhere/at/all.csv"}, "/nowhere/at/all.csv cannot be written"),
        ({"missing": "none"}, "c.MoodleExporter.missing is 'none', and must be one of 'empty', 'zero'."),
        ({"columns": {"on": "One"}}, "which c.MoodleExporter.columns names. Did you mean one?"),
        ({"student_field": "lms_user_id"}, "student '-dee' has no lms_user_id"),
    ],
)
def test_bad_input_gets_one_sentence_and_no_file(export, tmp_path, options, reason):
    with pytest.raises(SystemExit) as stopped:
        export(MoodleExporter, **options)
    assert reason in str(stopped.value) and "\n" not in str(stopped.value)
    assert not list(tmp_path.glob("grades.csv*"))
