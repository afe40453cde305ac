"""A real JupyterHub with its proxy on this machine, configured as nbjudge/docs/jupyterhub.md says.

Without accounts, or on a machine where each of its people has one.
"""

import json
import os
import re
import secrets
import shutil
import signal
import subprocess
import sys
from contextlib import suppress
from pathlib import Path
from typing import Any
from urllib.error import HTTPError
from urllib.parse import quote
from urllib.request import Request, urlopen

import psutil
import pytest
from course_copies import ROOT, write_course
from machine import REFUSED, Machine
from playwright.sync_api import Page
from servers import free_ports, wait_until_it_answers, write_settings
from tutor_client import TutorClient

from nbjudge.tutor.signatures import Keys

PROXY = ROOT / ".venv/hub-proxy/node_modules/.bin/configurable-http-proxy"  # `make hub-proxy`
# Marks of the tests that use it.
NEEDS = [
    pytest.mark.integration,
    pytest.mark.browser,
    pytest.mark.timeout(600),
    pytest.mark.requires("configurable-http-proxy"),
    pytest.mark.skipif(bool(REFUSED), reason=REFUSED),
]
FORMGRADER = "/services/attention-lab/formgrader"
GRADER = "grader-attention-lab"
EXCHANGE = "srv/nbgrader/exchange"
# What a test's hub has instead of a school's passwords and machines.
OF_THE_TEST = """
c.JupyterHub.bind_url = HUB
c.JupyterHub.hub_port = {hub_port}
c.JupyterHub.db_url = "sqlite:///{home}/hub.sqlite"
c.JupyterHub.cookie_secret_file = "{home}/secret"
c.ConfigurableHTTPProxy.command = ["{proxy}"]
c.ConfigurableHTTPProxy.api_url = "http://127.0.0.1:{proxy_port}"
c.ConfigurableHTTPProxy.pid_file = "{home}/proxy.pid"
c.JupyterHub.authenticator_class = "dummy"
c.Authenticator.allow_all = True
c.Spawner.environment["OMP_NUM_THREADS"] = "1"
for service in c.JupyterHub.services:
    service["environment"] = {{"OMP_NUM_THREADS": "1"}}
c.JupyterHub.services.append({{"name": "test", "api_token": "{token}"}})
c.JupyterHub.load_roles.append({{"name": "test", "services": ["test"], "scopes": ["admin:users", "tokens"]}})
"""
# Where no one has an account, every server belongs to anyone who runs the test.
WITHOUT_ACCOUNTS = """
c.JupyterHub.spawner_class = "simple"
c.SimpleLocalProcessSpawner.home_dir_template = "{home}/homes/{{username}}"
c.Spawner.args = ["--allow-root"]
"""


def documented(file: str) -> list[str]:
    """What jupyterhub.md says to write into a file; the first line of each block names the file."""
    page = (ROOT / "nbjudge/docs/jupyterhub.md").read_text()
    return re.findall(rf"```python\n(# {re.escape(file)}\n.*?)```", page, re.DOTALL)


