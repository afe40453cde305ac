"""`attention-lab start`: lessons are added to a learner's folder, their set-up and progress are shown."""

import errno
import importlib.util
import io
import json
import os
import shutil
import subprocess
import sys
import sysconfig
import tempfile
import tomllib
from importlib import metadata
from pathlib import Path
from unittest.mock import Mock

import nbformat
import pytest
import torch
import zmq
from jupyter_client.manager import KernelManager
from rich.console import Console

from attention_lab import cli
from attention_lab.sliders.positions import encoding_slider
from attention_lab.start import progress_page, set_up
from attention_lab.start.jupyter_lab import open_lab
from attention_lab.start.lessons import add_missing_lessons
from attention_lab.start.progress import Status, digests, read_progress
from attention_lab.tutor import RECORD
from nbjudge import CourseError
from nbjudge.course import Course
from nbjudge.tutor import LearnerRecord

SECOND = "02_second/second.ipynb"


@pytest.fixture
def course(tmp_path):
    """A course of two lessons, with everything in it that students must not get."""
    root = tmp_path / "course"
    for name in ("01_first/first.ipynb", SECOND):
        for folder in ("source", "release", "solution"):
            path = root / folder / name
            path.parent.mkdir(parents=True)
            path.write_text(f"{folder} of {path.stem}")
    (root / "release/README.md").write_text("for authors")
    (root / "release/02_second/layers.py").write_text("given = True")
    for litter in ("__pycache__/layers.pyc", ".ipynb_checkpoints/second-checkpoint.ipynb"):
        path = root / "release/02_second" / litter
        path.parent.mkdir()
        path.write_text("litter")
    return Course(root)


def files_in(folder: Path) -> dict[str, str]:
    files = (file for file in folder.rglob("*") if file.is_file() and file.name != "lessons.json")
    return {str(file.relative_to(folder)): file.read_text() for file in files}


def copy(course: Course, folder: Path) -> str:
    """Copies the lessons; returns what the student reads, on one line."""
    console = Console(file=io.StringIO(), width=1000)
    add_missing_lessons(course.root / "release", folder, console)
    return console.file.getvalue()


def test_work_is_kept_and_lessons_are_added(course, tmp_path):
    """Students get the lessons and nothing else."""
    lab = tmp_path / "new/lab"
    output = copy(course, lab)
    assert files_in(lab) == {
        "01_first/first.ipynb": "release of first",
        SECOND: "release of second",
        "02_second/layers.py": "given = True",
    }
    assert "Added" in output and "01_first, 02_second" in output and "Kept" not in output
    (lab / SECOND).write_text("three evenings of work")
    (lab / "02_second/notes.txt").write_text("mine")
    shutil.rmtree(lab / "01_first")

    output = copy(course, lab)
    assert files_in(lab / "02_second") == {
        "second.ipynb": "three evenings of work",
        "layers.py": "given = True",
        "notes.txt": "mine",
    }
    assert files_in(lab / "01_first") == {"first.ipynb": "release of first"}
    added_line, kept_line = output.splitlines()
    assert "01_first" in added_line and "02_second" not in added_line
    assert "02_second" in kept_line and "01_first" not in kept_line


@pytest.mark.parametrize("name", ["second.ipynb", "layers.py"])
def test_a_missing_file_of_a_lesson_is_restored(course, tmp_path, name):
    """The notebook or a given file comes back as released; the rest of the folder is kept."""
    lab = tmp_path / "lab"
    copy(course, lab)
    for file in ("second.ipynb", "layers.py"):
        (lab / "02_second" / file).write_text("mine")
    (lab / "02_second" / name).unlink()
    output = copy(course, lab)
    released = (course.root / "release/02_second" / name).read_text()
    assert files_in(lab / "02_second") == {"second.ipynb": "mine", "layers.py": "mine"} | {name: released}
    assert f"Restored in {lab / '02_second'}: {name}." in output and "Kept" in output
    assert "Restored" not in copy(course, lab)


