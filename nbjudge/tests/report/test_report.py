"""`nbjudge report` says what gradebook and graded notebooks hold, and names no one to the class."""

import csv
import json
import shutil
from pathlib import Path

import nbformat
import pytest
from bs4 import BeautifulSoup
from reported_class import ABSENT, BROKEN, COMMA, FORMULA, LATE, MARKUP, RENAMED, TAG, UNGRADED, opened
from tiny_course import FOLDER, NAME

from nbjudge.errors import CourseError
from nbjudge.grading.prepare import SOLUTIONS_FILE

pytestmark = pytest.mark.integration


TABLES = ["exercises", "groups", "mistakes", "other_findings", "failures", "to_mark", "not_graded", "remarks"]


@pytest.fixture
def written(graded_class, report, tmp_path):
    """A report of the class: its folder, and its JSON."""
    assert report(graded_class, FOLDER, "--output", tmp_path / "out").exit_code == 0
    return tmp_path / "out", json.loads((tmp_path / "out" / "report.json").read_text())


def rows(folder: Path, table: str) -> list[dict[str, str]]:
    with (folder / f"{table}.csv").open(encoding="utf-8-sig", newline="") as file:
        return list(csv.DictReader(file))


def notebook_of(root: Path, student: str) -> Path:
    return root / "autograded" / student / FOLDER / f"{NAME}.ipynb"


def test_tables_count_each_student_once(written):
    """The first sentence says it all; it is listed who failed, and who waits."""
    _, report_data = written
    # ada 4.5, beryl 4 - 1, three without `double`'s 2 (of these one without `row_sums`' 2), edith 0
    assert report_data["summary"][0] == (
        "7 handed in, 1 failed to run, median 3 of 5 points; what the class misunderstood most: "
        "3 of 5 made the mistake `unchanged` in `double`."
    )
    assert "1 submission has no grade yet." in report_data["summary"]
    assert "1 of the 8 students on the list handed in nothing." in report_data["summary"]
    tables = report_data["tables"]
    exercises = {row["exercise"]: (row["full"], row["part"], row["none"]) for row in tables["exercises"]}
    assert exercises == {"double": (1, 1, 4), "row_sums": (4, 0, 2), "biggest": (3, 0, 2)}
    groups = {(row["exercise"], row["group"]): (row["agree"], row["of"]) for row in tables["groups"]}
    assert groups["double", "tapir vectors"] == (2, 5)  # of those that could be run
    assert groups["row_sums", "tapir tables"] == (4, 5)
    (mistake,) = tables["mistakes"]
    assert (mistake["mistake"], mistake["students"], mistake["of"]) == ("unchanged", 3, 5)
    assert sorted(mistake["who"]) == sorted([TAG, FORMULA, COMMA])
    others = {row["sentence"]: row["who"] for row in tables["other_findings"]}
    assert others["`row_sums` is not written yet."] == [TAG]
    failures = {row["who"][0]: (row["what"], row["why"]) for row in tables["failures"]}
    assert set(failures) == {LATE, BROKEN}
    assert failures[LATE] == ("stops with BerylsError", "Beryl was here <b>")
    assert failures[BROKEN][0] == "could not be run" and "breaks off" in failures[BROKEN][1]
    assert tables["to_mark"] == [{"question": "biggest", "answers": 1, "who": ["ada"]}]
    assert tables["not_graded"] == [{"who": [UNGRADED], "why": "it has not been graded yet"}]
    states = {row["student"]: row["state"] for row in tables["students"]}
    assert states[ABSENT] == "not handed in" and states[UNGRADED] == "not graded"
    seconds = {row["student"]: row["seconds"] for row in tables["students"]}
    assert seconds["ada"] > 0 and seconds[BROKEN] is None


def test_points_are_those_that_nbgrader_exports(graded_class, written):
    folder, _ = written
    with opened(graded_class) as gradebook:
        submissions = gradebook.assignment_submissions(FOLDER)
        exported = {
            each.student.id: max(0.0, each.score - each.late_submission_penalty) for each in submissions
        }
    found = {row["student"].removeprefix("'"): row["points"] for row in rows(folder, "students")}
    assert {student: float(points) for student, points in found.items() if points} == exported
    assert {student for student, points in found.items() if not points} == {ABSENT, UNGRADED}


