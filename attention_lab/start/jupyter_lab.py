"""JupyterLab on a student's copy of the lessons."""

from __future__ import annotations

import importlib.util
import json
import os
import sys
from collections.abc import Iterator, Sequence
from contextlib import chdir, contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

from attention_lab.errors import CourseError
from attention_lab.start.lessons import FIRST_PAGE, add_missing_lessons

if TYPE_CHECKING:
    from rich.console import Console

    from nbjudge.course import Course

# Validate runs the whole notebook. nbgrader would give a cell 30 seconds: too few to train on a slow machine.
VALIDATE_CONFIG = "c = get_config()\nc.Execute.timeout = 300\n"
# Of nbgrader's parts students need the Validate button; the others are for authors or for a shared server.
SERVER_PARTS = [
    f"nbgrader.server_extensions.{part}" for part in ("assignment_list", "course_list", "formgrader")
]
# JupyterLab would ask whether it may look for news.
BROWSER_PARTS = ["@jupyterlab/apputils-extension:announcements"]
BROWSER_PARTS += [
    f"@jupyter/nbgrader:{part}"
    for part in ("menu", "assignment-list", "course-list", "create-assignment", "formgrader")
]

# What this JupyterLab has besides what is installed: pictures that are readable on its dark page.
OWN_EXTENSIONS = Path(__file__).parent / "labextensions"


def open_lab(course: Course, folder: Path, console: Console) -> None:
    """Bring the course's released lessons into `folder` and run JupyterLab there until it is stopped."""
    open_lessons(course.folders.release, folder, console)


def open_lessons(release: Path, folder: Path, console: Console, options: Sequence[str] = ()) -> None:
    """Bring the lessons of `release` into `folder` and run JupyterLab there until it is stopped.

    `options` are JupyterLab's own (`--no-browser`). CourseError if it is missing, or nothing can be written.
    """
    missing = [name for name in ("jupyterlab", "nbgrader") if importlib.util.find_spec(name) is None]
    install = f"run `{sys.executable} -m pip install {' '.join(missing)}`"
    if "jupyterlab" in missing:
        raise CourseError(
            f"Not installed beside this Python: {' and '.join(missing)}. To open the lessons {install}."
        )
    if missing:
        console.print(
            f"Without nbgrader there is no Validate button. To have it {install}.",
            highlight=False,
            soft_wrap=True,
        )
    from jupyterlab.labapp import LabApp  # type: ignore[import-untyped]

    _refuse_second_server(folder)
    add_missing_lessons(release, folder, console)
    console.print("JupyterLab starts. Save your work there, and stop it here with Ctrl-C.")
    with chdir(folder), _student_settings():
        LabApp.launch_instance([*_options(), *options])
    console.print(f"JupyterLab has stopped. What you saved is in {folder}.", highlight=False)


def end() -> None:
    """End this process after JupyterLab, and do not wait for its threads.

    One of them sometimes never ends, and Python waits for it (github.com/jupyterlab/jupyterlab/issues/10442).
    """
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(0)


def _encryption() -> dict[str, str]:
    """The option that encrypts messages to kernels, where it exists: without it, kernels print a warning."""
    import zmq
    from jupyter_client.manager import KernelManager

    return (
        {"transport_encryption": "auto"}
        if hasattr(KernelManager, "transport_encryption") and zmq.has("curve")
        else {}
    )


def _refuse_second_server(folder: Path) -> None:
    """Raise CourseError if a server runs in the folder already: each would overwrite the other's files."""
    from jupyter_server.serverapp import list_running_servers

    for server in list_running_servers():
        if Path(server["root_dir"]).resolve() == folder.resolve():
            address = f"{server['url']}lab?token={server['token']}"
            raise CourseError(
                f"JupyterLab is already running in {folder}: open {address}, or stop it with Ctrl-C in the "
                "terminal where it was started."
            )


@contextmanager
def _student_settings() -> Iterator[None]:
    """Settings for this JupyterLab alone: what is configured on the machine stays as it is."""
    before = os.environ.get("JUPYTER_CONFIG_PATH")
    with TemporaryDirectory(prefix="attention-lab-") as folder:
        settings = Path(folder)
        (settings / "labconfig").mkdir()
        (settings / "nbgrader_config.py").write_text(VALIDATE_CONFIG)
        server = {
            "ServerApp": {"jpserver_extensions": dict.fromkeys(SERVER_PARTS, False)},
            "KernelManager": _encryption(),
            # Looking for language servers, which these lessons do not need, runs npm beside the first page.
            "LanguageServerManager": {"autodetect": False},
        }
        (settings / "jupyter_server_config.json").write_text(json.dumps(server))
        # JupyterLab would also ask Node whether it must be built again: three seconds beside the first page.
        browser = {"disabledExtensions": dict.fromkeys(BROWSER_PARTS, True), "buildCheck": False}
        (settings / "labconfig/page_config.json").write_text(json.dumps(browser))
        os.environ["JUPYTER_CONFIG_PATH"] = folder if before is None else f"{folder}{os.pathsep}{before}"
        try:
            yield
        finally:
            del os.environ["JUPYTER_CONFIG_PATH"]
            if before is not None:
                os.environ["JUPYTER_CONFIG_PATH"] = before


def _options() -> list[str]:
    options = [
        "--Application.log_level=ERROR",  # what is left is the address, and what goes wrong
        "--ServerApp.answer_yes=True",  # Ctrl-C stops it without a question
        f"--LabApp.extra_labextensions_path={OWN_EXTENSIONS}",
    ]
    if Path(FIRST_PAGE).exists():
        options.append(f"--LabApp.default_url=/lab/tree/{FIRST_PAGE}")
    if sys.platform == "linux" and not (os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY")):
        options.append("--no-browser")  # on a server: a text browser would take over the terminal
    if hasattr(os, "geteuid") and os.geteuid() == 0:
        options.append("--allow-root")  # in a container there may be no other user
    return options
