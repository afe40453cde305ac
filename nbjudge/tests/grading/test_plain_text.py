"""Text of a submission's is plain before it is said anywhere."""

from __future__ import annotations

import io
import logging
import traceback

import pytest

from nbjudge.errors import CourseError
from nbjudge.plain_text import (
    LONGEST_NAME,
    as_html,
    keep_plain,
    plain_line,
    plain_lines,
    shown_name,
    words_of_failure,
)

HOSTILE = "\x1b[2J\x1b]0;title\x07 \x9b31m \u202egnp \u2066x\u2028y \ud800 \x00\r\b"


def test_an_ordinary_name_is_shown_as_it_is():
    assert shown_name("tiny (1).ipynb") == "'tiny (1).ipynb'"
    assert shown_name("Zoë's 学生.ipynb") == '"Zoë\'s 学生.ipynb"'


def test_a_hostile_name_is_one_short_line():
    name = shown_name(f"{HOSTILE * 20}\n.ipynb")
    assert name.isprintable() and name.endswith(".ipynb'") and len(name) < 10 * LONGEST_NAME


@pytest.mark.parametrize("make", [plain_line, plain_lines, as_html])
def test_no_control_character_is_left(make):
    result = make(f"before {HOSTILE} after")
    assert result.isprintable() and "before" in result and "after" in result
    result.encode()


def test_lines_are_kept_or_joined_and_have_an_end():
    assert plain_lines("a\r\nb\n\tc") == "a\nb\n\tc"
    assert plain_line("a\r\nb\n\tc") == "a b c"
    assert len(plain_line("x" * 10**6)) < 1000


def test_html_of_a_text_is_no_markup_and_no_formula():
    html = as_html("<b>&lt; $x$ \\(y\\)\n\n*z*")
    assert "<b>" not in html and "&amp;lt;" in html and "\n" not in html
    assert "$x$" not in html and "\\(" not in html


@pytest.fixture
def log():
    stream = io.StringIO()
    log = logging.Logger("nbgrader")
    log.addHandler(logging.StreamHandler(stream))
    keep_plain(log)
    keep_plain(log)
    assert len(log.filters) == 1
    return log, stream


def test_a_log_that_is_kept_plain_shows_text_only(log):
    log, stream = log
    log.warning("%s: no 100%% of it", HOSTILE)
    try:
        raise ValueError(HOSTILE)
    except ValueError:
        log.exception("it failed")
    output = stream.getvalue()
    assert output.replace("\n", "").isprintable()
    assert "no 100% of it" in output and "ValueError" in output


def test_an_error_of_ours_is_its_sentence(log):
    log, stream = log
    for error in (CourseError("Fix the course."), ValueError("something")):
        try:
            raise error
        except Exception:
            log.error(traceback.format_exc())
    output = stream.getvalue()
    assert output.startswith("Fix the course.\nTraceback") and output.endswith("ValueError: something\n\n")
    assert words_of_failure("Traceback\n  x\nValueError: something") == "ValueError: something"


def test_stacked_marks_are_left_out():
    stacked = "e" + "\u0301\u0316\u20dd" * 30 + "!"
    assert plain_lines(stacked) == "e\u0301\u0316!"
    assert shown_name(stacked) == repr("e\u0301\u0316!")
    vietnamese = "Nguye\u0302\u0303n"  # two marks on one letter
    assert plain_lines(vietnamese) == vietnamese
