"""Where no sandbox can be made it is said why, in one sentence that names what to do about it."""

import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from nbjudge.errors import SandboxError
from nbjudge.sandbox import bubblewrap
from nbjudge.sandbox.fork_server_client import ForkServer


@pytest.fixture(autouse=True)
def fresh() -> Iterator[None]:
    """The answer is kept for a whole run of the grader; here each test has a machine of its own."""
    bubblewrap.sandbox_refusal.cache_clear()
    yield
    bubblewrap.sandbox_refusal.cache_clear()


def a_bwrap_that(does: str, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    program = folder / "bwrap"
    program.write_text(f"#!/bin/sh\n{does}\n")
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{folder}:/usr/bin:/bin")


@pytest.mark.integration
def test_a_path_through_the_folder_above_works():
    above = Path(sys.executable).parent / ".." / "bin" / Path(sys.executable).name
    code = "from nbjudge.sandbox import bubblewrap; print(bubblewrap.sandbox_refusal())"
    run = subprocess.run([above, "-c", code], capture_output=True, text=True)
    assert run.stdout == "None\n", run.stdout + run.stderr


def test_a_missing_bubblewrap_is_named(tmp_path, monkeypatch):
    monkeypatch.setenv("PATH", str(tmp_path))
    refusal = bubblewrap.sandbox_refusal()
    assert "no `bwrap` on this machine" in refusal
    assert "apt-get install bubblewrap" in refusal and "dnf install bubblewrap" in refusal
    with pytest.raises(SandboxError, match="there is no `bwrap`"):  # and nothing is started
        ForkServer(())


@pytest.mark.integration
@pytest.mark.parametrize(
    ("does", "reason"),
    [
        ("echo 'bwrap: No permissions to create new namespace' >&2; exit 1", "No permissions to create"),
        ("echo first >&2; echo 'bwrap: setting up uid map: Permission denied' >&2; exit 1", "setting up uid"),
        ("exit 3", "it ended with status 3"),
        ("echo 'bwrap: one' >&2; echo 'bwrap: two' $(seq 200) >&2; exit 1", "two 1 2"),
    ],
)
def test_a_forbidden_bubblewrap_is_explained(does, reason, tmp_path, monkeypatch):
    a_bwrap_that(does, tmp_path, monkeypatch)
    refusal = bubblewrap.sandbox_refusal()
    assert f"may not start here ({reason}" in refusal
    assert "bwrap: " not in refusal and "\n" not in refusal and len(refusal) < 600
    assert "sysctl -w user.max_user_namespaces" in refusal
    assert "kernel.apparmor_restrict_unprivileged_userns=0" in refusal


@pytest.mark.integration
def test_bubblewrap_without_namespaces_is_refused(tmp_path, monkeypatch):
    """In a user namespace that may have no further ones, as on a machine where they are off."""
    off = "echo 0 > /proc/sys/user/max_user_namespaces"
    inside = f'{off}; exec {shutil.which("bwrap")} "$@"'
    a_bwrap_that(f"exec unshare --user --map-root-user sh -c '{inside}' sh \"$@\"", tmp_path, monkeypatch)
    refusal = bubblewrap.sandbox_refusal()
    assert "may not start here (" in refusal
    assert "namespace" in refusal.partition("):")[0]


def test_elsewhere_than_on_linux_it_says_so(monkeypatch):
    monkeypatch.setattr(sys, "platform", "darwin")
    assert bubblewrap.sandbox_refusal() == "The sandbox needs Linux; this is darwin."


def test_all_but_four_privileges_are_dropped():
    command = bubblewrap.command(5, ["numpy"])
    assert command[0] == "bwrap"
    for wanted in ("--unshare-all", "--die-with-parent", "--clearenv", "--new-session"):
        assert wanted in command
    given = {command[at + 1] for at, word in enumerate(command) if word == "--cap-add"}
    assert given == {"CAP_SYS_ADMIN", "CAP_NET_ADMIN", "CAP_SYS_RESOURCE", "CAP_SETPCAP"}
    assert "--bind" not in command  # which would be writable
    assert "/dev/zero" not in command  # several could map it
