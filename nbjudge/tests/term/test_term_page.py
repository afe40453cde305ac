"""Every command of docs/term.md works as typed, in its order, while a class hands in."""

import re
import shlex
import shutil
from pathlib import Path

import pytest
from term_class import hand_in, make_course, typed

pytestmark = pytest.mark.integration

PAGE = Path(__file__).parents[2] / "docs" / "term.md"
BLOCK = re.compile(r"^```(\w+)\n(.*?)^```", re.MULTILINE | re.DOTALL)

ROSTER = "Username;Full name;lms_user_id\nada;Ada King;101\nben;Ben Li;102\ncarl;Carl Orff;103\n"


def test_the_page_as_typed(tmp_path):
    make_course(tmp_path)
    blocks = BLOCK.findall(PAGE.read_text())
    config = (tmp_path / "nbgrader_config.py").read_text()
    settings = "".join(text for kind, text in blocks if kind == "python")
    (tmp_path / "nbgrader_config.py").write_text(config.replace("configure(c)", f"{settings}configure(c)"))
    (tmp_path / "roster.csv").write_text(ROSTER)
    lines = [line for kind, text in blocks if kind == "sh" for line in text.splitlines()]
    assert len(lines) >= 19
    for name in ("Ada King_4711_assignsubmission_file_/week.ipynb", "kingada_101_900_week.ipynb"):
        file = tmp_path / "downloaded/ps1/extracted/submissions" / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.touch()
    said = {}
    for line in lines:
        if "--received" in line:
            hand_in(tmp_path, "ada", "2026-12-06 12:00")
            hand_in(tmp_path, "cid")
            (tmp_path / "times.csv").write_text("student,received\ncid,2026-12-02 01:00\n")
        if "--against" in line:
            shutil.copytree(tmp_path / "submitted", tmp_path / "earlier/submitted")
        if "--dry-run" in line:
            typed(tmp_path, "nbjudge", "grade", "ps1")
        said[line] = typed(tmp_path, *shlex.split(line, comments=True))
    assert "1 of 2 submissions get their time from" in said["nbjudge due ps1 --received times.csv"]
    assert "1 h 1 min late, 10 %: 1.5 points" in said['nbjudge due ps1 "2026-12-02 23:59" --dry-run']
    assert "cid is now carl." in said["nbjudge student merge cid carl"]
    assert "closer than chance" in said["nbjudge similar ps1 --against earlier/submitted"]
    place = "ada.lovelace Ada King_4711_assignfeedback_file_/week.html"
    assert place in said["nbjudge return ps1 --moodle"]
    assert "ada.lovelace kingada_101_900_week.html" in said["nbjudge return ps1 --canvas"]
