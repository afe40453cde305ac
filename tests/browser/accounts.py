"""A hub on a machine where everybody has an account, as a school's: its folders are where the page says.

The hub runs as root in a mount namespace of its own, in which /etc, /home, /root and /srv are folders of the
test: the machine itself is as it was. Everything else is real: the system's accounts, the rights of files, the
spawner that becomes its users.
"""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
import sys
from pathlib import Path
from urllib.error import HTTPError
from urllib.parse import quote
from urllib.request import Request, urlopen

import psutil
import pytest
from hub import OF_THE_TEST, PROXY, ROOT, Hub, documented
from playwright.sync_api import Page
from school import ask_about_no_news
from written_question import write_course

# Marks of the tests that use it.
NEEDS = [
    pytest.mark.browser,
    pytest.mark.timeout(600),
    pytest.mark.skipif(not PROXY.exists(), reason="no proxy for a hub: `make hub-proxy` needs npm"),
    pytest.mark.skipif(
        os.geteuid() != 0 or not shutil.which("unshare"),
        reason="a hub that starts servers under other accounts is started by root",
    ),
]
FORMGRADER = "/services/attention-lab/formgrader"
GRADER = "grader-attention-lab"
EXCHANGE = "srv/nbgrader/exchange"
FIRST_NUMBER = 20_001  # of the accounts
PLACES = ("etc", "home", "root", "srv")  # these are the test's own folders
KEPT = sorted({ROOT, Path(sys.base_prefix), Path(sys.prefix)})


class HubWithAccounts(Hub):
    """`names` are those of the accounts beside the grader's; `home` holds the machine's folders."""

    def __init__(self, home: Path, *names: str) -> None:
        self.numbers = {name: FIRST_NUMBER + place for place, name in enumerate((GRADER, *names))}
        self._make_the_machine(home)
        super().__init__(home, home / "srv/attention-lab")

    def _make_the_machine(self, home: Path) -> None:
        shutil.copytree("/etc", home / "etc", symlinks=True, ignore_dangling_symlinks=True)
        (home / "etc/jupyter").mkdir(exist_ok=True)
        (everybodys,) = documented("/etc/jupyter/nbgrader_config.py")
        (home / "etc/jupyter/nbgrader_config.py").write_text(everybodys)
        with (home / "etc/passwd").open("a") as accounts:
            for name, number in self.numbers.items():
                accounts.write(f"{name}:x:{number}:{number}::/home/{name}:/bin/sh\n")
        for name in self.numbers:
            ask_about_no_news(self.folder(name, home) / ".jupyter")
            self.belongs_to(name, self.folder(name, home))
        write_course(home / "srv/attention-lab", 'c.Exchange.root = "/srv/nbgrader/exchange"\n')
        self.belongs_to(GRADER, home / "srv/attention-lab")
        (home / "root").mkdir()
        (home / EXCHANGE).mkdir(parents=True)
        (home / EXCHANGE).chmod(0o777)

    def belongs_to(self, name: str, folder: Path) -> None:
        """Give a folder to somebody alone."""
        for path in (folder, *folder.rglob("*")):
            os.chown(path, self.numbers[name], self.numbers[name])
        folder.chmod(0o700)

    def folder(self, name: str, home: Path | None = None) -> Path:
        return (home or self.home) / "home" / name

    def configuration(self) -> str:
        """The page's blocks as they stand there, but for addresses and passwords."""
        lines = "\n".join(documented("jupyterhub_config.py"))
        return self.at_free_ports(lines) + OF_THE_TEST.format(**self.own)

    def command(self, *words: str) -> list[str]:
        mounts = []
        for place in PLACES:
            for kept in KEPT:
                if kept.is_relative_to(f"/{place}"):  # a clone in somebody's home stays in sight
                    (self.home / kept.relative_to("/")).mkdir(parents=True, exist_ok=True)
                    mounts.append(["mount", "--bind", str(kept), str(self.home / kept.relative_to("/"))])
            mounts.append(["mount", "--rbind", str(self.home / place), f"/{place}"])
        script = " && ".join([*map(shlex.join, mounts), 'exec "$@"'])
        return ["unshare", "--mount", "sh", "-c", script, "sh", *words]

    def run_as(self, name: str, *words: str) -> subprocess.CompletedProcess[str]:
        """What becomes of a command that somebody types on the machine."""
        number = str(self.numbers[name])
        become = ["setpriv", "--reuid", number, "--regid", number, "--clear-groups"]
        return subprocess.run(self.command(*become, *words), capture_output=True, text=True, cwd="/")

    def own_token_of(self, name: str) -> str:
        """A token with which somebody may do whatever they may do at all."""
        return str(self._post(f"/hub/api/users/{quote(name)}/tokens", {})["token"])

    def status_of(self, path: str, token: str) -> int:
        """What a program is answered that asks with somebody's token."""
        request = Request(f"{self.address}{path}", headers={"Authorization": f"token {token}"})
        try:
            with urlopen(request, timeout=60) as response:
                return int(response.status)
        except HTTPError as error:
            return error.code

    def _left(self) -> list[psutil.Process]:
        """Whoever still runs under one of the accounts."""
        return [
            process
            for process in psutil.process_iter(["uids"])
            if process.info["uids"] and process.info["uids"].real in self.numbers.values()
        ]


class OnTheHub:
    """Somebody with an account, logged in at the hub in a browser of their own."""

    def __init__(self, hub: HubWithAccounts, page: Page, name: str) -> None:
        self.hub, self.page, self.name = hub, page, name
        self.folder = hub.folder(name)
        page.goto(f"{hub.address}/hub/login")
        page.get_by_label("Username").fill(name)
        page.get_by_label("Password").fill("anything")
        page.get_by_role("button", name="Sign in").click()
        page.wait_for_url("**/user/**/lab**", timeout=120_000)

    def url(self, path: str) -> str:
        return f"{self.hub.address}/user/{quote(self.name)}/{path}"
