"""The report's tables and sentences: plain data, the same for the page, the CSV files and the JSON."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from statistics import StatisticsError, correlation, mean, median, quantiles
from typing import Any

from nbjudge.judge.question_verdict import RIGHT_ANSWER
from nbjudge.judge.verdict import FORBIDDEN, GroupVerdict
from nbjudge.report.gather import ClassResults, Key, stops_with

Row = dict[str, Any]  # a value by column: text, a number, a list of students, or None where there is none


@dataclass(frozen=True)
class Table:
    """Rows that all have a value, or None, for each of the columns, in the columns' order."""

    columns: tuple[str, ...]
    rows: list[Row]

    def without(self, *columns: str) -> Table:
        """The table without some of its columns."""
        return table_of([name for name in self.columns if name not in columns], self.rows)


def table_of(columns: Sequence[str], rows: Sequence[Row]) -> Table:
    """A table of these columns: what else a row has is left out, what it lacks is None."""
    return Table(tuple(columns), [{name: row.get(name) for name in columns} for row in rows])


def counted(column: str, values: Iterable[str]) -> Table:
    """Return how many times each value of a column is there, the most frequent first."""
    times = Counter(values).most_common()
    return Table((column, "times"), [{column: value, "times": count} for value, count in times])


WHO = "who"  # the column of student ids; a report that may be shown to the class has none
LEAST_ANONYMOUS = 3  # students who must share a sentence before it is shown without names
ABOUT_STUDENTS = ["student", "name", "state", "points", "of", "late penalty", "late"]
ABOUT_STUDENTS += ["seconds", "to mark", "failures"]
NOT_SAID = "(sentences that fewer than three were told: left out of a report without names)"

# By the name of the file. A report without names has no `students` and no `remarks`; `compared` is there if
# there are earlier reports.
Tables = dict[str, Table]


def tables_of(assignment: ClassResults, anonymous: bool) -> Tables:
    """All tables of an assignment; `anonymous` leaves out who, and what could tell."""
    mistakes, others = findings(assignment, anonymous)
    tables = {
        "exercises": exercises(assignment),
        "groups": groups(assignment),
        "mistakes": mistakes,
        "other_findings": others,
        "failures": failures(assignment),
        "to_mark": to_mark(assignment),
        "not_graded": not_graded(assignment),
        "remarks": remarks(assignment),
        "students": students(assignment),
    }
    if not anonymous:
        return tables
    # A remark quotes names of files, and of other students.
    del tables["remarks"], tables["students"]
    tables["failures"] = failure_kinds(assignment)
    tables["not_graded"] = counted("why", (row["why"] for row in tables["not_graded"].rows))
    for name in ("mistakes", "other_findings"):
        tables[name] = _without_own_words(tables[name])
    return {name: table.without(WHO) for name, table in tables.items()}


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
                "full": sum(points >= max_points > 0 for points in marked),
                "part": sum(0 < points < max_points for points in marked),
                "none": sum(points <= 0 < max_points for points in marked),
                "to mark": sum(grade.waits for grade in grades),
            }
        )
    columns = ["exercise", "points", "mean", "median", "full", "part", "none", "to mark"]
    return table_of(columns, rows)


def findings(assignment: ClassResults, anonymous: bool = False) -> tuple[Table, Table]:
    """The named mistakes, and the kinds of what else was found, the most frequent first: how many, and who.

    A student counts once for each, however many groups show it. The sentence is the most frequent one.
    """
    # By cell, mistake and, of a finding without a name, its kind: each student who was told, and what.
    # Records from before have no kinds.
    told: dict[tuple[Key, str | None, str], list[tuple[str, str]]] = defaultdict(list)
    judged = Counter[Key]()
    for submission, key, verdict in assignment.verdicts():
        judged[key] += 1
        if verdict.regrade is not None and verdict.points >= verdict.max_points:
            continue  # an instructor found nothing wrong
        for finding in dict.fromkeys(verdict.findings):
            if finding.kind == RIGHT_ANSWER:
                continue
            found = (key, finding.mistake, "" if finding.mistake else finding.kind or finding.sentence)
            told[found].append((submission.student, finding.sentence))
    rows: list[Row] = []
    for (key, mistake, _), those in told.items():
        who = sorted({student for student, _ in those})
        ((sentence, times),) = Counter(sentence for _, sentence in dict.fromkeys(those)).most_common(1)
        if anonymous and times < LEAST_ANONYMOUS and mistake in (None, FORBIDDEN):
            sentence = NOT_SAID  # it may quote what a student's code says
        row = {"exercise": assignment.cells[key], "mistake": mistake, "students": len(who), "of": judged[key]}
        rows.append(row | {"sentence": sentence, WHO: who})
    rows.sort(key=lambda row: -row["students"])
    columns = ["exercise", "mistake", "students", "of", "sentence", WHO]
    named = table_of(columns, [row for row in rows if row["mistake"]])
    return named, table_of(columns, [row for row in rows if not row["mistake"]]).without("mistake")


