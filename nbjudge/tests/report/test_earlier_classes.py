"""A class beside earlier ones: what differs by more than chance, and what is no report at all."""

import json
from pathlib import Path

import pytest
from tiny_course import FOLDER

from nbjudge.errors import CourseError
from nbjudge.report.earlier_classes import (
    changes_in_words,
    compared,
    difference_of_shares,
    read_earlier,
)
from nbjudge.report.tables import discrimination

pytestmark = pytest.mark.integration

NOTHING: dict = {"exercises": [], "groups": [], "mistakes": []}


def report_of(folder: Path, full: int, of: int, mistakes: dict[str, int], day: str = "2025-11-20") -> Path:
    """The report.json of a class of which so many solved `double`, and made these mistakes in it."""
    tables = {
        "exercises": [
            {"exercise": "double", "full": full, "part": 0, "none": of - full},
            {"exercise": "why", "full": 0, "part": 0, "none": 0},  # still to be marked
        ],
        "groups": [{"exercise": "double", "group": "tapir vectors", "agree": full, "of": of}],
        "mistakes": [
            {"exercise": "double", "mistake": name, "students": count, "of": of}
            for name, count in mistakes.items()
        ],
    }
    path = folder / f"{day}.json"
    path.write_text(json.dumps({"assignment": FOLDER, "made": f"{day}T10:00", "tables": tables}))
    return path


def tables_in(path: Path) -> dict:
    return json.loads(path.read_text())["tables"]


@pytest.mark.parametrize(
    ("now", "of", "then", "of_then", "difference", "low", "high"),
    [
        # Newcombe (1998), table II, method 10
        (56, 70, 48, 80, 0.2000, 0.0524, 0.3339),
        (6, 7, 2, 7, 0.5714, 0.0582, 0.8062),
        (5, 56, 0, 29, 0.0893, -0.0381, 0.1926),
        (10, 10, 0, 10, 1.0000, 0.6075, 1.0000),
    ],
)
def test_the_interval_is_the_published_one(now, of, then, of_then, difference, low, high):
    found = difference_of_shares(now, of, then, of_then)
    assert found == pytest.approx((difference, low, high), abs=5e-5)


def test_what_changed_by_more_than_chance_is_said(tmp_path):
    then = report_of(tmp_path, 30, 40, {"unchanged": 20, "halved": 6, "squared": 5})
    now = report_of(tmp_path, 15, 40, {"unchanged": 4, "halved": 7, "tripled": 12}, "2026-11-20")
    earlier = [
        read_earlier(path, FOLDER) for path in (then, now, report_of(tmp_path, 1, 40, {}, "2024-11-20"))
    ]
    table = compared(tables_in(now), earlier)
    rows = [row for row in table.rows if row["then"] == "2025-11-20"]
    verdicts = {(row["what"], row["name"]): row["verdict"] for row in rows}
    assert verdicts == {
        ("all points", ""): "harder",
        ("case group", "tapir vectors"): "harder",
        ("mistake", "unchanged"): "less often",
        ("mistake", "halved"): "as before",
        ("mistake", "tripled"): "more often",
        ("mistake", "squared"): "less often",
    }
    first, same, third = changes_in_words(table)
    assert same == "Against the class of 2026-11-20, nothing differs by more than chance may do."
    assert third.startswith("Against the class of 2024-11-20: easier now `double`")
    assert first == (
        "Against the class of 2025-11-20: harder now `double` (15 of 40, then 30 of 40); mistakes made more "
        "often `tripled` (12 of 40, then 0 of 40); mistakes made less often `unchanged` (4 of 40, then 20 of "
        "40), `squared` (0 of 40, then 5 of 40)."
    )


def test_a_report_says_everywhere_what_changed(graded_class, report, tmp_path):
    earlier = report_of(tmp_path, 40, 40, {"unchanged": 0})
    result = report(graded_class, FOLDER, "--output", tmp_path / "out", "--compare", earlier)
    assert result.exit_code == 0, result.output
    assert "Against the class of 2025-11-20: harder now double (1 of 6, then 40 of 40)" in result.output
    assert "mistakes made more often unchanged (3 of 5, then 0 of 40)" in result.output
    page = (tmp_path / "out/index.html").read_text()
    assert '<section id="compared">' in page and "40 of 40" in page
    header = (tmp_path / "out/compared.csv").read_text("utf-8-sig").splitlines()[0]
    assert header.startswith('"then","what","exercise","name"')
    rows = json.loads((tmp_path / "out/report.json").read_text())["tables"]["compared"]
    assert {row["exercise"] for row in rows} == {"double"}  # the others were not asked then


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (None, "No such file or directory. Name a report.json"),
        ("no json", "is no report of a class"),
        ("[1]", "is no report of a class"),
        ('{"made": "2025", "tables": {"exercises": [{}]}}', "is no report of a class"),
        (json.dumps({"assignment": "02_other", "made": "2025", "tables": NOTHING}), "reports on '02_other'"),
    ],
)
def test_what_is_no_report_of_this_lesson_is_refused(tmp_path, content, message):
    path = tmp_path / "report.json"
    if content is not None:
        path.write_text(content)
    with pytest.raises(CourseError, match=message) as refused:
        read_earlier(path, FOLDER)
    assert str(path) in str(refused.value)


def test_discrimination_is_the_point_biserial():
    rest = [1, 2, 3, 4, 5, 6, 7, 8, 9, 10]
    agree = [False] * 5 + [True] * 5
    # (mean of those who agree - mean of the others) / standard deviation · √(p q), by hand
    by_hand = (8 - 3) / (33 / 4) ** 0.5 * (1 / 4) ** 0.5
    assert discrimination(agree, rest) == pytest.approx(by_hand)
    assert discrimination(agree[::-1], rest) == pytest.approx(-by_hand)
    assert discrimination([True] * 10, rest) is None
    assert discrimination(agree, [3.0] * 10) is None
    assert discrimination(agree[:9], rest[:9]) is None
