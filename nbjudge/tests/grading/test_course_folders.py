"""A course's folders are where nbgrader's configuration puts them, and out of students' reach."""

import json
import re
import sysconfig
from pathlib import Path

import nbformat
import pytest
from nbgrader.coursedir import CourseDirectory
from nbgrader_command import run as nbgrader
from tiny_course import FOLDER, answered, hand_in, make_course
from traitlets.config import Config

from nbjudge.batch.worker_process import pack_assignment, unpacked_assignment
from nbjudge.course.configuration import read_config
from nbjudge.course.course import Course, find_course, open_course
from nbjudge.course.folders import CourseFolders, folders_of, read_folders
from nbjudge.errors import CourseError
from nbjudge.grading import prepare as settings
from nbjudge.grading.prepare import prepare, protected_paths
from nbjudge.settings import GradingSettings

SETTINGS = {
    "source_directory": "authors",
    "release_directory": "handed-out",
    "solution_directory": "answers",
    "submitted_directory": "in",
    "autograded_directory": "out",
    "feedback_directory": "pages",
    "directory_structure": "{assignment_id}/{nbgrader_step}/{student_id}",
}


@pytest.fixture
def course(tmp_path: Path, monkeypatch) -> Path:
    """A course with settings of its own, on a machine that has others."""
    monkeypatch.setenv("JUPYTER_CONFIG_DIR", str(tmp_path / "jupyter"))
    (tmp_path / "jupyter").mkdir()
    settings = {"CourseDirectory": {"course_id": "of-the-machine", "source_directory": "nowhere"}}
    (tmp_path / "jupyter" / "nbgrader_config.json").write_text(json.dumps(settings))
    lines = [f"c.CourseDirectory.{name} = {value!r}" for name, value in SETTINGS.items()]
    root = tmp_path / "course"
    root.mkdir()
    (root / "nbgrader_config.py").write_text("\n".join(["c = get_config()", *lines]))
    for folder, code in (("authors", "x = 1"), ("answers", "x = 2")):
        cell = nbformat.v4.new_code_cell(code, metadata={"nbgrader": {"solution": True, "grade_id": "x"}})
        (root / folder / "01").mkdir(parents=True)
        nbformat.write(nbformat.v4.new_notebook(cells=[cell]), root / folder / "01" / "one.ipynb")
    return root


def test_folders_are_nbgraders(course):
    """Those of its own reader, and without settings its defaults; the machine's count where none is set."""
    assert folders_of(CourseDirectory(root="/course")) == CourseFolders(Path("/course"))
    config = read_config(course)
    assert config.CourseDirectory.course_id == "of-the-machine"
    config.CourseDirectory.root = str(course)
    folders = read_folders(course)
    assert folders == folders_of(CourseDirectory(config=config))
    assert folders.as_settings() == SETTINGS
    assert folders.submitted("ada", "01") == course / "01/in/ada"
    assert folders.autograded("ada", "01") == course / "01/out/ada"
    assert folders.feedback("ada", "01") == course / "01/pages/ada"


def test_solutions_are_where_the_configuration_says(course, tmp_path):
    """Without a solution notebook the source notebook is the solution; workers get folders outside, too."""
    (lesson,) = find_course(course / "authors" / "01").assignments.values()
    assert lesson.reference_answer("x") == 2
    assert lesson.release_path == course / "handed-out/01/one.ipynb"
    (course / "answers").rename(tmp_path / "elsewhere")
    assert find_course(course).assignments["one"].reference_answer("x") == 1
    with (course / "nbgrader_config.py").open("a") as config:
        config.write(f"\nc.CourseDirectory.solution_directory = {str(tmp_path / 'elsewhere')!r}")
    lesson = unpacked_assignment(pack_assignment(open_course(course), "01"), "one")
    assert lesson.reference_answer("x") == 2
    assert not lesson.solution_path.is_relative_to(tmp_path)


SHOWN = Path(sysconfig.get_path("purelib"))  # nothing is written there


@pytest.fixture
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A course's folder on a machine whose other settings lie beside it."""
    monkeypatch.setenv("JUPYTER_CONFIG_DIR", str(tmp_path / "settings"))
    monkeypatch.setenv("JUPYTER_NO_CONFIG", "")
    monkeypatch.setattr(settings, "sandbox_refusal", lambda: None)  # it would start bubblewrap
    (tmp_path / "settings").mkdir()
    (tmp_path / "course").mkdir()
    return tmp_path / "course"


def config_of(root: Path, **course: str) -> Config:
    config = Config()
    config.CourseDirectory.root = str(root)
    config.CourseDirectory.update(course)
    return config


def course_of(config: Config) -> Course:
    coursedir = CourseDirectory(config=config)
    return Course(Path(coursedir.root), folders_of(coursedir))


