"""`attention-lab start`, with nothing but the package: from a wheel, on another system, on a bad day."""

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

import pytest
import torch

from attention_lab import cli
from attention_lab.sliders.positions import encoding_slider
from attention_lab.start import set_up

pytestmark = pytest.mark.integration

ROOT = Path(__file__).resolve().parents[1]
LESSONS = sorted(path.parent.name for path in ROOT.glob("release/*/*.ipynb"))
# Modules of students that must load and work where none of these is; the command that starts them, too.
POSIX_ONLY = ("fcntl", "grp", "pty", "pwd", "resource", "syslog", "termios", "tty")
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
# Windows, as far as it can be had elsewhere: other packages are loaded before, as theirs is not our word.
ON_WINDOWS = f"""
import importlib, os, sys
import ipykernel, ipywidgets, jupyterlab.labapp, matplotlib.pyplot, nbformat, pandas
import rich.console, scipy.stats, seaborn, sklearn, tokenizers, torch, tqdm, typer
for name in {POSIX_ONLY}:
    sys.modules[name] = None
for name in ("sched_getaffinity", "geteuid", "getuid", "fork", "killpg", "uname"):
    delattr(os, name)
sys.platform = "win32"
"""


def start(code: str, home: Path, *arguments: str, path: str = ""):
    """Runs the code in a Python of its own; returns what it said and how JupyterLab was called."""
    seen = home / "seen.json"
    environment = os.environ | {"SEEN": str(seen), "COLUMNS": "1000", "PYTHONPATH": path}
    run = subprocess.run(
        [sys.executable, "-c", code, *arguments], cwd=home, env=environment, capture_output=True, text=True
    )
    return run, json.loads(seen.read_text()) if seen.exists() else None


@pytest.fixture(scope="module")
def wheel(tmp_path_factory):
    """The course's wheel and nbjudge's, unpacked: built without the network and outside the repository."""
    tree, site = tmp_path_factory.mktemp("tree"), tmp_path_factory.mktemp("a site")
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


def test_a_wheel_holds_the_release_and_starts_without_the_repository(wheel, tmp_path):
    run, seen = start(
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
    run, _ = start(START, tmp_path, "work", path=wheel)
    assert work.read_text() == "three evenings"
    assert "Added to work: 02_scaling." in run.stdout
    assert "Kept as you left them in work: 00_start_here, 01_dot_product, 03_mask," in run.stdout


LEARNER = """
import json, os, sys
import torch
from attention_lab import check

def softmax(scores):
    return torch.exp(scores) / torch.exp(scores).sum(dim=-1, keepdim=True)

look = check("softmax")
seen = {"said": repr(look), "mistake": repr(look.mistake()), "solution": repr(look.solution())}
with open(os.environ["SEEN"], "w") as file:
    json.dump(seen, file)
"""


def test_a_wheel_brings_the_tutor_and_all_that_it_asks_with(wheel, tmp_path):
    """Nothing else of this repository is installed where a learner is: no grader, no clone."""
    seen, packages = tmp_path / "seen.json", sysconfig.get_paths()["purelib"]
    # -S leaves out what is installed for editing, which is how the repository itself comes to be there.
    environment = os.environ | {"SEEN": str(seen), "PYTHONPATH": os.pathsep.join((str(wheel), packages))}
    code = f"import nbjudge\nassert nbjudge.__file__.startswith({str(wheel)!r})\n{LEARNER}"
    run = subprocess.run(
        [sys.executable, "-S", "-c", code], cwd=tmp_path, env=environment, capture_output=True, text=True
    )
    assert run.returncode == 0, run.stderr
    replies = json.loads(seen.read_text())
    assert "5 of 6 groups of cases agree" in replies["said"]
    assert "exp overflows to inf" in replies["mistake"]
    assert "after 3 tries" in replies["solution"]


def test_every_module_that_students_have_loads_and_starts_on_windows(tmp_path):
    package = ROOT / "attention_lab"
    paths = {path for folder in (".", "corpus", "start", "tutor") for path in package.glob(f"{folder}/*.py")}
    parts = (path.relative_to(ROOT).with_suffix("").parts for path in paths)
    modules = sorted(".".join(each).removesuffix(".__init__") for each in parts)
    assert {"attention_lab.cli", "attention_lab.start.jupyter_lab"} <= set(modules)
    load = f"for name in {modules}:\n    importlib.import_module(name)\n"
    run, seen = start(ON_WINDOWS + load + START, tmp_path, "work")
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


def test_a_set_up_that_is_fine_says_so_and_leaves_nothing_behind(tmp_path):
    findings = set_up.set_up_findings(tmp_path)
    assert len(findings) == 3 and all(finding.fine for finding in findings), [str(each) for each in findings]
    assert list(tmp_path.iterdir()) == []


def unfit(findings) -> str:
    (finding,) = (finding for finding in findings if not finding.fine)
    return str(finding)


def test_a_package_that_does_not_fit_is_named_with_the_command_that_fixes_it(monkeypatch, tmp_path):
    real, torch = metadata.version, "torch>=2.6"
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    assert torch in project["dependencies"]
    monkeypatch.setattr(metadata, "requires", lambda name: [torch, "safetensors; extra == 'grading'"])
    monkeypatch.setattr(metadata, "version", lambda name: "2.5.1" if name == "torch" else real(name))
    message = unfit(set_up.set_up_findings(tmp_path))
    assert message.startswith("✗ torch is 2.5.1; the course needs >=2.6.")
    assert f'{sys.executable} -m pip install "torch>=2.6"' in message

    def missing(name):
        raise metadata.PackageNotFoundError(name)

    monkeypatch.setattr(metadata, "version", missing)
    assert "✗ torch is missing." in unfit(set_up.set_up_findings(tmp_path))
    monkeypatch.setattr(metadata, "requires", missing)
    assert "open it with `attention-lab start`" in unfit(set_up.set_up_findings(tmp_path))


def test_a_torch_that_is_broken_or_draws_other_numbers_is_told_apart(monkeypatch, tmp_path):
    monkeypatch.setattr(torch, "rand", lambda *sizes, generator: torch.zeros(*sizes))
    assert "numbers in the text, no more" in unfit(set_up.set_up_findings(tmp_path))
    monkeypatch.setitem(sys.modules, "torch", None)  # importing it is then an error
    message = unfit(set_up.set_up_findings(tmp_path))
    assert "torch does not work (ModuleNotFoundError" in message and "pip install" in message


def test_a_folder_that_takes_no_files_is_said_in_a_sentence(monkeypatch, tmp_path):
    def refused(**options):
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(tempfile, "NamedTemporaryFile", refused)
    message = unfit(set_up.set_up_findings(tmp_path))
    assert (
        f"Nothing can be saved in {tmp_path} (Permission denied)." in message
        and "folder that is yours" in message
    )


def test_the_widget_line_turns_when_a_browser_answers():
    line, player = set_up.widget_line().children
    assert line.value == set_up.WAITING and player.playing
    player.value = 1  # what a browser that shows it sends back
    assert line.value == set_up.ALIVE and not player.playing


def test_an_error_in_a_function_that_a_helper_calls_ends_in_that_function():
    def raising(max_len, embed_dim):
        return [][max_len]

    with pytest.raises(IndexError) as caught:
        encoding_slider(raising)
    assert caught.traceback[-1].name == "raising"
    with pytest.raises(ValueError, match=r"draws one table of shape \(T, E\), not \(1, 64, 64\): take"):
        encoding_slider(lambda max_len, embed_dim: torch.zeros(1, max_len, embed_dim))