def failures(assignment: ClassResults) -> Table:
    """Return what did not run, in the order of the students."""
    rows = [
        {WHO: [each.student], "where": failure.where, "what": failure.what, "why": failure.why}
        for each in assignment.graded
        for failure in dict.fromkeys(each.failures)
    ]
    return table_of([WHO, "where", "what", "why"], rows)


def failure_kinds(assignment: ClassResults) -> Table:
    """Count what failed. An error of a student's own making may have any name: it gets none."""
    own_error = stops_with("an error of their own")
    failed = (failure for each in assignment.graded for failure in dict.fromkeys(each.failures))
    return counted("what", (own_error if failure.is_own_error else failure.what for failure in failed))


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
        {WHO: [submission.student], "why": submission.why}
        for submission in assignment.submissions
        if submission.state == "not graded"
    ]
    return table_of([WHO, "why"], rows)


def remarks(assignment: ClassResults) -> Table:
    """List what was unusual about the assignment, then about submissions, such as a file left out."""
    rows: list[Row] = [{WHO: [], "remark": sentence} for sentence in assignment.warnings]
    rows += [
        {WHO: [each.student], "remark": sentence}
        for each in assignment.graded
        for sentence in dict.fromkeys(notebook.remark for notebook in each.notebooks if notebook.remark)
    ]
    return table_of([WHO, "remark"], rows)


def students(assignment: ClassResults) -> Table:
    """Everybody, with their points by exercise."""
    by_exercise = exercise_columns(assignment)
    rows = []
    for submission in assignment.submissions:
        row: Row = {"student": submission.student, "name": submission.name, "state": submission.state}
        if submission.state == "graded":
            row |= {
                "points": submission.points,
                "of": assignment.max_points,
                "late penalty": submission.entry.penalty,
                "late": submission.lateness,
            }
            row |= {
                "seconds": submission.seconds,
                "to mark": len(submission.waiting),
                "failures": len(submission.failures),
            }
            grades = submission.entry.grades
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
    rows: list[Row] = []
    few: dict[str, Row] = {}
    for row in table.rows:
        # The sentences of other named mistakes are the course's.
        if row["students"] >= LEAST_ANONYMOUS or row.get("mistake", FORBIDDEN) != FORBIDDEN:
            rows.append(row)
        elif row["exercise"] not in few:
            few[row["exercise"]] = row | {"sentence": NOT_SAID}
            rows.append(few[row["exercise"]])
        else:
            same = few[row["exercise"]]
            who = {*same[WHO], *row[WHO]}  # a student may have been told several
            same |= {"students": len(who), "of": max(same["of"], row["of"]), WHO: sorted(who)}
    return Table(table.columns, rows)


FEWEST = 10  # students for whom a correlation says anything


def groups(assignment: ClassResults) -> Table:
    """Count who agree in each case group, of those whose notebook could be run; with its discrimination."""
    # By cell and name: each student's outcome, and the points of the whole submission.
    outcomes: dict[tuple[Key, str], list[tuple[GroupVerdict, float]]] = defaultdict(list)
    for submission, key, verdict in assignment.verdicts():
        everything = sum(grade.points for grade in submission.entry.grades.values())
        for group in verdict.groups:
            outcomes[key, group.name].append((group, everything))
    rows: list[Row] = []
    for (key, name), those in outcomes.items():
        agree = [group.is_earned for group, _ in those]
        rest = [everything - group.points * group.is_earned for group, everything in those]
        row = {"exercise": assignment.cells[key], "group": name, "points": those[-1][0].points}
        row |= {"agree": sum(agree), "of": len(agree), "share": sum(agree) / len(agree)}
        rows.append(row | {"discrimination": discrimination(agree, rest)})
    return table_of(["exercise", "group", "points", "agree", "of", "share", "discrimination"], rows)