def refusal_of(config: Config) -> str:
    """Return what is said instead of grading; nothing where there is no reason not to."""
    try:
        prepare(course_of(config), GradingSettings(config=config))
    except CourseError as refused:
        return str(refused)
    return ""


def test_protected_paths_are_all_that_a_course_has(root, tmp_path):
    """nbgrader's own exchange where no other is set; a database on a server is no path."""
    assert refusal_of(config_of(root)) == ""
    config = config_of(root, db_url="postgresql://someone@localhost/grades")
    places = dict(protected_paths(course_of(config), config))
    assert places["The exchange"] == Path("/usr/local/share/nbgrader/exchange")
    assert "The gradebook" not in places
    (root / "nbgrader_config.py").touch()
    (tmp_path / "settings" / "nbgrader_config.json").write_text('{"Exchange": {"root": "/srv/exchange"}}')
    (tmp_path / "settings" / "jupyter_server_config.py").touch()
    config = config_of(root)
    found = set(protected_paths(course_of(config), config))
    files = (root / "nbgrader_config.py", *(tmp_path / "settings").iterdir())
    assert found >= {
        ("The course", root),
        ("The course's folder submitted", root / "submitted"),
        ("The gradebook", root / "gradebook.db"),
        ("The exchange", Path("/srv/exchange")),
        *(("The configuration", file) for file in files),
    }


def test_path_that_students_can_read_stops_the_grading(root, tmp_path, monkeypatch):
    """Links on either side are followed."""
    for section, name, value, what in (
        ("CourseDirectory", "db_url", f"sqlite:///{SHOWN}/gradebook.db", "The gradebook"),
        ("CourseDirectory", "submitted_directory", f"{SHOWN}/submitted", "The course's folder submitted"),
        ("Exchange", "root", f"{SHOWN}/exchange", "The exchange"),
        ("Exchange", "cache", f"{SHOWN}/cache", "The exchange's cache"),
    ):
        config = config_of(root)
        config[section][name] = value
        assert refusal_of(config).startswith(f"{what} (")
        config.RunAndJudge.sandbox = False
        assert refusal_of(config) == ""
    (tmp_path / "packages" / "submitted").mkdir(parents=True)
    monkeypatch.setattr(settings, "shown_to_students", lambda _exposed_modules: [tmp_path / "shown"])
    (tmp_path / "shown").symlink_to(tmp_path / "packages")
    assert refusal_of(config_of(root)) == ""
    (root / "submitted").symlink_to(tmp_path / "packages" / "submitted")
    assert refusal_of(config_of(root)).startswith("The course's folder submitted (")


@pytest.mark.integration
@pytest.mark.parametrize(
    ("option", "words"),
    [
        (f"--Exchange.root={SHOWN}/exchange", "The exchange"),
        ("--RunAndJudge.exposed_modules=no_course.plots", "names the module 'no_course', which"),
    ],
)
def test_nbgraders_own_command_grades_no_one_then(tmp_path, option, words):
    make_course(tmp_path / "course")
    hand_in(tmp_path / "course", "ada", answered())
    run = nbgrader(tmp_path / "course", "autograde", FOLDER, option)
    assert run.returncode != 0 and "Traceback" not in run.stderr
    (message,) = [line for line in run.stderr.splitlines() if line.startswith("Nothing was graded.")]
    assert words in message
    assert not list((tmp_path / "course" / "autograded").rglob("*.ipynb"))


EXERCISE = 'from nbjudge.authoring import Exercise\n\nones = Exercise("ones", results=("one",){})\n'
MISTAKE = "from .ones import ones\n\n\n@ones.mistake('It is {0}.')\ndef {0}(x):\n    return x\n"


@pytest.mark.parametrize("order", ["ab", "ba", "", "b"])
def test_mistakes_of_several_files_come_in_their_order(tmp_path, order):
    """An author who does not give an order of all files is asked for one."""
    checks, source = tmp_path / "checks" / "tiny", tmp_path / "source" / "01"
    checks.mkdir(parents=True)
    source.mkdir(parents=True)
    nbformat.write(nbformat.v4.new_notebook(), source / "tiny.ipynb")
    (checks / "ones.py").write_text(EXERCISE.format(f", mistakes_from={tuple(order)}" if order else ""))
    for name in ("a", "b"):
        (checks / f"{name}.py").write_text(MISTAKE.format(name))
    course = open_course(tmp_path)
    if len(order) < 2:
        with pytest.raises(CourseError, match=re.escape("The mistakes of `ones` are in a, b")):
            _ = course.assignments["tiny"].exercises
    else:
        found = course.assignments["tiny"].exercises["ones"].mistakes
        assert [mistake.name for mistake in found] == list(order)
