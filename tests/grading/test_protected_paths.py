"""Nothing is graded where student code could read the course, its gradebook, its exchange or its settings."""

from __future__ import annotations

import sysconfig
from pathlib import Path

import pytest
from nbgrader.coursedir import CourseDirectory
from nbgrader_command import run as nbgrader
from tiny_course import FOLDER, answered, hand_in, make_course
from traitlets.config import Config

from nbjudge.course.course import Course
from nbjudge.course.folders import folders_of
from nbjudge.errors import CourseError
from nbjudge.grading import prepare as settings
from nbjudge.grading.prepare import prepare, protected_paths
from nbjudge.settings import GradingSettings

SHOWN = Path(sysconfig.get_path("purelib"))  # nothing is written there


@pytest.fixture
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A course's folder on a machine whose other settings lie beside it."""
    monkeypatch.setenv("JUPYTER_CONFIG_DIR", str(tmp_path / "settings"))
    monkeypatch.setenv("JUPYTER_NO_CONFIG", "")
    monkeypatch.setattr(settings, "refusal", lambda: None)  # it would start bubblewrap
    (tmp_path / "settings").mkdir()
    (tmp_path / "course").mkdir()
    return tmp_path / "course"


def config_of(root: Path, **course: str) -> Config:
    config = Config()
    config.CourseDirectory.root = str(root)
    config.CourseDirectory.update(course)
    return config


def places_of(root: Path, config: Config | None = None) -> list[tuple[str, Path]]:
    config = config or config_of(root)
    return protected_paths(course_of(config), config)


def course_of(config: Config) -> Course:
    coursedir = CourseDirectory(config=config)
    return Course(Path(coursedir.root), folders_of(coursedir))


def refusal_of(root: Path, config: Config | None = None) -> str:
    """What is said instead of grading; nothing where there is no reason not to."""
    config = config or config_of(root)
    try:
        prepare(course_of(config), GradingSettings(config=config))
    except CourseError as refused:
        return str(refused)
    return ""


def test_an_ordinary_course_is_graded(root):
    assert refusal_of(root) == ""


def test_the_course_its_folders_its_gradebook_its_exchange_and_its_settings_are_meant(root, tmp_path):
    (root / "nbgrader_config.py").touch()
    (tmp_path / "settings" / "nbgrader_config.json").write_text('{"Exchange": {"root": "/srv/exchange"}}')
    (tmp_path / "settings" / "jupyter_server_config.py").touch()
    places = places_of(root)
    assert ("The course", root) in places
    assert ("The course's folder submitted", root / "submitted") in places
    assert ("The gradebook", root / "gradebook.db") in places
    assert ("The exchange", Path("/srv/exchange")) in places
    settings = {place for what, place in places if what == "The configuration"}
    assert {root / "nbgrader_config.py", tmp_path / "settings" / "nbgrader_config.json"} <= settings
    assert tmp_path / "settings" / "jupyter_server_config.py" in settings


def test_nbgraders_own_exchange_is_meant_where_nothing_else_is_said(root):
    assert ("The exchange", Path("/usr/local/share/nbgrader/exchange")) in places_of(root)


def test_a_database_on_a_server_is_no_place(root):
    config = config_of(root, db_url="postgresql://someone@localhost/grades")
    assert "The gradebook" not in dict(places_of(root, config))


@pytest.mark.parametrize(
    ("section", "name", "value", "what"),
    [
        ("CourseDirectory", "db_url", f"sqlite:///{SHOWN}/gradebook.db", "The gradebook"),
        ("CourseDirectory", "submitted_directory", f"{SHOWN}/submitted", "The course's folder submitted"),
        ("Exchange", "root", f"{SHOWN}/exchange", "The exchange"),
        ("Exchange", "cache", f"{SHOWN}/cache", "The exchange's cache"),
    ],
)
def test_each_of_them_stops_the_grading_in_one_sentence(root, section, name, value, what):
    config = config_of(root)
    config[section][name] = value
    message = refusal_of(root, config)
    assert message.startswith(f"{what} (")
    assert "which student code can read in the sandbox: move it to a folder outside of it." in message
    config.RunAndJudge.sandbox = False
    assert refusal_of(root, config) == ""


def test_links_on_either_side_are_followed(root, tmp_path, monkeypatch):
    (tmp_path / "packages").mkdir()
    monkeypatch.setattr(settings, "shown_to_students", lambda _exposed_modules: [tmp_path / "shown"])
    (tmp_path / "shown").symlink_to(tmp_path / "packages")
    assert refusal_of(root) == ""
    (tmp_path / "packages" / "submitted").mkdir()
    (root / "submitted").symlink_to(tmp_path / "packages" / "submitted")
    assert refusal_of(root).startswith("The course's folder submitted (")


@pytest.mark.integration
def test_nbgraders_own_command_grades_no_one_then(tmp_path):
    make_course(tmp_path / "course")
    hand_in(tmp_path / "course", "ada", answered())
    run = nbgrader(tmp_path / "course", "autograde", FOLDER, f"--Exchange.root={SHOWN}/exchange")
    assert run.returncode != 0
    (message,) = [line for line in run.stderr.splitlines() if line.startswith("Nothing was graded.")]
    assert "The exchange" in message and "Traceback" not in run.stderr
    assert not list((tmp_path / "course" / "autograded").rglob("*.ipynb"))


@pytest.mark.integration
def test_a_helper_that_is_not_there_stops_the_class_in_one_sentence(tmp_path):
    make_course(tmp_path / "course")
    hand_in(tmp_path / "course", "ada", answered())
    run = nbgrader(tmp_path / "course", "autograde", FOLDER, "--RunAndJudge.exposed_modules=no_course.plots")
    assert run.returncode != 0 and "Traceback" not in run.stderr
    assert (
        "Nothing was graded. c.RunAndJudge.exposed_modules names the module 'no_course', which" in run.stderr
    )