def test_a_new_release_keeps_the_answers(course, tmp_path):
    def notebook(**sources):
        """Cells by id; `x` is an answer."""
        marks = {"x": {"nbgrader": {"grade_id": "softmax", "solution": True}}}
        cells = [
            {"id": name, "metadata": marks.get(name, {}), "source": source, "cell_type": "code"}
            for name, source in sources.items()
        ]
        return json.dumps({"cells": cells, "metadata": {}})

    released, own = course.root / "release" / SECOND, tmp_path / "lab" / SECOND
    released.write_text(notebook(a="old text", gone="dropped later", x="stub"))
    copy(course, tmp_path / "lab")
    edited = notebook(a="old text", gone="dropped later", x="my work", m="my own")
    own.write_text(edited)
    released.write_text(notebook(x="stub", a="new text"))
    (course.root / "release/02_second/lesson_tests.py").write_text("new = True")

    output = copy(course, tmp_path / "lab")
    cells = json.loads(own.read_text())["cells"]
    assert [cell["source"] for cell in cells] == ["my work", "my own", "new text"]
    assert (own.parent / "lesson_tests.py").read_text() == "new = True"
    backup = own.with_name("second (before the update).ipynb")
    assert backup.read_text() == edited and backup.name in output and "your answers are kept" in output
    assert "(lesson_tests.py, second.ipynb)" in output
    assert "02_second" not in copy(course, tmp_path / "lab").partition("Updated")[2]  # once is enough


@pytest.fixture
def start(course, tmp_path, monkeypatch):
    """Open the lessons with a JupyterLab that only calls a function; return what the student reads."""

    def start(launched=lambda options: None):
        monkeypatch.setattr("jupyterlab.labapp.LabApp.launch_instance", launched)
        console = Console(file=io.StringIO(), width=1000)
        open_lab(course, tmp_path / "lab", console)
        return console.file.getvalue()

    return start


def test_a_second_server_in_the_same_folder_is_refused(start, tmp_path, monkeypatch):
    server = {"root_dir": str(tmp_path / "lab"), "url": "http://localhost:8888/", "token": "t"}
    monkeypatch.setattr("jupyter_server.serverapp.list_running_servers", lambda: [server])
    address = r"http://localhost:8888/lab\?token=t"
    with pytest.raises(CourseError, match=rf"already running in .*lab: open {address}"):
        start()


@pytest.mark.parametrize(
    ("missing", "sentence"),
    [
        (("jupyterlab", "nbgrader"), "jupyterlab and nbgrader.*pip install jupyterlab nbgrader"),
        (("jupyterlab",), "beside this Python: jupyterlab.*pip install jupyterlab`"),
        (("nbgrader",), ""),
    ],
)
def test_missing_packages_are_named_with_the_command(start, monkeypatch, missing, sentence):
    """It starts without nbgrader."""
    find = importlib.util.find_spec
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None if name in missing else find(name))
    if sentence:
        with pytest.raises(CourseError, match=sentence):
            start()
        return
    started = []
    output = start(started.append)
    assert started and "Without nbgrader there is no Validate button" in output
    assert "pip install nbgrader`" in output


def test_no_news_and_encrypted_messages(start):
    """Without the second, ipykernel prints a warning into the learner's terminal."""
    settings = {}

    def read_settings(options):
        folder = Path(os.environ["JUPYTER_CONFIG_PATH"].partition(os.pathsep)[0])
        for name in ("jupyter_server_config.json", "labconfig/page_config.json"):
            settings.update(json.loads((folder / name).read_text()))

    start(read_settings)
    assert settings["disabledExtensions"]["@jupyterlab/apputils-extension:announcements"]
    if not (hasattr(KernelManager, "transport_encryption") and zmq.has("curve")):
        pytest.skip("messages to kernels cannot be encrypted with these versions")
    assert settings["KernelManager"] == {"transport_encryption": "auto"}


def test_an_interrupted_copy_is_made_again(course, tmp_path, monkeypatch):
    def interrupted(source, target, **options):
        target.mkdir()
        (target / "half").write_text("")
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(shutil, "copytree", interrupted)
        with pytest.raises(KeyboardInterrupt):
            copy(course, tmp_path / "lab")
    copy(course, tmp_path / "lab")
    assert sorted(files_in(tmp_path / "lab")) == ["01_first/first.ipynb", "02_second/layers.py", SECOND]


def test_an_unfit_folder_is_told(course, tmp_path, monkeypatch):
    (tmp_path / "essay").write_text("mine")
    with pytest.raises(CourseError, match="essay is a file: name a folder"):
        copy(course, tmp_path / "essay")
    with pytest.raises(CourseError, match="holds the lessons themselves: choose another folder"):
        copy(course, course.root / "release")

    full = OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
    monkeypatch.setattr(shutil, "copytree", Mock(side_effect=full))
    with pytest.raises(CourseError, match="No space left on device.*whose disk is not full, and start again"):
        copy(course, tmp_path / "lab")
    assert files_in(tmp_path / "lab") == {}


# ---- with nothing but the package: from a wheel, on another system, on a bad day ----