class Hub(TutorClient):
    """Started with a course's folder; `home` is where everything is that it writes."""

    def __init__(self, home: Path, course: Path) -> None:
        self.home, self.course, self.log = home, course, home / "log"
        here, hub, proxy, *services = free_ports(5)
        self.site = f"http://127.0.0.1:{here}"
        self.address = f"{self.site}/services/tutor"
        self._token = secrets.token_hex(16)
        self.own = {"home": home, "proxy": PROXY, "token": self._token, "hub_port": hub, "proxy_port": proxy}
        # Where the services listen, behind the proxy.
        self.listen = {
            f"127.0.0.1:{written}": f"127.0.0.1:{free}"
            for written, free in zip((8500, 8501), services, strict=True)
        }
        (home / "jupyterhub_config.py").write_text(self.configuration())
        self.start()

    def configuration(self) -> str:
        """The first block of the page, with this test's folders and addresses."""
        secret = self.home / "tutor-token"
        self.write_secret(secret)
        lines = documented("jupyterhub_config.py")[0].replace("/srv/attention-lab", str(self.course))
        lines = lines.replace("/srv/tutor-token", str(secret))
        return self.at_free_ports(lines) + (OF_THE_TEST + WITHOUT_ACCOUNTS).format(**self.own)

    def write_secret(self, path: Path) -> None:
        """Write the class's secret, from which each learner's key is made."""
        path.write_text(f"{secrets.token_hex(32)}\n")
        path.chmod(0o600)
        self.keys = Keys(path.read_text().strip())

    def at_free_ports(self, lines: str) -> str:
        for written, free in self.listen.items():
            lines = lines.replace(written, free)
        return lines.replace("http://127.0.0.1:8000", self.site)

    def command(self, *words: str) -> list[str]:
        """Return how a program is started where the hub is."""
        return list(words)

    def start(self) -> None:
        """Start the hub, or start it again with everything that it remembers."""
        path = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
        configuration = str(self.home / "jupyterhub_config.py")
        with self.log.open("a") as log:
            self.process = subprocess.Popen(
                self.command(sys.executable, "-m", "jupyterhub", "-f", configuration),
                cwd=self.home,
                env=os.environ | {"PATH": path},
                stdout=log,
                stderr=log,
                stdin=subprocess.DEVNULL,
                start_new_session=True,
            )
        wait_until_it_answers(self.process, f"{self.site}/hub/health", self.log)
        wait_until_it_answers(self.process, f"{self.address}/board", self.log)

    def token_of(self, name: str) -> str:
        """A token of someone's with which the board may be asked for."""
        with suppress(HTTPError):  # who is there already
            self._post(f"/hub/api/users/{quote(name)}", {})
        body = {"scopes": ["access:services!service=tutor"]}
        return str(self._post(f"/hub/api/users/{quote(name)}/tokens", body)["token"])

    def board(self, token: str) -> list[dict[str, Any]]:
        request = Request(f"{self.address}/board/table.json")
        request.add_header("Authorization", f"token {token}")
        with urlopen(request, timeout=60) as response:
            return list(json.loads(response.read()))

    def home_of(self, name: str) -> Path:
        return self.home / "homes" / name

    def give(self, name: str, folder: Path) -> Path:
        """Put a folder into someone's home."""
        goal = self.home_of(name) / folder.name
        shutil.copytree(folder, goal)
        return goal

    def stop(self) -> None:
        with suppress(ProcessLookupError):  # it has ended already
            os.killpg(self.process.pid, signal.SIGTERM)
        try:
            self.process.wait(60)
        finally:
            for process in self._left():
                process.kill()

    def _left(self) -> list[psutil.Process]:
        """The processes that work in this hub's folders; there are none where it has stopped as it should."""
        found = []
        for process in psutil.process_iter():
            with suppress(psutil.Error):
                if Path(process.cwd()).is_relative_to(self.home):
                    found.append(process)
        return found

    def _post(self, path: str, content: object) -> dict[str, Any]:
        request = Request(f"{self.site}{path}", json.dumps(content).encode())
        request.add_header("Authorization", f"token {self._token}")
        with urlopen(request, timeout=30) as response:
            return dict(json.loads(response.read()))


class HubWithAccounts(Hub):
    """`names` are those of the accounts beside the grader's; `home` holds the machine's folders."""

    def __init__(self, home: Path, *names: str) -> None:
        self.machine = Machine(home, GRADER, *names)
        (everybodys,) = documented("/etc/jupyter/nbgrader_config.py")
        (home / "etc/jupyter").mkdir(exist_ok=True)
        (home / "etc/jupyter/nbgrader_config.py").write_text(everybodys)
        for name in names:
            write_settings(self.machine.home(name) / ".jupyter")
            self.machine.give(name, self.machine.home(name))
        write_course(home / "srv/attention-lab", 'c.Exchange.root = "/srv/nbgrader/exchange"\n')
        self.machine.give(GRADER, home / "srv/attention-lab")
        self.exchange = home / EXCHANGE / "attention-lab"
        (home / EXCHANGE).mkdir(parents=True)
        (home / EXCHANGE).chmod(0o777)
        super().__init__(home, home / "srv/attention-lab")

    def configuration(self) -> str:
        """The page's blocks as they are there, but for addresses and passwords."""
        self.write_secret(self.home / "srv/tutor-token")
        lines = "\n".join(documented("jupyterhub_config.py"))
        return self.at_free_ports(lines) + OF_THE_TEST.format(**self.own)

    def command(self, *words: str) -> list[str]:
        return self.machine.command(*words)

    def home_of(self, name: str) -> Path:
        return self.machine.home(name)

    def own_token_of(self, name: str) -> str:
        """A token with which someone may do whatever they may do at all."""
        return str(self._post(f"/hub/api/users/{quote(name)}/tokens", {})["token"])

    def status_of(self, path: str, token: str) -> int:
        """Return what a program is answered that asks with someone's token."""
        request = Request(f"{self.site}{path}", headers={"Authorization": f"token {token}"})
        try:
            with urlopen(request, timeout=60) as response:
                return int(response.status)
        except HTTPError as error:
            return error.code

    def _left(self) -> list[psutil.Process]:
        return self.machine.running(*self.machine.numbers)


def log_in(page: Page, hub: Hub, name: str) -> None:
    """Log in at the hub, and wait for a JupyterLab."""
    page.goto(f"{hub.site}/hub/login")
    page.get_by_label("Username").fill(name)
    page.get_by_label("Password").fill("anything")
    page.get_by_role("button", name="Sign in").click()
    page.wait_for_url("**/user/**/lab**", timeout=120_000)


class OnTheHub:
    """Someone who is logged in at the hub in a browser of their own."""

    def __init__(self, hub: Hub, page: Page, name: str) -> None:
        self.hub, self.page, self.name = hub, page, name
        self.folder = hub.home_of(name)
        log_in(page, hub, name)

    def url(self, path: str) -> str:
        return f"{self.hub.site}/user/{quote(self.name)}/{path}"
