"""A command line in Markdown, as typer itself writes its help down."""

from __future__ import annotations

import subprocess
import sys

from attention_lab.errors import CourseError


def commands_of(module: str, program: str) -> str:
    """Every command, argument and option of the typer application in `module`, a section a command.

    Raises CourseError where typer cannot say them.
    """
    command = [sys.executable, "-m", "typer", module, "utils", "docs", "--name", program]
    result = subprocess.run(command, capture_output=True, text=True)
    if result.returncode != 0:
        reason = (result.stderr.strip().splitlines() or ["no reason given"])[-1]
        raise CourseError(f"The help of {program} cannot be written down: {reason}. Try `{program} --help`.")
    # Its title is the page's own.
    return result.stdout.partition("\n")[2]