ROOT = Path(__file__).resolve().parents[1]
LESSONS = sorted(path.parent.name for path in ROOT.glob("release/*/*.ipynb"))
WINDOWS = Path(__file__).parent / "tutor" / "no_unix"  # its `sitecustomize.py` takes away what is Unix's
# Runs `start` with a JupyterLab that writes down how it was called.
START = """
import json, os, sys, threading
from pathlib import Path
import jupyterlab.labapp
from attention_lab import cli

class FakeLabApp:
    @staticmethod
    def launch_instance(options):
        settings = Path(os.environ["JUPYTER_CONFIG_PATH"].partition(os.pathsep)[0])
        seen = {"options": options, "folder": os.getcwd(), "settings": sorted(os.listdir(settings))}
        Path(os.environ["SEEN"]).write_text(json.dumps(seen))
        threading.Thread(target=threading.Event().wait).start()  # as JupyterLab's, which sometimes never end

jupyterlab.labapp.LabApp = FakeLabApp
sys.argv = ["attention-lab", "start", *sys.argv[1:]]
cli.main()
"""


def run_start(code: str, home: Path, *arguments: str, path: Path | str = ""):
    """Runs the code in a Python of its own; returns what it said and how JupyterLab was called."""
    seen = home / "seen.json"
    environment = os.environ | {"SEEN": str(seen), "COLUMNS": "1000", "PYTHONPATH": str(path)}
    run = subprocess.run(
        [sys.executable, "-c", code, *arguments], cwd=home, env=environment, capture_output=True, text=True
    )
    return run, json.loads(seen.read_text()) if seen.exists() else None


@pytest.fixture(scope="module")
def wheel(tmp_path_factory):
    """The course's wheel and nbjudge's, unpacked: built without the network and outside the repository."""
    tree, site = tmp_path_factory.mktemp("tree"), tmp_path_factory.mktemp("a site") / "site-packages"
    for name in ("attention_lab", "release", "checks", "source", "nbjudge/src/nbjudge"):
        shutil.copytree(ROOT / name, tree / name, ignore=shutil.ignore_patterns("__pycache__"))
    for name in ("pyproject.toml", "LICENSE"):
        shutil.copy(ROOT / name, tree)
        shutil.copy(ROOT / "nbjudge" / name, tree / "nbjudge")
    shutil.copy(ROOT / "nbjudge/README.md", tree / "nbjudge")
    pip = [sys.executable, "-m", "pip", "install", "-qq", "--no-index", "--no-deps", "--no-build-isolation"]
    subprocess.run(
        [*pip, "--disable-pip-version-check", "--target", site, tree, tree / "nbjudge"], check=True
    )
    return site


@pytest.mark.integration
def test_a_wheel_starts_without_the_repository(wheel, tmp_path):
    run, seen = run_start(
        START, tmp_path, "work", "--no-browser", "--port=8999", "--", "--LabApp.x=1", path=wheel
    )
    assert run.returncode == 0, run.stderr
    assert f"Added to work: {', '.join(LESSONS)}." in run.stdout
    for file in (file for file in (ROOT / "release").glob("*/*") if file.is_file()):
        assert (tmp_path / "work" / file.relative_to(ROOT / "release")).read_bytes() == file.read_bytes()
    assert seen["folder"] == str(tmp_path / "work")
    assert seen["options"][-3:] == ["--no-browser", "--port=8999", "--LabApp.x=1"]
    assert "--LabApp.default_url=/lab/tree/00_start_here/start_here.ipynb" in seen["options"]
    assert {"labconfig", "nbgrader_config.py"} <= set(seen["settings"])

    work = tmp_path / "work/03_mask/mask.ipynb"
    work.write_text("three evenings")
    shutil.rmtree(tmp_path / "work/02_scaling")
    run, _ = run_start(START, tmp_path, "work", path=wheel)
    assert work.read_text() == "three evenings"
    assert "Added to work: 02_scaling." in run.stdout
    assert "Kept as you left them in work: 00_start_here, 01_dot_product, 03_mask," in run.stdout


@pytest.mark.integration
def test_a_wheel_brings_the_tutor(wheel, tmp_path):
    """Nothing else of this repository is installed where a learner is: no grader, no clone."""
    # -S leaves out what is installed for editing, which is how the repository itself comes to be there.
    paths = os.pathsep.join((str(wheel), sysconfig.get_paths()["purelib"]))
    code = f"import nbjudge, runpy\nassert nbjudge.__file__.startswith({str(wheel)!r})\n"
    code += f"runpy.run_path({str(ROOT / '.ci/learner.py')!r}, run_name='__main__')"
    run = subprocess.run(
        [sys.executable, "-S", "-c", code],
        cwd=tmp_path,
        env=os.environ | {"PYTHONPATH": paths},
        capture_output=True,
        text=True,
    )
    assert run.returncode == 0, run.stdout + run.stderr


