"""Full disks, files that may not be read, no sandbox: a sentence says what, and no grade is lost."""

import os
import shutil
import sys
from pathlib import Path

import pytest
from grading_runs import database_is_sound, finish, finish_where, grades, words
from tiny_course import FOLDER, FULL, NOTHING, after, answered, hand_in

pytestmark = [pytest.mark.integration, pytest.mark.fault, pytest.mark.timeout(600)]


# A folder is put on a small disk for the run and brought back afterwards, whatever came of it.
ON_A_SMALL_DISK = """
cp -r {original}/. {place}
{meanwhile}
"$@"; status=$?
rm -f {place}/filler
cp -rf {place}/. {original}
exit $status
"""
FILL = "dd if=/dev/zero of={place}/filler bs=64k >/dev/null 2>&1"
WHEN_BEN_IS_BEGUN = (
    "while ! grep -q unfinished {root}/autograded/ben/*/tiny.ipynb; do sleep 0.02; done 2>/dev/null"
)
FILL_LATER = f"({WHEN_BEN_IS_BEGUN}; {FILL}) &"


def run_on_a_small_disk(course: Path, place: Path, meanwhile: str) -> tuple[int, str]:
    original = place.rename(course.parent / "kept")
    place.mkdir()
    disk = ["--size", str(48 * 2**20), "--tmpfs", str(place)]
    script = ON_A_SMALL_DISK.format(original=original, place=place, meanwhile=meanwhile)
    outcome = finish_where(course, disk, script.format(root=course, place=place))
    place.rmdir()
    original.rename(place)
    return outcome


def the_one_sentence(output: str) -> str:
    assert "Traceback" not in output, output
    begins = ("Nothing was graded", "Grading stopped")
    (line,) = [line for line in output.splitlines() if line.startswith(begins)]
    return line


@pytest.fixture(scope="session")
def half_graded(whole_course: Path, once) -> Path:
    def grade_ada(folder: Path) -> None:
        root = shutil.copytree(whole_course, folder / "course")
        hand_in(root, "ada", answered())
        assert finish(root)[0] == 0, words(root)

    return once("half_graded", grade_ada) / "course"


@pytest.fixture
def half_a_class(course: Path, half_graded: Path) -> Path:
    """Ada is graded; Ben and Cyd hand in. Ben's notebook grows while it is graded."""
    shutil.copytree(half_graded, course, dirs_exist_ok=True)
    hand_in(course, "ben", after(answered(), "shown", "print('long ' * 10_000)"))
    hand_in(course, "cyd", answered())
    return course


@pytest.mark.parametrize(
    ("place", "meanwhile"),
    [
        pytest.param(".", FILL, id="full before", marks=pytest.mark.long),
        pytest.param(".", FILL_LATER, id="fills up on the way"),
        pytest.param("autograded", FILL_LATER, id="no space for the notebooks only", marks=pytest.mark.long),
    ],
)
def test_a_full_disk_stops_the_class_without_loss(half_a_class, place, meanwhile):
    course = half_a_class
    status, output = run_on_a_small_disk(course, course / place, meanwhile)
    assert status != 0
    sentence = the_one_sentence(output)
    assert str(course / place) in sentence or (place == "." and "the gradebook" in sentence)
    assert any(words in sentence for words in ("full", "No space left", "gradebook cannot be written"))
    assert "The grades so far are kept" in sentence
    assert database_is_sound(course)
    assert grades(course, ["ada"]) == {"ada": FULL}
    if meanwhile == FILL_LATER:  # everybody can be graded afterwards
        assert finish(course)[0] == 0, words(course)
        assert grades(course, ["ada", "ben", "cyd"]) == {"ada": FULL, "ben": FULL, "cyd": FULL}


@pytest.mark.long
@pytest.mark.parametrize("place", ["autograded", "gradebook.db"])
def test_an_unwritable_folder_is_told_before_grading(half_a_class, place):
    course = half_a_class
    status, output = finish_where(course, ["--ro-bind", str(course / place), str(course / place)])
    assert status != 0
    sentence = the_one_sentence(output)
    assert f"{course / place} cannot be written to" in sentence
    assert "Nothing was graded" in sentence
    assert "Sanitizing" not in output
    assert grades(course, ["ada"]) == {"ada": FULL}


# An account that has no way around a file's mode, as root has.
UNPRIVILEGED = ["--unshare-user", "--uid", "2001", "--gid", "2001"]


@pytest.mark.long
@pytest.mark.parametrize("closed", [f"submitted/ben/{FOLDER}", f"submitted/ben/{FOLDER}/tiny.ipynb"])
def test_forbidden_files_cost_no_one_else(course: Path, closed):
    for student in ("ada", "ben", "cyd"):
        hand_in(course, student, answered())
    os.chmod(course / closed, 0)
    status, output = finish_where(course, UNPRIVILEGED)
    os.chmod(course / closed, 0o755)
    assert status == 1
    (sentence,) = [line for line in output.splitlines() if "make it readable" in line]
    assert f"submitted/ben/{FOLDER}" in sentence and "Permission denied" in sentence
    assert "Traceback" not in output
    assert grades(course, ["ada", "cyd"]) == {"ada": FULL, "cyd": FULL}
    assert not (course / "autograded/ben" / FOLDER / "tiny.ipynb").exists()
    assert finish(course)[0] == 0
    assert grades(course, ["ben"]) == {"ben": FULL}


LOUD = "GRADING WITHOUT THE SANDBOX: student code runs as you"
OPTION = "--RunAndJudge.sandbox=False"
NO_BWRAP = {"PATH": str(Path(sys.executable).parent)}


def test_without_bubblewrap_nothing_is_graded(course):
    hand_in(course, "ada", answered())
    status, output = finish(course, environment=NO_BWRAP)
    assert status != 0
    assert not list((course / "autograded").rglob("*.ipynb"))
    sentence = the_one_sentence(output)
    assert OPTION in sentence and "apt-get install bubblewrap" in sentence


@pytest.mark.parametrize("said_by", ["option", "setting"])
def test_without_the_sandbox_the_grades_are_the_same(course, said_by):
    hand_in(course, "ada", answered())
    hand_in(course, "ben", answered(double="def double(x):\n    return x", biggest="def biggest(x): 1 / 0"))
    if said_by == "setting":
        with (course / "nbgrader_config.py").open("a") as config:
            config.write("\nc.RunAndJudge.sandbox = False\n")
    status, output = finish(course, *([OPTION] if said_by == "option" else []), environment=NO_BWRAP)
    assert status == 0, output
    assert f"WARNING] {LOUD}" in output
    assert grades(course, ["ada", "ben"]) == {"ada": FULL, "ben": NOTHING | {"row_sums": 2}}
