"""The repository as someone else has it, set up as this one is: to type commands in as a reader does."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
READY = ".attention-lab-ready"


def fresh_clone(folder: Path) -> Path:
    """Copy what git has of the working tree into `folder`, and link the environment that is in use."""
    listed = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    )
    for name in filter(None, listed.stdout.split("\0")):
        if (ROOT / name).is_file():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(ROOT / name, folder / name)
            shutil.copymode(ROOT / name, folder / name)
    link_environment(folder)
    return folder


def link_environment(folder: Path) -> None:
    """Let `make` find the environment set up and newer than all that asks for one: it must not set it up."""
    (folder / ".venv").mkdir()
    for entry in Path(sys.prefix).iterdir():
        (folder / ".venv" / entry.name).symlink_to(entry)
    (folder / ".venv" / READY).unlink(missing_ok=True)
    (folder / ".venv" / READY).touch()
    for name in ("pyproject.toml", "nbjudge/pyproject.toml"):
        os.utime(folder / name, (0, 0))


def typed(folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    """What a command does that someone types in this folder."""
    own = {name: value for name, value in os.environ.items() if not name.startswith("MAKE")}
    return subprocess.run(words, cwd=folder, env=own, capture_output=True, text=True)
