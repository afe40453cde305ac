"""A real JupyterHub with its proxy on this machine, configured as docs/jupyterhub.md says."""

from __future__ import annotations

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
from ports import free_ports
from waiting import wait_until_it_answers

from nbjudge.tutor.messages import decode_reply
from nbjudge.tutor.signatures import Keys, authorization

ROOT = Path(__file__).resolve().parents[2]
PROXY = ROOT / ".venv/hub-proxy/node_modules/.bin/configurable-http-proxy"  # `make hub-proxy`
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
    """What docs/jupyterhub.md says to write into a file; the first line of each block names the file."""
    page = (ROOT / "docs/jupyterhub.md").read_text()
    return re.findall(rf"```python\n(# {re.escape(file)}\n.*?)```", page, re.DOTALL)


class Hub:
    """Started with a course's folder; `home` is where everything is that it writes."""

    def __init__(self, home: Path, course: Path) -> None:
        self.home, self.course, self.log = home, course, home / "log"
        here, hub, proxy, *services = free_ports(5)
        self.address = f"http://127.0.0.1:{here}"
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
        return lines.replace("http://127.0.0.1:8000", self.address)

    def command(self, *words: str) -> list[str]:
        """How a program is started where the hub is."""
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
        wait_until_it_answers(self.process, f"{self.address}/hub/health", self.log)
        wait_until_it_answers(self.process, f"{self.address}/services/tutor/board", self.log)

    def token_of(self, name: str) -> str:
        """A token of someone's with which the board may be asked for."""
        with suppress(HTTPError):  # who is there already
            self._post(f"/hub/api/users/{quote(name)}", {})
        body = {"scopes": ["access:services!service=tutor"]}
        return str(self._post(f"/hub/api/users/{quote(name)}/tokens", body)["token"])

    def ask(
        self, name: str, action: str, message: dict[str, Any], key: str = ""
    ) -> tuple[int, dict[str, Any]]:
        """What a learner's kernel asks the tutor, with the learner's key."""
        line = json.dumps({name: value for name, value in message.items() if name != "text"})
        body = "\n".join([line, *([message["text"]] if "text" in message else [])]).encode()
        header, _ = authorization(name, key or self.keys.key_of(name), action, body)
        request = Request(f"{self.address}/services/tutor/{action}", body)
        request.add_header("Authorization", header)
        return _read(request)

    def board(self, token: str) -> list[dict[str, Any]]:
        request = Request(f"{self.address}/services/tutor/board/table.json")
        request.add_header("Authorization", f"token {token}")
        status, rows = _read(request)
        assert status == 200, rows
        return rows  # type: ignore[return-value]

    def give(self, name: str, folder: Path) -> Path:
        """Put a folder into someone's home."""
        goal = self.home / "homes" / name / folder.name
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
        request = Request(f"{self.address}{path}", json.dumps(content).encode())
        request.add_header("Authorization", f"token {self._token}")
        with urlopen(request, timeout=30) as response:
            return dict(json.loads(response.read()))


def _read(request: Request) -> tuple[int, Any]:
    try:
        with urlopen(request, timeout=60) as response:
            body = response.read()
            tutors = response.headers.get_content_type() == "text/plain"  # the board's table is JSON
            return response.status, decode_reply(body) if tutors else json.loads(body)
    except OSError as error:
        if not hasattr(error, "code"):
            raise
        text = error.read().decode()
        return error.code, json.loads(text) if text.startswith("{") else {"error": text}
