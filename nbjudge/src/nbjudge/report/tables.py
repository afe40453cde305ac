"""The report's tables: plain data, the same for the page, the CSV files and the JSON."""

from __future__ import annotations

import builtins
from collections import Counter, defaultdict
from collections.abc import Sequence
from statistics import StatisticsError, correlation, mean, median

from nbjudge.report.gather import ClassResults, Key
from nbjudge.report.notebooks import IN_WORDS, stops_with
from nbjudge.report.table_type import Row, Table, table_of

WHO = "who"  # the column of student ids; a report that may be shown to the class has none
LEAST_ANONYMOUS = 3  # students who must share a sentence before it is shown without names
PYTHONS_ERRORS = [name for name, value in vars(builtins).items() if isinstance(value, type)]
ABOUT_STUDENTS = ["student", "name", "state", "points", "of", "late penalty"]
ABOUT_STUDENTS += ["seconds", "to mark", "failures"]
NOT_SAID = "(sentences that fewer than three were told: left out of a report without names)"


# By the name of the file. A report without names has empty `students` and `remarks`; `compared` is empty if
# there are no earlier reports.
Tables = dict[str, Table]


def with_columns(tables: Tables) -> Tables:
    """The tables that are not empty."""
    return {name: table for name, table in tables.items() if table.columns}


def tables_of(assignment: ClassResults, anonymous: bool) -> Tables:
    """All tables of an assignment; `anonymous` leaves out who, and what could tell."""
    hide = [WHO] if anonymous else []
    mistakes, others = findings(assignment)
    if anonymous:
        mistakes, others = (_without_own_words(table) for table in (mistakes, others))
    return {
        "exercises": exercises(assignment),
        "groups": groups(assignment),
        "mistakes": mistakes.without(*hide),
        "other_findings": others.without(*hide),
        "failures": failure_kinds(assignment) if anonymous else failures(assignment),
        "to_mark": to_mark(assignment).without(*hide),
        "not_graded": not_graded(assignment).counted("why") if anonymous else not_graded(assignment),
        # A remark quotes names of files, and of other students.
        "remarks": Table() if anonymous else remarks(assignment),
        "students": Table() if anonymous else students(assignment),
        "compared": Table(),
    }


def exercises(assignment: ClassResults) -> Table:
    """Points by exercise, over everybody who is graded."""
    rows = []
    for key, name in assignment.cells.items():
        grades = assignment.grades(key)
        max_points = max(grade.max_points for grade in grades)
        marked = [grade.points for grade in grades if not grade.waits]
        rows.append(
            {
                "exercise": name,
                "points": max_points,
                "mean": mean(marked) if marked else None,
                "median": median(marked) if marked else None,
                "full": sum(points >= max_points for points in marked),
                "part": sum(0 < points < max_points for points in marked),
                "none": sum(points <= 0 < max_points for points in marked),
                "to mark": sum(grade.waits for grade in grades),
            }
        )
    columns = ["exercise", "points", "mean", "median", "full", "part", "none", "to mark"]
    return table_of(columns, rows)


def findings(assignment: ClassResults) -> tuple[Table, Table]:
    """The named mistakes, and what else was found, the most frequent first: how many, and who.

    A student counts once for each, however many groups show it.
    """
    named: dict[tuple[Key, str], list[str]] = defaultdict(list)
    other: dict[tuple[Key, str], list[str]] = defaultdict(list)
    sentences: dict[tuple[Key, str], Counter[str]] = defaultdict(Counter)
    judged = Counter[Key]()
    for submission, key, verdict in assignment.verdicts():
        judged[key] += 1
        if verdict.regrade is not None and verdict.points >= verdict.max_points:
            continue  # an instructor found nothing wrong
        for finding in dict.fromkeys(verdict.findings):
            where = named if finding.mistake else other
            found = (key, finding.mistake or finding.sentence)
            sentences[found][finding.sentence] += 1
            if submission.student not in where[found]:
                where[found].append(submission.student)
    order = {key: place for place, key in enumerate(assignment.cells)}
    rows = {
        kind: [
            {
                "exercise": assignment.cells[key],
                "mistake": name,
                "students": len(who),
                "of": judged[key],
                "sentence": sentences[key, name].most_common(1)[0][0],
                WHO: sorted(who),
            }
            for (key, name), who in sorted(found.items(), key=lambda each: (-len(each[1]), order[each[0][0]]))
        ]
        for kind, found in (("named", named), ("other", other))
    }
    columns = ["exercise", "mistake", "students", "of", "sentence", WHO]
    return table_of(columns, rows["named"]), table_of(columns, rows["other"]).without("mistake")


def failures(assignment: ClassResults) -> Table:
    """What did not run, in the order of the students."""
    rows = [
        {WHO: [each.student], "where": failure.where, "what": failure.what, "why": failure.why}
        for each in assignment.graded
        for failure in dict.fromkeys(each.failures)
    ]
    return table_of([WHO, "where", "what", "why"], rows)