def discrimination(agree: Sequence[bool], rest: Sequence[float]) -> float | None:
    """Correlate agreement with the points in all the rest (point-biserial correlation, -1 to 1).

    None if all students or none pass, if all have the same score, and for fewer than ten students. Without
    the group's own points ("corrected item-total"): Henrysson (1963), Psychometrika 28.
    """
    if len(agree) < FEWEST:
        return None
    try:
        return correlation([float(each) for each in agree], rest)
    except StatisticsError:  # one of the two is the same for all
        return None


# A single student's mistake is no misunderstanding of the class's.
SHARED = 2


def counts_of(assignment: ClassResults) -> dict[str, int]:
    """The numbers of students in each state."""
    graded = assignment.graded
    lost = [each for each in graded if each.could_not_run]
    return {
        "listed": len(assignment.submissions),
        "handed_in": len(assignment.handed_in),
        "graded": len(graded),
        "could_not_run": len(lost),
        "partly_failed": sum(bool(each.failures) for each in graded) - len(lost),
        "to_mark": sum(bool(each.waiting) for each in graded),
    }


def summary(assignment: ClassResults, counts: dict[str, int], tables: Tables) -> list[str]:
    """Sentences, the first of which stands for all; code between backticks."""
    sentences = [_first(assignment, counts, tables)]
    points = [each.points for each in assignment.graded]
    if len(points) >= 4:
        full = sum(point >= assignment.max_points for point in points)
        low, _, high = quantiles(points, n=4, method="inclusive")
        everything = f"; {full} {_have(full)} all points" if full else ""
        between = f"{_number(low)} and {_number(high)} points"
        sentences.append(f"Half of the class is between {between}{everything}.")
    sentences += _hardest(assignment, tables["exercises"])
    worst = min(tables["groups"].rows, key=lambda row: row["share"], default=None)
    if worst is not None and worst["share"] < 1:
        sentences.append(
            f"The case group missed most is “{worst['group']}” of `{worst['exercise']}`: "
            f"{worst['of'] - worst['agree']} of {worst['of']} do not agree there."
        )
    if counts["partly_failed"]:
        sentences.append(f"In {_submissions(counts['partly_failed'])} something failed; the rest was graded.")
    if waiting := counts["to_mark"]:
        sentences.append(
            f"{_submissions(waiting)} still {'waits' if waiting == 1 else 'wait'} for a person "
            "to mark a written answer, and may gain points."
        )
    ungraded = counts["handed_in"] - counts["graded"]
    if ungraded:
        sentences.append(f"{_submissions(ungraded)} {_have(ungraded)} no grade yet.")
    missing = counts["listed"] - counts["handed_in"]
    if missing:
        sentences.append(f"{missing} of the {counts['listed']} students on the list handed in nothing.")
    return sentences


def _first(assignment: ClassResults, counts: dict[str, int], tables: Tables) -> str:
    """Such as: 30 handed in, 4 failed to run, median 14 of 20; what the class misunderstood most: …"""
    parts = [f"{counts['handed_in']} handed in"]
    if counts["could_not_run"]:
        parts.append(f"{counts['could_not_run']} failed to run")
    middle = median(each.points for each in assignment.graded)
    parts.append(f"median {_number(middle)} of {_number(assignment.max_points)} points")
    first = ", ".join(parts)
    if not tables["groups"].rows:  # graded by the course's own tests, which name nothing
        return f"{first}."
    if not tables["mistakes"].rows:
        return f"{first}; no mistake that the assignment knows by name was made."
    top = tables["mistakes"].rows[0]
    if top["students"] < SHARED:
        return f"{first}; no named mistake was made by more than one."
    return (
        f"{first}; what the class misunderstood most: {top['students']} of {top['of']} made the mistake "
        f"`{top['mistake']}` in `{top['exercise']}`."
    )


def _hardest(assignment: ClassResults, exercises: Table) -> list[str]:
    """Of the exercises in code: those in prose are still being marked, or were left blank."""
    shares = [
        (row["mean"] / row["points"], row["exercise"])
        for key, row in zip(assignment.cells, exercises.rows, strict=True)
        if row["points"] > 0
        and row["mean"] is not None
        and not any(grade.written for grade in assignment.grades(key))
    ]
    share, name = min(shares, key=lambda each: each[0], default=(1, ""))
    if len(shares) < 2 or share >= 1:
        return []
    return [f"Hardest was `{name}`: {share:.0%} of its points on average."]


def _submissions(count: int) -> str:
    return f"{count} submission{'' if count == 1 else 's'}"


def _have(count: int) -> str:
    return "has" if count == 1 else "have"


def _number(value: float) -> str:
    return f"{round(value, 1):g}"