def test_remarks_are_in_page_table_and_json(written):
    folder, report_data = written
    remarks = {row["who"][0]: row["remark"] for row in report_data["tables"]["remarks"]}
    assert set(remarks) == {FORMULA, COMMA}  # and no one else
    assert all(f"handed in as {RENAMED!r}" in remark for remark in remarks.values())
    assert [row["remark"] for row in rows(folder, "remarks")] == [
        row["remark"] for row in report_data["tables"]["remarks"]
    ]
    page = (folder / "index.html").read_text(encoding="utf-8")
    assert "Remarks on submissions" in page and "Chloë &lt;b&gt;2.ipynb" in page and RENAMED not in page


def test_what_is_wrong_with_the_assignment_is_a_remark(class_copy, report, tmp_path):
    """What its solution lost when the class was graded; the course chooses separator and decimal sign."""
    sentence = "The notebook “tiny”: the test in cell 5 returns 3."
    (class_copy / SOLUTIONS_FILE).write_text(json.dumps({f"{FOLDER}/tiny": ["digest", sentence]}))
    with (class_copy / "nbgrader_config.py").open("a") as config:
        config.write("\nc.CsvFiles.separator = 'semicolon'\nc.CsvFiles.decimal = 'comma'\n")
    assert report(class_copy, FOLDER, "--output", tmp_path / "out").exit_code == 0
    lines = (tmp_path / "out" / "students.csv").read_text(encoding="utf-8-sig").splitlines()
    assert lines[0].startswith('"student";"name";') and any(";4,5;" in line for line in lines)
    assert (tmp_path / "out" / "remarks.csv").read_text("utf-8-sig").splitlines()[1] == f'"";"{sentence}"'
    page = (tmp_path / "out" / "index.html").read_text(encoding="utf-8")
    assert "(the assignment)" in page and "returns 3." in page


def test_a_spreadsheet_takes_no_field_for_a_formula(written):
    folder, report_data = written
    for table in report_data["tables"]:
        raw = (folder / f"{table}.csv").read_text(encoding="utf-8-sig")
        assert not [line for line in raw.splitlines() if line.startswith(('"=', "="))]
    students = [row["student"] for row in rows(folder, "students")]
    assert f"'{FORMULA}" in students and COMMA in students
    assert FORMULA in [row["student"] for row in report_data["tables"]["students"]]
    assert next(row["name"] for row in rows(folder, "students") if row["student"] == TAG) == f"Dora {MARKUP}"


def test_names_and_messages_become_no_markup(written):
    folder, report_data = written
    page = BeautifulSoup((folder / "index.html").read_text(), "html.parser", multi_valued_attributes=None)
    assert len(page("script")) == 1 and page("b") == []
    assert [each.attrs for each in page(["img", "image", "style"])] == [{}] and page("foreignobject") == []
    assert not [name for each in page(True) for name in each.attrs if name.startswith("on")]
    # The page's policy lets nothing but its own style sheet dress it.
    assert page(style=True) == []
    links = [link["href"] for link in page(["a", "link"])]
    files = {path.name for path in folder.iterdir()}
    assert all(link.startswith("#") or link == "data:," or link in files for link in links)
    assert files == {"index.html", "report.json", "students.csv", *(f"{name}.csv" for name in TABLES)}


def test_pictures_have_words_and_no_id_is_there_twice(written):
    folder, _ = written
    page = BeautifulSoup((folder / "index.html").read_text(), "html.parser", multi_valued_attributes=None)
    ids = [each["id"] for each in page(id=True)]
    assert len(ids) == len(set(ids))
    pictures = page("svg")
    named = [picture for picture in pictures if picture.get("role") == "img"]
    assert all(picture.get("aria-hidden") == "true" for picture in pictures if picture not in named)
    assert all(each.get("aria-label") or each["aria-labelledby"] in ids for each in named)
    # A histogram; a bar in the row of each exercise, mistake and group.
    described = [each["aria-describedby"] for each in named if "aria-describedby" in each.attrs]
    assert described == ["points-picture-description"]
    assert "all points 1, some 1, none 4" in [each.get("aria-label") for each in named]
    assert "3 of 5 students" in [each.get("aria-label") for each in named]
    assert {table["aria-labelledby"] for table in page("table") if "aria-label" not in table.attrs} <= set(
        ids
    )


