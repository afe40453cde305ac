"""A machine where everybody has an account, as a school's, without a change to this one.

Its /etc, /home, /root and /srv are folders of the test, seen in a mount namespace. The rest is real:
accounts, the rights of files, anyone who becomes another user.
"""

import os
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import psutil
from shared_hooks import REPOSITORY

# The accounts' numbers: those of tests that run at the same time differ.
FIRST_NUMBER, MOST = 20_000 + 8 * (os.getpid() % 5_000), 8
PLACES = ("etc", "home", "root", "srv")
# A clone in someone's home, and the Python that it uses, stay in sight.
KEPT = sorted({REPOSITORY, Path(sys.base_prefix), Path(sys.prefix)})
# Why there is no such machine here; nothing if there can be one.
REFUSED = "" if os.geteuid() == 0 and shutil.which("unshare") else "other accounts are root's to become"


class Machine:
    """Everything of it is in `folder`."""

    def __init__(self, folder: Path, *names: str) -> None:
        assert len(names) <= MOST
        self.place = folder
        self.numbers = {name: FIRST_NUMBER + place for place, name in enumerate(names)}
        shutil.copytree("/etc", folder / "etc", symlinks=True, ignore_dangling_symlinks=True)
        for place in ("root", "srv"):
            (folder / place).mkdir()
        with (folder / "etc/passwd").open("a") as accounts:
            for name, number in self.numbers.items():
                accounts.write(f"{name}:x:{number}:{number}::/home/{name}:/bin/sh\n")
                self.home(name).mkdir(parents=True)
                self.give(name, self.home(name))

    def home(self, name: str) -> Path:
        return self.place / "home" / name

    def give(self, name: str, folder: Path) -> None:
        """Give a folder to someone alone."""
        for path in (folder, *folder.rglob("*")):
            os.chown(path, self.numbers[name], self.numbers[name])
        folder.chmod(0o700)

    def command(self, *words: str) -> list[str]:
        """Words to run there, as root."""
        mounts = []
        for place in PLACES:
            for folder in KEPT:
                if folder.is_relative_to(f"/{place}"):
                    (self.place / folder.relative_to("/")).mkdir(parents=True, exist_ok=True)
                    mounts.append(["mount", "--bind", str(folder), str(self.place / folder.relative_to("/"))])
            mounts.append(["mount", "--rbind", str(self.place / place), f"/{place}"])
        script = " && ".join([*map(shlex.join, mounts), 'exec "$@"'])
        return ["unshare", "--mount", "sh", "-c", script, "sh", *words]

    def typed(self, name: str, *words: str) -> subprocess.CompletedProcess[str]:
        """Return what becomes of a command that someone types at home."""
        number, home = str(self.numbers[name]), f"/home/{name}"
        become = ["setpriv", "--reuid", number, "--regid", number, "--clear-groups"]
        path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
        there = ["env", f"--chdir={home}", f"HOME={home}", f"PATH={path}", "OMP_NUM_THREADS=1"]
        return subprocess.run(self.command(*become, *there, *words), capture_output=True, text=True, cwd="/")

    def running(self, *names: str) -> list[psutil.Process]:
        """List what runs under these accounts; a process that has ended and waits for its parent does not."""
        numbers = {self.numbers[name] for name in names}
        processes = psutil.process_iter(["name", "uids", "status"])
        running = [
            process for process in processes if process.info["uids"] and process.info["uids"].real in numbers
        ]
        return [each for each in running if each.info["status"] != psutil.STATUS_ZOMBIE]
