"""Lesson 12's bug board shows what runs of the layer give."""

import json
from pathlib import Path

import pytest

from attention_lab.lesson_12 import board

ROOT = Path(__file__).parents[1]


def test_stored_results_agree_with_runs():
    stored = json.loads((ROOT / "attention_lab/lesson_12/measured.json").read_text())["board"]
    assert stored == board.results()
    assert len(stored) == 1 + 8 + 28
    assert stored[0] == {"bugs": "", "red": ""}


def test_every_bug_but_not_shape_lights_a_lamp():
    red = board.BugBoard().red
    assert all(red[bug] for bug in board.SWITCHES)
    assert {lamp for lamps in red.values() for lamp in lamps} == set(board.LAMPS) - {"shape"}


@pytest.mark.integration
def test_board_is_played(browser, tmp_path):
    page = browser.new_page()
    errors = []
    page.on("pageerror", lambda error: errors.append(error))
    (tmp_path / "board.html").write_text(f"<meta charset=utf-8>{board.bug_board()._repr_html_()}")
    page.goto((tmp_path / "board.html").as_uri())

    def run(*names):
        for name in names:
            page.check(f"input[value='{name}']")
        page.click("button")
        return page.inner_text("[role=status]")

    assert run() == "You predicted 8 of 8 lamps. Without a bug, all are green."
    alone = run("one head twice", "gradient", "real weights")
    assert alone == "You predicted 8 of 8 lamps (16 of 16 so far)."
    both = run("view without transpose")  # which clears the predictions
    assert both == (
        "You predicted 6 of 8 lamps (22 of 24 so far). "
        "The two hide each other: leak, batch of one would be red with one of them alone."
    )
    assert page.locator(".red").all_inner_texts() == ["● red ✗"] * 2
    page.click("input[value='no root']")
    assert page.inner_text("[role=status]") == "Two at once: switch one off first."
    assert not page.is_checked("input[value='no root']") and not errors
    page.close()