def failure_kinds(assignment: ClassResults) -> Table:
    """What failed, and how often. An error of a student's own making may have any name: it gets none."""
    known_reasons = {*IN_WORDS.values(), *map(stops_with, PYTHONS_ERRORS)}
    own_error = {"what": stops_with("an error of their own")}
    return (
        failures(assignment)
        .map_rows(lambda row: {} if row["what"] in known_reasons else own_error)
        .counted("what")
    )


def to_mark(assignment: ClassResults) -> Table:
    """The questions whose answers wait for a person."""
    waiting: dict[Key, list[str]] = defaultdict(list)
    for each in assignment.graded:
        for key in each.waiting:
            waiting[key].append(each.student)
    rows = [
        {"question": name, "answers": len(waiting[key]), WHO: waiting[key]}
        for key, name in assignment.cells.items()
        if key in waiting
    ]
    return table_of(["question", "answers", WHO], rows)


def not_graded(assignment: ClassResults) -> Table:
    """Handed in, but without a grade."""
    rows = [
        {WHO: [each.student], "why": each.why}
        for each in assignment.submissions
        if each.state == "not graded"
    ]
    return table_of([WHO, "why"], rows)


def remarks(assignment: ClassResults) -> Table:
    """What was unusual about graded submissions: another file's name, or a file left out."""
    rows = [
        {WHO: [each.student], "remark": sentence}
        for each in assignment.graded
        for sentence in dict.fromkeys(notebook.remark for notebook in each.notebooks if notebook.remark)
    ]
    return table_of([WHO, "remark"], rows)


def students(assignment: ClassResults) -> Table:
    """Everybody, with their points by exercise."""
    by_exercise = exercise_columns(assignment)
    rows = []
    for each in assignment.submissions:
        row: Row = {"student": each.student, "name": each.name, "state": each.state}
        if each.state == "graded":
            row |= {"points": each.points, "of": assignment.max_points, "late penalty": each.entry.penalty}
            row |= {"seconds": each.seconds, "to mark": len(each.waiting), "failures": len(each.failures)}
            grades = each.entry.grades
            row |= {name: grades[key].points for key, name in by_exercise.items() if key in grades}
        rows.append(row)
    return table_of([*ABOUT_STUDENTS, *by_exercise.values()], rows)


def exercise_columns(assignment: ClassResults) -> dict[Key, str]:
    """Each exercise's column in the table of students. A cell may have the name of another column."""
    return {
        key: f"{name} (exercise)" if name in ABOUT_STUDENTS else name
        for key, name in assignment.cells.items()
    }


def _without_own_words(table: Table) -> Table:
    """A sentence may quote what a student's code says: without names, only what several were told."""

    def told_to_few(row: Row) -> bool:
        # The sentences of other named mistakes are the course's.
        return row["students"] < LEAST_ANONYMOUS and row.get("mistake", "not_allowed") == "not_allowed"

    if "mistake" in table.columns:
        return table.map_rows(lambda row: {"sentence": NOT_SAID} if told_to_few(row) else {})
    few: dict[str, list[Row]] = defaultdict(list)
    for row in filter(told_to_few, table.rows):
        few[row["exercise"]].append(row)
    rest = [
        {
            "exercise": exercise,
            "students": sum(row["students"] for row in rows),
            "of": max(row["of"] for row in rows),
            "sentence": NOT_SAID,
        }
        for exercise, rows in few.items()
    ]
    return table_of(table.columns, [row for row in table.rows if not told_to_few(row)] + rest)


FEWEST = 10  # students for whom a correlation says anything


def groups(assignment: ClassResults) -> Table:
    """How many agree in each case group, of those whose notebook could be run; and its discrimination."""
    agree: dict[tuple[Key, str], list[bool]] = defaultdict(list)
    rest: dict[tuple[Key, str], list[float]] = defaultdict(list)
    points: dict[tuple[Key, str], float] = {}
    for submission, key, verdict in assignment.verdicts():
        everything = sum(grade.points for grade in submission.entry.grades.values())
        for group in verdict.groups:
            agree[key, group.name].append(group.is_earned)
            rest[key, group.name].append(everything - group.points * group.is_earned)
            points[key, group.name] = group.points
    rows = [
        {
            "exercise": assignment.cells[key],
            "group": group,
            "points": points[key, group],
            "agree": sum(agree[key, group]),
            "of": len(agree[key, group]),
            "share": sum(agree[key, group]) / len(agree[key, group]),
            "discrimination": discrimination(agree[key, group], rest[key, group]),
        }
        for cell in assignment.cells
        for key, group in points
        if key == cell
    ]
    return table_of(["exercise", "group", "points", "agree", "of", "share", "discrimination"], rows)


def discrimination(agree: Sequence[bool], rest: Sequence[float]) -> float | None:
    """Whether those who agree have more points in all the rest: the point-biserial correlation, -1 to 1.

    None if all students or none pass, if all have the same score, and for fewer than ten students. Without
    the group's own points ("corrected item-total"): Henrysson (1963), Psychometrika 28.
    """
    if len(agree) < FEWEST:
        return None
    try:
        return correlation([float(each) for each in agree], rest)
    except StatisticsError:  # one of the two is the same for all
        return None
