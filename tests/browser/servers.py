"""JupyterLab as learners and instructors have it, and a tiny school with an exchange."""

from __future__ import annotations

import json
import os
import secrets
import signal
import socket
import subprocess
import sys
import time
import urllib.request
from contextlib import ExitStack, suppress
from pathlib import Path

import nbformat
from course_copies import ROOT, write_course
from nbgrader.auth import Authenticator
from nbgrader.coursedir import CourseDirectory
from nbgrader.exchange.default import ExchangeSubmit
from tiny_course import FOLDER, NAME

from nbjudge.course import read_config

PATIENCE = 120  # seconds
# Below those that the system gives to a program that asks for any port (Linux: from 32768 on): no other
# program gets one of them between this choice and the server's start.
PORTS = range(15_000, 32_000)
OPEN_LAB = """
import sys
from pathlib import Path
from rich.console import Console
from nbjudge.course import Course
from attention_lab.start.jupyter_lab import open_lab
open_lab(Course(Path(sys.argv[1])), Path("lessons"), Console())
"""
SETTINGS = "lab/user-settings/@jupyterlab/apputils-extension"
# JupyterLab asks its first visitor whether it may fetch news, and covers the page with the question.
NO_NEWS = {"fetchNews": "false", "checkForUpdates": False}


def free_ports(count: int) -> list[int]:
    """Different ports of 127.0.0.1 that no one listens on."""
    with ExitStack() as held:
        ports: list[int] = []
        while len(ports) < count:
            port = secrets.choice(PORTS)  # tests may seed `random`
            with suppress(OSError):  # in use
                held.enter_context(socket.socket()).bind(("127.0.0.1", port))
                ports.append(port)
        return ports


def wait_until_it_answers(process: subprocess.Popen[bytes], address: str, log: Path) -> None:
    """Return as soon as `address` answers; fail with the server's own words where it never does."""
    deadline = time.monotonic() + PATIENCE
    while True:
        assert process.poll() is None, log.read_text()
        try:
            urllib.request.urlopen(address, timeout=10).close()
            return
        except OSError:
            assert time.monotonic() < deadline, log.read_text()
            time.sleep(0.1)


def write_settings(config: Path, theme: str = "JupyterLab Light") -> None:
    """Choose a theme and answer JupyterLab's question, in someone's folder for settings."""
    (config / SETTINGS).mkdir(parents=True)
    for name, settings in (("notification", NO_NEWS), ("themes", {"theme": theme})):
        (config / SETTINGS / f"{name}.jupyterlab-settings").write_text(json.dumps(settings))


class Lab:
    """A running JupyterLab, and the folder of the student who uses it."""

    token = "student"

    def __init__(self, home: Path, theme: str = "JupyterLab Light", **environment: str):
        self.home, self.log = home, home / "log"
        (self.port,) = free_ports(1)
        write_settings(home / "config", theme)
        self.environment = environment | self.own_environment()
        self.start()

    @property
    def folder(self) -> Path:
        return self.home / "lessons"

    def own_environment(self) -> dict[str, str]:
        return {"JUPYTER_PORT": str(self.port), "JUPYTER_IP": "127.0.0.1", "JUPYTER_TOKEN": self.token}

    def command(self) -> list[str]:
        return ["-c", OPEN_LAB, str(ROOT)]

    def start(self) -> None:
        own = {f"JUPYTER_{name.upper()}_DIR": str(self.home / name) for name in ("config", "data", "runtime")}
        own |= {"HOME": str(self.home), "OMP_NUM_THREADS": "1"}
        hidden = ("DISPLAY", "WAYLAND_DISPLAY")  # no second browser
        visible = {name: value for name, value in os.environ.items() if name not in hidden}
        with self.log.open("w") as log:
            self.process = subprocess.Popen(
                [sys.executable, *self.command()],
                cwd=self.folder if self.folder.exists() else self.home,
                env=visible | own | self.environment,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                start_new_session=True,
            )
        try:
            wait_until_it_answers(self.process, self.url("api/status"), self.log)
        except AssertionError:
            self.process.kill()
            raise

    def url(self, path: str = "lab") -> str:
        return f"http://127.0.0.1:{self.port}/{path}?token={self.token}"

    def stop(self) -> None:
        """As Ctrl-C does."""
        with suppress(ProcessLookupError):
            os.killpg(self.process.pid, signal.SIGINT)
        try:
            self.process.wait(150)
        finally:
            self.process.kill()


class Teacher(Lab):
    """Anyone who runs a school's course, in a JupyterLab in its own folder that is open within `with`."""

    token = "teacher"

    def __init__(self, school: Path):
        self.school = school
        super().__init__(school / "home/teacher")

    @property
    def folder(self) -> Path:
        return self.school / "course"

    def own_environment(self) -> dict[str, str]:
        # What anyone who sets up a server for a class writes for everybody, beside the exchange itself.
        (self.home / "config/nbgrader_config.py").write_text(
            f'c = get_config()\nc.CourseDirectory.course_id = "attention-lab"\nc.Execute.timeout = 300\n'
            f'c.Exchange.root = "{self.school / "exchange"}"\n'
        )
        return {}

    def command(self) -> list[str]:
        server = ["--ServerApp.port_retries=0", "--ServerApp.answer_yes=True", "--allow-root"]
        server += [f"--port={self.port}", f"--IdentityProvider.token={self.token}"]
        return ["-m", "jupyterlab", "--no-browser", *server]

    def __enter__(self) -> Teacher:
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()


def make_school(root: Path) -> None:
    """The tiny course with a question, in `course/`, and an exchange; nothing is released yet."""
    (root / "exchange").mkdir(parents=True)
    (root / "exchange").chmod(0o777)
    write_course(root / "course", f'c.Exchange.root = "{root / "exchange"}"\n')


def submit(school: Path, student: str, notebook: nbformat.NotebookNode) -> None:
    """What a student's *Submit* does, for a notebook that they solved elsewhere."""
    home = school / "home" / student
    (home / FOLDER).mkdir(parents=True)
    nbformat.write(notebook, home / FOLDER / f"{NAME}.ipynb")
    config = read_config(school / "course")
    config.CourseDirectory.merge({"root": str(home), "student_id": student, "assignment_id": FOLDER})
    config.Exchange.merge({"assignment_dir": str(home), "cache": str(home / "cache")})
    parts = {"coursedir": CourseDirectory(config=config), "authenticator": Authenticator(config=config)}
    ExchangeSubmit(config=config, **parts).start()