@pytest.mark.integration
def test_students_modules_load_on_windows(tmp_path):
    package = ROOT / "attention_lab"
    paths = {path for folder in (".", "corpus", "start", "tutor") for path in package.glob(f"{folder}/*.py")}
    parts = (path.relative_to(ROOT).with_suffix("").parts for path in paths)
    modules = sorted(".".join(part).removesuffix(".__init__") for part in parts)
    assert {"attention_lab.cli", "attention_lab.start.jupyter_lab"} <= set(modules)
    load = "import importlib, sys, rich.console, sklearn, tokenizers, tqdm, typer\nsys.platform = 'win32'\n"
    load += f"for name in {modules}:\n    importlib.import_module(name)\n"
    run, seen = run_start(load + START, tmp_path, "work", path=WINDOWS)
    assert run.returncode == 0, run.stderr
    assert sorted(path.name for path in (tmp_path / "work").glob("[!.]*")) == LESSONS
    assert "--no-browser" not in seen["options"] and "--allow-root" not in seen["options"]


def test_where_the_lessons_are_missing_it_says_so(monkeypatch, tmp_path, capsys):
    monkeypatch.setattr("attention_lab.__file__", str(tmp_path / "attention_lab/__init__.py"))
    monkeypatch.setattr(sys, "argv", ["attention-lab", "start", str(tmp_path / "work")])
    with pytest.raises(SystemExit, match="1"):
        cli.main()
    assert "The lessons are missing" in capsys.readouterr().out
    assert not (tmp_path / "work").exists()


def unfit(findings) -> str:
    (finding,) = (finding for finding in findings if not finding.fine)
    return str(finding)


def test_an_unfit_package_is_named_with_its_cure(monkeypatch, tmp_path):
    """A fine set-up says so."""
    real, torch = metadata.version, "torch>=2.6"
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    assert torch in project["dependencies"]
    findings = set_up.set_up_findings(tmp_path)
    assert len(findings) == 3 and all(finding.fine for finding in findings), [str(each) for each in findings]
    assert list(tmp_path.iterdir()) == []
    monkeypatch.setattr(metadata, "requires", lambda name: [torch, "safetensors; extra == 'grading'"])
    monkeypatch.setattr(metadata, "version", lambda name: "2.5.1" if name == "torch" else real(name))
    message = unfit(set_up.set_up_findings(tmp_path))
    assert message.startswith("✗ torch is 2.5.1; the course needs >=2.6.")
    assert f'{sys.executable} -m pip install "torch>=2.6"' in message

    missing = Mock(side_effect=metadata.PackageNotFoundError)
    monkeypatch.setattr(metadata, "version", missing)
    assert "✗ torch is missing." in unfit(set_up.set_up_findings(tmp_path))
    monkeypatch.setattr(metadata, "requires", missing)
    assert "open it with `attention-lab start`" in unfit(set_up.set_up_findings(tmp_path))


def test_a_broken_torch_is_told(monkeypatch, tmp_path):
    monkeypatch.setattr(torch, "rand", lambda *sizes, generator: torch.zeros(*sizes))
    assert "numbers in the text, no more" in unfit(set_up.set_up_findings(tmp_path))
    monkeypatch.setitem(sys.modules, "torch", None)  # importing it is then an error
    message = unfit(set_up.set_up_findings(tmp_path))
    assert "torch does not work (ModuleNotFoundError" in message and "pip install" in message


def test_a_read_only_folder_is_told(monkeypatch, tmp_path):
    refused = Mock(side_effect=PermissionError(13, "Permission denied"))
    monkeypatch.setattr(tempfile, "NamedTemporaryFile", refused)
    message = unfit(set_up.set_up_findings(tmp_path))
    assert f"Nothing can be saved in {tmp_path} (Permission denied)." in message
    assert "folder that is yours" in message


def test_the_widget_line_turns_when_a_browser_answers():
    line, player = set_up.widget_line().children
    assert line.value == set_up.WAITING and player.playing
    player.value = 1  # what a browser that shows it sends back
    assert line.value == set_up.ALIVE and not player.playing


