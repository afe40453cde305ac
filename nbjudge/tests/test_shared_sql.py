"""A run's connections to a SQLite gradebook compile each statement once, and give the same results."""

import pytest
from nbgrader.api import Gradebook
from sqlalchemy.dialects.sqlite.pysqlite import SQLiteDialect_pysqlite
from sqlalchemy.sql.compiler import SQLCompiler

from nbjudge.nbgrader_hooks.shared_sql import with_shared_sql


@pytest.mark.integration  # nbgrader stamps a new gradebook with alembic
def test_a_second_connection_compiles_no_query_again(tmp_path, monkeypatch):
    url = with_shared_sql(f"sqlite:///{tmp_path / 'a course, 50%'}.db")
    compiled = []
    visit = SQLCompiler.visit_select
    monkeypatch.setattr(
        SQLCompiler,
        "visit_select",
        lambda self, *args, **options: compiled.append(1) or visit(self, *args, **options),
    )
    for student in ("ada", "bob"):
        with Gradebook(url, "course") as gradebook:
            gradebook.update_or_create_student(student, first_name=student)
        counted = len(compiled)
        compiled.clear()
    assert counted == 0
    with Gradebook(f"sqlite:///{tmp_path / 'a course, 50%'}.db", "course") as gradebook:
        assert sorted((each.id, each.first_name) for each in gradebook.students) == [
            ("ada", "ada"),
            ("bob", "bob"),
        ]


@pytest.mark.parametrize("url", ["postgresql://user:secret@host/grades", "sqlite+other:///grades.db"])
def test_other_databases_stay_as_they_are(url):
    assert with_shared_sql(url) == url


@pytest.mark.integration
def test_a_second_connection_looks_for_no_table(tmp_path, monkeypatch):
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