def test_a_report_to_be_shown_names_no_one(graded_class, report, tmp_path):
    out = tmp_path / "out"
    assert report(graded_class, FOLDER, "--anonymous", "--output", out).exit_code == 0
    text = "\n".join(path.read_text(encoding="utf-8") for path in out.iterdir())
    assert not (out / "remarks.csv").exists() and "Remarks on submissions" not in text
    assert not (out / "students.csv").exists()
    for told in ("ada", LATE, "Beryl", "Chlo", "HYPERLINK", "dora", BROKEN, ABSENT, UNGRADED, "img src=x"):
        assert told not in text
    assert "3 of 5 made the mistake `unchanged`" in text
    failures = {row["what"]: row["times"] for row in rows(out, "failures")}
    assert failures == {"could not be run": "1", "stops with an error of their own": "1"}


def test_an_anonymous_report_is_kept_apart(class_copy, report):
    assert report(class_copy, FOLDER).exit_code == 0
    assert report(class_copy, FOLDER, "--anonymous").exit_code == 0
    reports = class_copy / "reports"
    assert (reports / FOLDER / "students.csv").exists() and (reports / f"{FOLDER}-anonymous").exists()
    refused = report(class_copy, FOLDER, "--anonymous", "--output", reports / FOLDER)
    assert isinstance(refused.exception, CourseError) and "students.csv" in str(refused.exception)


def test_what_was_left_unfinished_is_not_graded(class_copy, report):
    path = notebook_of(class_copy, "ada")
    notebook = json.loads(path.read_text())
    notebook["metadata"]["nbjudge"]["status"] = "unfinished"
    path.chmod(0o644)
    path.write_text(json.dumps(notebook))
    assert report(class_copy, FOLDER).exit_code == 0
    report_data = json.loads((class_copy / "reports" / FOLDER / "report.json").read_text())
    why = "its grading was ended on the way"
    assert report_data["tables"]["not_graded"][0] == {"who": ["ada"], "why": why}
    assert report_data["counts"]["graded"] == 5


RUBBISH = [
    {"metadata": {"nbjudge": 7}, "cells": [3, {"outputs": 4, "metadata": None}]},
    {"metadata": {"nbjudge": {"seconds": "x", "reason": ["\ud800"]}}, "cells": []},
    {
        "metadata": {"nbjudge": {"seconds": 1e999}},
        "cells": [
            {
                "cell_type": "code",
                "id": "own-\x1b[31m",
                "metadata": {
                    "nbgrader": {"grade": True, "grade_id": "test_double"},
                    "nbjudge": {"verdict": {"exercise": "e", "groups": [{}], "findings": None}},
                },
                "outputs": [
                    {"output_type": "error", "ename": "died", "evalue": ["\x1b[31m" * 999]},
                    {"metadata": {"nbjudge": 7}, "data": 7},
                ],
            }
        ],
    },
]


@pytest.mark.parametrize("rubbish", [*RUBBISH, None], ids=["types", "surrogates", "outputs", "no notebook"])
def test_another_graders_notebook_may_hold_anything(class_copy, report, rubbish):
    for path in (class_copy / "autograded").glob(f"*/{FOLDER}/{NAME}.ipynb"):
        path.chmod(0o644)
        path.write_text("" if rubbish is None else json.dumps(rubbish))
    assert report(class_copy, FOLDER).exit_code == 0
    report_data = json.loads((class_copy / "reports" / FOLDER / "report.json").read_text())
    # What the gradebook says stays.
    assert report_data["counts"]["graded"] == 6 and report_data["tables"]["mistakes"] == []
    exercises = {row["exercise"] for row in report_data["tables"]["exercises"]}
    assert exercises == {"test_double", "test_row_sums", "test_biggest"}


def test_a_course_without_checks_gets_its_points(class_copy, report):
    for path in (class_copy / "autograded").glob(f"*/{FOLDER}/{NAME}.ipynb"):
        notebook = nbformat.read(path, as_version=4)
        notebook.metadata.pop("nbjudge")
        for cell in notebook.cells:
            cell.metadata.pop("nbjudge", None)
            cell.pop("outputs", None)
        path.chmod(0o644)
        path.write_text(json.dumps(notebook))
    shutil.rmtree(class_copy / "checks")
    ended = report(class_copy, FOLDER)
    assert ended.exit_code == 0 and ended.output.startswith("7 handed in, median 3 of 5 points.\n")


