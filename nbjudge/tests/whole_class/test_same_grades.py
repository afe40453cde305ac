"""A class graded all at once is graded as nbgrader would have graded it, one by one, by any account."""

import io
import re
from dataclasses import replace

import pytest
from machine import REFUSED, Machine
from nbgrader.api import Gradebook
from rich.console import Console
from small_class import in_gradebook, nbjudge, notebooks
from sqlalchemy.dialects.sqlite.pysqlite import SQLiteDialect_pysqlite
from sqlalchemy.sql.compiler import SQLCompiler
from tiny_course import FOLDER, GradedClass, answered, hand_in, make_course

from nbjudge.batch.changed_submissions import make_plan
from nbjudge.batch.grade_command import Options, grade_plan
from nbjudge.course.folders import read_folders
from nbjudge.nbgrader_hooks.shared_sql import with_shared_sql

pytestmark = pytest.mark.integration


def recorded(root):
    """All that grading left: what the gradebook holds, and every file beside the graded notebooks."""
    return in_gradebook(root), notebooks(root / "autograded")


@pytest.fixture
def one_by_one(graded_one_by_one):
    """What `nbgrader autograde` leaves of the class."""
    return recorded(graded_one_by_one)


def test_the_command_leaves_what_nbgrader_leaves(copy_of_class, one_by_one):
    run = nbjudge(copy_of_class, "grade", FOLDER, "--workers", "2")
    assert run.returncode == 0, run.stdout
    assert "11 graded" in run.stdout
    gradebook, _ = found = recorded(copy_of_class)
    cells = [cell for about in gradebook.values() for cell in about.values() if isinstance(cell, tuple)]
    assert len(cells) == 4 * 11
    assert {needs_a_person for _, _, needs_a_person, _ in cells} == {True, False}
    assert [student for student, about in gradebook.items() if about["late penalty"]] == ["late"]
    assert found == one_by_one


@pytest.mark.filterwarnings("ignore:Object of type:sqlalchemy.exc.SAWarning")  # nbgrader's own
def test_in_any_order_with_any_number_of_workers(copy_of_class, one_by_one):
    plan = make_plan(read_folders(copy_of_class), FOLDER)
    backwards = replace(plan, todo=dict(reversed(plan.todo.items())))
    results, printed = [], io.StringIO()
    grade_plan(backwards, Options(workers=1, timings=True), Console(file=printed, width=300), results.append)
    assert len(results) == 11
    assert not any(graded.problem for graded in results)
    assert [graded.student for graded in results if graded.reason] == ["no notebook", "cut off"]
    assert recorded(copy_of_class) == one_by_one
    assert "Where the time of 9 notebooks went" in printed.getvalue()
    phases = "read the course .*, import nbgrader .*, wait until a worker has imported"
    assert re.search(rf"Start: .* until the first notebook went to a worker \({phases}", printed.getvalue())


@pytest.mark.skipif(bool(REFUSED), reason=REFUSED)
@pytest.mark.timeout(240)
def test_an_ordinary_account_grades_a_class(tmp_path):
    """The sandbox holds for it: anyone who grades need not be root."""
    machine = Machine(tmp_path, "grader")
    course = machine.home("grader") / "course"
    make_course(course)
    hand_in(course, "ada", answered())
    machine.give("grader", machine.home("grader"))
    run = machine.typed("grader", "sh", "-c", f"cd course && python -m nbgrader autograde {FOLDER}")
    assert run.returncode == 0, run.stderr[-3000:]
    assert sum(GradedClass(course).points("ada").values()) == 5


def test_a_second_connection_compiles_no_query_again(tmp_path, monkeypatch):
    url = with_shared_sql(f"sqlite:///{tmp_path / 'a course, 50%'}.db")
    compiled, visit = [], SQLCompiler.visit_select

    def counted_visit(self, *args, **options):
        compiled.append(1)
        return visit(self, *args, **options)

    monkeypatch.setattr(SQLCompiler, "visit_select", counted_visit)
    for student in ("ada", "bob"):
        with Gradebook(url, "course") as gradebook:
            gradebook.update_or_create_student(student, first_name=student)
        counted = len(compiled)
        compiled.clear()
    assert counted == 0
    with Gradebook(f"sqlite:///{tmp_path / 'a course, 50%'}.db", "course") as gradebook:
        assert {each.id: each.first_name for each in gradebook.students} == {"ada": "ada", "bob": "bob"}


def test_a_second_connection_looks_for_no_table(tmp_path, monkeypatch):
    """Other databases stay as they are."""
    for other in ("postgresql://user:secret@host/grades", "sqlite+other:///grades.db"):
        assert with_shared_sql(other) == other
    file = tmp_path / "gradebook.db"
    url, looked_for = with_shared_sql(f"sqlite:///{file}"), []
    has_table = SQLiteDialect_pysqlite.has_table

    def counted(self, connection, name, *arguments, **options):
        looked_for.append(name)
        return has_table(self, connection, name, *arguments, **options)

    monkeypatch.setattr(SQLiteDialect_pysqlite, "has_table", counted)
    for _ in range(3):
        looked_for.clear()
        with Gradebook(url, "course") as gradebook:
            gradebook.update_or_create_student("ada")
    assert looked_for == []
    file.rename(tmp_path / "old.db")
    with Gradebook(url, "course") as gradebook:  # a new file has no tables yet
        assert gradebook.students == []