def test_an_error_ends_in_its_own_function():
    def raising(max_len, embed_dim):
        return [][max_len]

    with pytest.raises(IndexError) as caught:
        encoding_slider(raising)
    assert caught.traceback[-1].name == "raising"
    with pytest.raises(ValueError, match=r"draws one table of shape \(T, E\), not \(1, 64, 64\): take"):
        encoding_slider(lambda max_len, embed_dim: torch.zeros(1, max_len, embed_dim))


# ---- the table of the first page: what the tutor has found, and what is next ----

NAMES = ("double", "twin", "triple")
RIGHT = "def {name}(x):\n    return 2 * x"


@pytest.fixture
def write(tmp_path):
    """Write a lesson of three exercises and a written question, as a learner saved it."""

    def written(folder="01_tiny", **answers):
        cells = [nbformat.v4.new_markdown_cell("# Tiny <steps>", id="title")]
        for name in NAMES:
            marks = {"nbgrader": {"grade_id": name, "solution": True}}
            source = answers.get(name, "raise NotImplementedError()")
            cells.append(nbformat.v4.new_code_cell(source, id=name, metadata=marks))
        for name in ("predict-one", "predict-two"):
            marks = {"nbgrader": {"grade_id": name, "grade": True, "points": 0}}
            cells.append(nbformat.v4.new_code_cell(f"ask({name!r}, a='x', b='y')", id=name, metadata=marks))
        marks = {"nbgrader": {"grade_id": "why", "solution": True}}
        cells.append(nbformat.v4.new_markdown_cell("In words.", id="why", metadata=marks))
        path = tmp_path / folder / "tiny.ipynb"
        path.parent.mkdir(exist_ok=True)
        nbformat.write(nbformat.v4.new_notebook(cells=cells), path)

    return written


@pytest.fixture
def record(tmp_path):
    return LearnerRecord(tmp_path / RECORD)


def statuses(folder, record):
    (lesson,) = read_progress(folder, record)
    return {exercise.name: exercise.status for exercise in lesson.exercises}


def test_right_until_the_saved_answer_changes(write, tmp_path, record):
    right = RIGHT.format(name="double")
    write(double=right)
    (code,) = digests(right, "double")
    record.add_check("double", "01_tiny", code, 2, 2)
    record.add_check("twin", "01_tiny", "other", 1, 2)
    assert statuses(tmp_path, record) == {"double": Status.RIGHT, "twin": Status.TRIED, "triple": Status.NEW}
    write(double=right.replace("2", "3"))
    assert statuses(tmp_path, record)["double"] == Status.CHANGED


def test_the_table_shows_progress(write, tmp_path, record, monkeypatch):
    monkeypatch.setattr(progress_page, "has_tutor", lambda: True)
    write(double=RIGHT.format(name="double"))
    (code,) = digests(RIGHT.format(name="double"), "double")
    record.add_check("double", "01_tiny", code, 2, 2)
    record.add_mistakes("double", {"twice": "It is doubled <twice>: `x`."})
    record.add_check("predict-one", "01_tiny", "a", 1, 1)
    for answer, points in (("a", 0), ("b", 1)):
        record.add_check("predict-two", "01_tiny", answer, points, 1)
    (tmp_path / "02_broken").mkdir()
    (tmp_path / "02_broken/broken.ipynb").write_text("<<<<<<< HEAD")
    buttons, status, table = progress_page.show_progress(tmp_path).children
    assert "✓ <code>double</code> <small>(1 try)</small>" in table.value and "1 of 3" in table.value
    assert "Tiny &lt;steps&gt;" in table.value and "why" not in table.value
    assert "It is doubled &lt;twice&gt;: <code>x</code>." in table.value
    assert "Predictions answered: 2, right at once: 1." in table.value
    assert "cannot be read as a notebook" in table.value
    assert 'Next: <code>twin</code> in <a href="../01_tiny/tiny.ipynb">' in status.value

    _, reset, confirm = buttons.children
    reset.click()
    assert "Your notebooks stay as they are." in status.value and "1 of 3" in table.value
    confirm.click()
    assert "0 of 3" in table.value and not record.exercises()


def test_without_a_tutor_a_sentence_helps(tmp_path, monkeypatch):
    monkeypatch.setattr(progress_page, "has_tutor", lambda: True)
    _, status, _ = progress_page.show_progress(tmp_path / "nowhere").children
    assert "open it in the folder that `attention-lab start` made" in status.value
    monkeypatch.setattr(progress_page, "has_tutor", lambda: False)
    (status,) = progress_page.show_progress(tmp_path).children
    assert "Press Validate" in status.value