def test_what_is_wrong_is_said_in_one_sentence(class_copy, report, tmp_path):
    (tmp_path / "a file").touch()

    def refusal(*arguments: object) -> str:
        ended = report(class_copy, *arguments)
        assert isinstance(ended.exception, CourseError), ended.exception
        return str(ended.exception)

    assert "There is no assignment '99_none'" in refusal("99_none")
    assert "a file" in refusal(FOLDER, "--output", tmp_path / "a file")
    with opened(class_copy) as book:
        for student in [each.id for each in book.students]:
            book.remove_student(student)
    assert "No submission of 01_tiny has been graded" in refusal(FOLDER)
    gradebook = class_copy / "gradebook.db"
    gradebook.rename(tmp_path / "moved")
    assert f"There is no gradebook {gradebook}" in refusal(FOLDER) and not gradebook.exists()
    gradebook.write_bytes(b"no database" * 100)
    assert "cannot be read (file is not a database)" in refusal(FOLDER)
    config = class_copy / "nbgrader_config.py"
    config.write_text("c.CourseDirectory.db_url = 'nowhere'")
    assert "db_url" in refusal(FOLDER)
    config.write_text("this is no Python")
    assert f"{config} does not load" in refusal(FOLDER)


SORTED = "#students table tbody th"


@pytest.fixture
def shown_page(browser):
    """An empty page of a small window."""
    context = browser.new_context(viewport={"width": 400, "height": 900})
    context.set_default_timeout(60_000)
    yield context.new_page()
    context.close()


@pytest.mark.browser
def test_the_page_is_sorted_and_obeys_no_name(graded_class, report, tmp_path, shown_page):
    axe, page = pytest.importorskip("axe_playwright_python.sync_playwright").Axe(), shown_page
    assert report(graded_class, FOLDER, "--output", tmp_path / "out").exit_code == 0
    requests, complaints = [], []
    page.on("request", lambda request: requests.append(request.url))
    page.on("console", lambda message: complaints.append(message.text))
    page.on("pageerror", lambda error: complaints.append(str(error)))
    address = (tmp_path / "out" / "index.html").as_uri()
    page.goto(address)

    points = page.locator("#students th", has_text="points").first
    names = page.locator(SORTED)
    for pressed, direction, first in (("Enter", "descending", "ada"), ("Space", "ascending", BROKEN)):
        points.get_by_role("button").focus()
        page.keyboard.press(pressed)
        assert points.get_attribute("aria-sort") == direction
        assert names.first.inner_text() == first
    assert page.locator("#students th[aria-sort]").count() == 1
    # Who has no points is last, whichever way.
    assert {names.nth(6).inner_text(), names.nth(7).inner_text()} == {"frances", "grace"}

    assert TAG in page.locator("#mistakes").inner_text()
    assert page.evaluate("window.pwned") is None
    assert complaints == []
    assert {url for url in requests if not url.startswith("data:")} == {address}
    assert page.evaluate("document.documentElement.scrollWidth") <= 400
    for scheme in ("light", "dark"):
        page.emulate_media(color_scheme=scheme)
        found = axe.run(page)
        assert found.violations_count == 0, found.generate_report()


@pytest.mark.browser
@pytest.mark.parametrize("width", [360, 1200])
def test_no_text_of_a_picture_is_on_another(graded_class, report, tmp_path, shown_page, width):
    assert report(graded_class, FOLDER, "--output", tmp_path / "out").exit_code == 0
    shown_page.set_viewport_size({"width": width, "height": 900})
    shown_page.goto((tmp_path / "out" / "index.html").as_uri())
    boxes = shown_page.evaluate(
        "[...document.querySelectorAll('figure text')].map((each) => {"
        " const {left, right, top, bottom} = each.getBoundingClientRect();"
        " return [each.textContent, left, right, top, bottom]; })"
    )
    assert len(boxes) > 10
    assert [text for text, left, right, *_ in boxes if left < 0 or right > width] == []
    assert [
        (text, other)
        for place, (text, left, right, top, bottom) in enumerate(boxes)
        for other, start, end, above, below in boxes[place + 1 :]
        # The boxes of lines are a little higher than their letters.
        if left < end and start < right and top + 3 < below and above + 3 < bottom
    ] == []
