"""The invented classes of the course's own lessons: the same grades at once as one by one."""

from __future__ import annotations

import os
import shutil
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from small_class import assert_same, attention_lab, recorded
from tiny_course import ROOT, succeed

from attention_lab.maintain.demo.class_folder import fresh_course, read_release, submit
from attention_lab.maintain.demo.hand_ins import Writer
from attention_lab.maintain.demo.material import material_of
from attention_lab.maintain.demo.names import invented_names
from attention_lab.maintain.demo.run_demo import SEED
from nbjudge.course.course import Course, open_course

pytestmark = pytest.mark.integration

# One lesson, the mask, and the first kinds of hand-ins every day; `make test-all` takes all of both.
EVERY = bool(os.environ.get("EVERY_SEED"))
LESSONS = [lesson for lesson in open_course(ROOT).assignments.values() if lesson.exercises]
STUDENTS = 24 if EVERY else 5


@pytest.mark.long
@pytest.mark.lesson
@pytest.mark.timeout(3600 if EVERY else 600)
@pytest.mark.parametrize("lesson", LESSONS if EVERY else LESSONS[2:3], ids=lambda lesson: lesson.name)
def test_a_class_gets_the_same_grades_at_once_as_one_by_one(lesson):
    with TemporaryDirectory(prefix="class-") as place:
        for name in ("source", "solutions", "checks"):
            ignored = shutil.ignore_patterns("__pycache__")
            shutil.copytree(ROOT / name, Path(place) / name, ignore=ignored)
        shutil.copy(ROOT / "nbgrader_config.py", place)
        fresh = fresh_course(Course(Path(place)).assignments[lesson.name])
        hand_ins = Writer(material_of(fresh, read_release(fresh)), SEED).hand_ins(STUDENTS)
        for student, hand_in in zip(invented_names(STUDENTS, SEED), hand_ins, strict=True):
            submit(fresh, student, hand_in)
        (fresh.course.root / ".grading-key").write_text("7" * 64)
        other = Path(place).resolve() / "other"
        shutil.copytree(fresh.course.root, other)

        run = attention_lab(fresh.course.root, "grade", lesson.folder)
        assert run.returncode == 0, run.stdout
        succeed(other, "autograde", lesson.folder)
        at_once, one_by_one = recorded(fresh.course.root), recorded(other)
        assert len(at_once["grades"]) >= STUDENTS * len(lesson.exercises)
        assert_same(at_once, one_by_one)
