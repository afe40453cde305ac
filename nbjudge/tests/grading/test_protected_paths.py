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


def course_of(config: Config) -> Course:
    coursedir = CourseDirectory(config=config)
    return Course(Path(coursedir.root), folders_of(coursedir))


def refusal_of(config: Config) -> str:
    """What is said instead of grading; nothing where there is no reason not to."""
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


@pytest.mark.parametrize(
    ("section", "name", "value", "what"),
    [
        ("CourseDirectory", "db_url", f"sqlite:///{SHOWN}/gradebook.db", "The gradebook"),
        ("CourseDirectory", "submitted_directory", f"{SHOWN}/submitted", "The course's folder submitted"),
        ("Exchange", "root", f"{SHOWN}/exchange", "The exchange"),
        ("Exchange", "cache", f"{SHOWN}/cache", "The exchange's cache"),
    ],
)
def test_path_that_students_can_read_stops_the_grading(root, section, name, value, what):
    config = config_of(root)
    config[section][name] = value
    assert refusal_of(config).startswith(f"{what} (")
    config.RunAndJudge.sandbox = False
    assert refusal_of(config) == ""


def test_links_on_either_side_are_followed(root, tmp_path, monkeypatch):
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
