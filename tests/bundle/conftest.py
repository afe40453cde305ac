from __future__ import annotations

from pathlib import Path

import pytest
from bundle_school import Members, course_and_zip, make_school, read_zip

from nbjudge.course.course import Course


@pytest.fixture
def school(once) -> tuple[Course, Path]:
    return course_and_zip(once("bundled_course", make_school))


@pytest.fixture
def members(school) -> Members:
    return read_zip(school[1].read_bytes())
