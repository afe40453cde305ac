"""A tiny course with a written question, an exchange, and the people who meet there."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from contextlib import suppress
from pathlib import Path

import nbformat
from nbgrader.apps import NbGraderAPI
from nbgrader.auth import Authenticator
from nbgrader.coursedir import CourseDirectory
from nbgrader.exchange.default import ExchangeSubmit
from playwright.sync_api import expect
from ports import free_ports
from tiny_course import FOLDER, NAME
from waiting import wait_until_it_answers
from written_question import write_course

from nbjudge.course.configuration import read_config

expect.set_options(timeout=60_000)
# What anyone who sets up a server for a class writes for everybody, beside the exchange itself.
FOR_EVERYBODY = """c = get_config()
c.CourseDirectory.course_id = "attention-lab"
c.Exchange.root = "{exchange}"
c.Execute.timeout = 300
"""
# JupyterLab asks its first visitor whether it may fetch news, and covers the page with the question.
NO_NEWS = {"fetchNews": "false", "checkForUpdates": False}
NOTIFICATIONS = "lab/user-settings/@jupyterlab/apputils-extension/notification.jupyterlab-settings"
PASSWD = "root:x:0:0:root:/root:/bin/sh\n{name}:x:{number}:{number}::{home}:/bin/sh\n"


def make_school(root: Path) -> None:
    """The tiny course with a question, in `course/`, and an exchange; nothing is released yet."""
    (root / "exchange").mkdir(parents=True)
    (root / "exchange").chmod(0o777)
    write_course(root / "course", f'c.Exchange.root = "{root / "exchange"}"\n')


def instructor(course: Path) -> NbGraderAPI:
    """What nbgrader's commands do in the course's folder, without a new Python for each."""
    config = read_config(course)
    config.CourseDirectory.root = str(course)
    return NbGraderAPI(CourseDirectory(config=config), config=config)


def ask_about_no_news(config: Path) -> None:
    """Answer JupyterLab's question beforehand, in someone's folder for settings."""
    (config / NOTIFICATIONS).parent.mkdir(parents=True)
    (config / NOTIFICATIONS).write_text(json.dumps(NO_NEWS))


class Person:
    """Someone with a name, a home folder and a JupyterLab of their own that is started with `with`.

    The system itself tells JupyterLab the name, as it does on a server where each student has an
    account: the exchange knows people by it. Bubblewrap lends the accounts.
    """

    def __init__(self, name: str, school: Path, folder: Path | None = None):
        self.name, self.home = name, school / "home" / name
        self.folder = folder or self.home / "work"
        self.log = self.home / "log"
        self.folder.mkdir(parents=True, exist_ok=True)
        ask_about_no_news(self.home / "config")
        (self.home / "config/nbgrader_config.py").write_text(
            FOR_EVERYBODY.format(exchange=school / "exchange")
        )
        (self.port,) = free_ports(1)

    def url(self, path: str = "lab") -> str:
        return f"http://127.0.0.1:{self.port}/{path}?token={self.name}"

    def environment(self) -> dict[str, str]:
        own = {f"JUPYTER_{name.upper()}_DIR": str(self.home / name) for name in ("config", "data", "runtime")}
        # nbgrader calls alembic by its name; it is installed beside the interpreter.
        path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
        return os.environ | own | {"HOME": str(self.home), "PATH": path, "OMP_NUM_THREADS": "1"}

    def command(self, *words: str) -> list[str]:
        """Words to run under this person's name."""
        accounts, number = self.home / "passwd", "2001"
        accounts.write_text(PASSWD.format(name=self.name, number=number, home=self.home))
        lent = ["--unshare-user", "--uid", number, "--gid", number, "--ro-bind", str(accounts), "/etc/passwd"]
        return ["bwrap", "--dev-bind", "/", "/", *lent, "--die-with-parent", *words]

    def __enter__(self) -> Person:
        options = ["--no-browser", f"--port={self.port}", "--ServerApp.port_retries=0"]
        options += [f"--IdentityProvider.token={self.name}", "--ServerApp.answer_yes=True", "--allow-root"]
        with self.log.open("w") as log:
            self.process = subprocess.Popen(
                self.command(sys.executable, "-m", "jupyterlab", *options),
                cwd=self.folder,
                env=self.environment(),
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                start_new_session=True,
            )
        return self

    def wait_until_jupyterlab_answers(self) -> None:
        wait_until_it_answers(self.process, self.url("api/status"), self.log)

    def __exit__(self, *_: object) -> None:
        with suppress(ProcessLookupError):  # it never started, which was said already
            os.killpg(self.process.pid, signal.SIGINT)
        try:
            self.process.wait(60)
        finally:
            self.process.kill()


class Teacher(Person):
    """Anyone who runs the course, from its own folder, with the account that the tests run in."""

    def __init__(self, school: Path):
        super().__init__("teacher", school, school / "course")

    def command(self, *words: str) -> list[str]:
        return list(words)


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
