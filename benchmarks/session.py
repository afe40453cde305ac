"""What a learner waits for: the page of `attention-lab start`, the set-up cell, a session's first `check`.

`python benchmarks/session.py [01_dot_product …] [--rounds 3] [--output FILE]`. Each set-up cell
runs in a new kernel, turn about with `import torch, matplotlib.pyplot, pandas` in one. The answer is the
solution's; it is checked at once in one session, and ten seconds after the set-up cell in another. The page
needs Chromium.
"""

from __future__ import annotations

import re
import shutil
import statistics
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Annotated

import nbformat
import results
import typer
from jupyter_client.blocking.client import BlockingKernelClient
from jupyter_client.manager import start_new_kernel
from rich.progress import track

from nbjudge.course import Assignment, find_course

ROOT = Path(__file__).resolve().parents[1]
IMPORTS = "import torch, matplotlib.pyplot, pandas"
WAIT = 10.0  # seconds from the end of the set-up cell to the later `check`
ADDRESS = re.compile(r"http://(?:localhost|127\.0\.0\.1):\d+/\S*token=\w+")
ARGUMENTS = ["--no-sandbox", "--disable-gpu", "--disable-background-networking", "--no-first-run"]


def main(
    lessons: Annotated[list[str] | None, typer.Argument(help="Their folders; all with an exercise.")] = None,
    rounds: Annotated[int, typer.Option(help="Sessions of each kind and lesson.")] = 3,
    output: Annotated[Path, typer.Option(help="For the figures.")] = results.FOLDER / "session.json",
) -> None:
    """Measure what a learner waits for."""
    known = {lesson.folder: lesson for lesson in find_course(ROOT).assignments.values() if lesson.exercises}
    out = results.console()
    machine = results.surroundings(out)
    pages = [_page() for _ in range(rounds)] if shutil.which("chromium") else []
    rows = [
        {"lesson": name} | _sessions(known[name], rounds)
        for name in track(lessons or list(known), "Sessions", console=out, transient=True)
    ]
    results.show(out, rows, f"Seconds; the later check is after {WAIT:g}")
    page = statistics.median(pages) if pages else None
    out.print(f"The page of `attention-lab start`: {page} s." if page else "No Chromium, no page.")
    results.write(output, machine | {"page": page, "lessons": rows}, out)


def _sessions(lesson: Assignment, rounds: int) -> dict[str, float]:
    """Medians, in seconds; the ratio is that of the set-up cell to the imports."""
    code = [cell.source for cell in nbformat.read(lesson.source_path, 4).cells if cell.cell_type == "code"]
    set_up = next(cell for cell in code if "import check" in cell)
    exercise = next(name for name in _defined(code) if name in lesson.exercises)
    answer = next(cell for cell in code if re.search(rf"^(def|class) {exercise}\b", cell, re.MULTILINE))
    measured: dict[str, list[float]] = {"imports": [], "set-up": [], "at once": [], "later": []}
    for _ in range(rounds):
        with _kernel(lesson) as kernel:
            measured["imports"].append(_seconds(kernel, IMPORTS))
        for name, wait in (("at once", 0.0), ("later", WAIT)):
            with _kernel(lesson) as kernel:
                measured["set-up"].append(_seconds(kernel, set_up))
                _seconds(kernel, answer)
                time.sleep(wait)
                measured[name].append(_seconds(kernel, f"check({exercise!r})"))
    medians = {name: statistics.median(seconds) for name, seconds in measured.items()}
    return medians | {"ratio": medians["set-up"] / medians["imports"]}


def _defined(code: list[str]) -> Iterator[str]:
    for cell in code:
        yield from re.findall(r"^(?:def|class) (\w+)", cell, re.MULTILINE)


@contextmanager
def _kernel(lesson: Assignment) -> Iterator[BlockingKernelClient]:
    """A new kernel in a copy of the lesson's folder."""
    with TemporaryDirectory(prefix="attention-lab-session-") as folder:
        here = Path(folder) / lesson.folder
        shutil.copytree(lesson.source_path.parent, here)
        manager, client = start_new_kernel(kernel_name="python3", cwd=str(here), stderr=subprocess.DEVNULL)
        try:
            yield client
        finally:
            client.stop_channels()
            manager.shutdown_kernel(now=True)


def _seconds(kernel: BlockingKernelClient, code: str) -> float:
    began = time.perf_counter()
    reply = kernel.execute_interactive(code, output_hook=lambda message: None, timeout=300)
    if reply["content"]["status"] != "ok":
        raise SystemExit("\n".join(reply["content"]["traceback"]))
    return time.perf_counter() - began


def _page() -> float:
    """Seconds from the command to the first page's heading in a browser that already runs."""
    from playwright.sync_api import sync_playwright

    with TemporaryDirectory(prefix="attention-lab-session-") as folder, sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=shutil.which("chromium"), args=ARGUMENTS)
        with closing(browser):
            began = time.perf_counter()
            command = [Path(sys.executable).with_name("attention-lab"), "start", folder, "--no-browser"]
            server = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
            try:
                assert server.stdout is not None
                lines = (found[0] for line in server.stdout if (found := ADDRESS.search(line)))
                address = next(lines, None)
                if address is None:
                    raise SystemExit(
                        f"`attention-lab start` ended without an address: status {server.wait()}."
                    )
                page = browser.new_page()
                page.goto(address)
                page.locator(".jp-Notebook h1").first.wait_for(timeout=60_000)
                return time.perf_counter() - began
            finally:
                server.terminate()  # JupyterLab then ends its kernels
                server.wait()


if __name__ == "__main__":
    typer.run(main)
