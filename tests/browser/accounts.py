"""A hub whose people have accounts, on a machine where everything is as docs/jupyterhub.md says."""

from __future__ import annotations

from pathlib import Path
from urllib.error import HTTPError
from urllib.parse import quote
from urllib.request import Request, urlopen

import psutil
import pytest
from hub import OF_THE_TEST, Hub, documented
from machine import REFUSED, Machine
from playwright.sync_api import Page
from school import ask_about_no_news
from written_question import write_course

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


class HubWithAccounts(Hub):
    """`names` are those of the accounts beside the grader's; `home` holds the machine's folders."""

    def __init__(self, home: Path, *names: str) -> None:
        self.machine = Machine(home, GRADER, *names)
        (everybodys,) = documented("/etc/jupyter/nbgrader_config.py")
        (home / "etc/jupyter").mkdir(exist_ok=True)
        (home / "etc/jupyter/nbgrader_config.py").write_text(everybodys)
        for name in names:
            ask_about_no_news(self.machine.home(name) / ".jupyter")
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

    def own_token_of(self, name: str) -> str:
        """A token with which someone may do whatever they may do at all."""
        return str(self._post(f"/hub/api/users/{quote(name)}/tokens", {})["token"])

    def status_of(self, path: str, token: str) -> int:
        """What a program is answered that asks with someone's token."""
        request = Request(f"{self.address}{path}", headers={"Authorization": f"token {token}"})
        try:
            with urlopen(request, timeout=60) as response:
                return int(response.status)
        except HTTPError as error:
            return error.code

    def _left(self) -> list[psutil.Process]:
        return self.machine.running(*self.machine.numbers)


class OnTheHub:
    """Someone with an account, logged in at the hub in a browser of their own."""

    def __init__(self, hub: HubWithAccounts, page: Page, name: str) -> None:
        self.hub, self.page, self.name = hub, page, name
        self.folder = hub.machine.home(name)
        page.goto(f"{hub.address}/hub/login")
        page.get_by_label("Username").fill(name)
        page.get_by_label("Password").fill("anything")
        page.get_by_role("button", name="Sign in").click()
        page.wait_for_url("**/user/**/lab**", timeout=120_000)

    def url(self, path: str) -> str:
        return f"{self.hub.address}/user/{quote(self.name)}/{path}"
