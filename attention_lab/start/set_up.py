"""Whether this machine can do the course: each part in a plain sentence, with what to do."""

from __future__ import annotations

import asyncio
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path

import ipywidgets as widgets
from packaging.requirements import Requirement

from nbjudge.tutor import LiveBox

PACKAGE = "attention-lab"
# What the course's first random numbers are, to four digits: another torch may draw others.
FIRST_DRAWS = [0.8823, 0.9150, 0.3829]
WAITING = (
    "… Widgets: waiting for your browser. If this line stays, sliders will not move here. Open the page in "
    "JupyterLab, as <code>attention-lab start</code> does, and reload it."
)
TRIES = 60  # seconds that a browser may take
ALIVE = "✓ Widgets are live: your browser has answered."


@dataclass(frozen=True)
class Finding:
    """One thing that was looked at: whether it will do, what was seen, and what to do where it will not."""

    fine: bool
    seen: str
    advice: str = ""

    def __str__(self) -> str:
        return f"{'✓' if self.fine else '✗'} {self.seen}{'' if self.fine else f' {self.advice}'}"


def check_set_up() -> widgets.VBox:
    """Print what was found out about this machine; returns a line that says whether widgets are live."""
    findings = set_up_findings(Path.cwd().parent)
    for finding in findings:
        print(finding)
    if not all(finding.fine for finding in findings):
        print("When that is fixed, choose Kernel → Restart Kernel and run this cell again.")
    return widget_line()


def set_up_findings(folder: Path) -> list[Finding]:
    """Return what the packages, torch and the work folder are like."""
    return [finding for look in (_packages, _torch, _folder) for finding in look(folder)]


def _packages(folder: Path) -> Iterator[Finding]:
    version = ".".join(map(str, sys.version_info[:3]))
    try:
        wanted = [Requirement(line) for line in metadata.requires(PACKAGE) or []]
    except metadata.PackageNotFoundError:
        yield Finding(
            False,
            f"Attention Lab is not installed in this notebook's Python ({sys.executable}).",
            "Stop JupyterLab and open it with `attention-lab start`.",
        )
        return
    unfit = [found for each in wanted if _is_for_all(each) and (found := _unfit(each)) is not None]
    yield from unfit
    if not unfit:
        yield Finding(True, f"Python {version}, and every package in a version that fits.")


def _is_for_all(requirement: Requirement) -> bool:
    """Return whether it is asked for on this machine, and by no optional group."""
    return requirement.marker is None or requirement.marker.evaluate({"extra": ""})


def _unfit(requirement: Requirement) -> Finding | None:
    advice = f'In a terminal: {sys.executable} -m pip install "{requirement.name}{requirement.specifier}".'
    try:
        found = metadata.version(requirement.name)
    except metadata.PackageNotFoundError:
        return Finding(False, f"{requirement.name} is missing.", advice)
    if requirement.specifier.contains(found, prereleases=True):
        return None
    return Finding(False, f"{requirement.name} is {found}; the course needs {requirement.specifier}.", advice)


def _torch(folder: Path) -> Iterator[Finding]:
    try:
        import torch

        # A generator of our own: the notebook's random numbers stay what they are.
        draws = torch.rand(3, generator=torch.Generator().manual_seed(42))
        draws.requires_grad_().softmax(-1)[0].backward()
    except Exception as error:  # a broken installation can fail in any way
        yield Finding(
            False,
            f"torch does not work ({type(error).__name__}: {str(error).partition(chr(10))[0][:120]}).",
            f"In a terminal: {sys.executable} -m pip install --force-reinstall torch.",
        )
        return
    yield Finding(
        [round(number, 4) for number in draws.tolist()] == FIRST_DRAWS,
        f"torch {torch.__version__} computes, takes gradients, and draws the course's random numbers.",
        "It draws others than the course's: what you see will differ from numbers in the text, no more.",
    )


def _folder(folder: Path) -> Iterator[Finding]:
    try:
        with tempfile.NamedTemporaryFile(dir=folder, prefix=".attention-lab-") as file:
            file.write(b"x" * 65536)
    except OSError as error:
        yield Finding(
            False,
            f"Nothing can be saved in {folder} ({error.strerror}).",
            "Free some space on that disk, or run `attention-lab start` with a folder that is yours.",
        )
        return
    yield Finding(True, f"Your work can be saved in the folder {folder.name!r}.")


def widget_line() -> widgets.VBox:
    """A line that turns from waiting to alive as soon as a browser answers; no one has to click.

    A hidden player does that: told to play where a browser shows it, it sends its next value back.
    """
    player = widgets.Play(min=0, max=1, interval=100, layout={"display": "none"})
    line = widgets.HTML(WAITING)

    def answered(_: object) -> None:
        player.unobserve_all()
        player.playing = False
        line.value = ALIVE

    player.observe(answered, names="value")
    _tell_to_play(player, TRIES)
    return LiveBox([line, player])


def _tell_to_play(player: widgets.Play, tries: int) -> None:
    """Press play every second until it is heard: a browser that is still drawing the page hears nothing."""
    if player.value != player.min or tries == 0:
        return
    player.playing = False
    player.playing = True
    try:
        loop = asyncio.get_running_loop()
    except RuntimeError:  # no kernel, and so no browser
        return
    loop.call_later(1.0, _tell_to_play, player, tries - 1)
