"""What a course has set for nbgrader's `Execute`, which nbjudge replaces: taken over, or named as ignored."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from nbjudge.authoring.limits import Limits

# Where traitlets finds a setting of `Execute`: in its own section, or in those of its bases.
SECTIONS = ("Execute", "ExecutePreprocessor", "NotebookClient")
# Settings that change a grade under stock nbgrader and have no counterpart here.
IGNORED = (
    "allow_error_names",
    "allow_errors",
    "enabled",
    "error_on_timeout",
    "execute_retries",
    "extra_arguments",
    "force_raise_errors",
    "kernel_name",
    "skip_cells_with_tag",
    "timeout_func",
)
NO_EFFECT = (
    "nbjudge grades without {names}, because it runs notebooks itself: see c.RunAndJudge.cell_seconds, "
    "kernel_names and its other settings."
)
NO_LIMIT = (
    "{name} = {value} sets no limit, and nbjudge always has one: a cell is stopped after {seconds:g} s, the "
    "time for its notebook (c.RunAndJudge.notebook_seconds)."
)


def with_execute_timeouts(limits: Limits, config: Mapping[str, Any], own: Mapping[str, Any]) -> Limits:
    """The limits of a course with the timeouts that it has set for `Execute`.

    Parameters
    ----------
    limits : Limits
        Those of nbjudge's own settings.
    config : mapping
        The whole configuration.
    own : mapping
        What the course itself has set of nbjudge's settings, by name: those win.

    Returns
    -------
    Limits
        With `timeout` as the time for a cell and `startup_timeout` as that until a kernel is ready. If a cell
        may take longer than its notebook, the notebook may take as long. A timeout of None or -1, which is
        no limit to nbgrader, becomes the notebook's.
    """
    _, startup = _setting(config, "startup_timeout")
    if startup is not None and startup > 0:
        limits = replace(limits, startup=float(startup))
    name, timeout = _setting(config, "timeout")
    if not name or "cell_seconds" in own:
        return limits
    if timeout is None or timeout <= 0:
        return replace(limits, cell=limits.notebook)
    if "notebook_seconds" not in own:
        limits = replace(limits, notebook=max(limits.notebook, float(timeout)))
    return replace(limits, cell=float(timeout))


def remarks(limits: Limits, config: Mapping[str, Any], own: Mapping[str, Any]) -> list[str]:
    """What a course has set for `Execute` and does not get, each in a sentence or two."""
    said = []
    ignored = [name for setting in IGNORED if (name := _setting(config, setting)[0])]
    if ignored:
        said.append(NO_EFFECT.format(names=", ".join(ignored)))
    name, timeout = _setting(config, "timeout")
    if name and "cell_seconds" not in own and (timeout is None or timeout <= 0):
        said.append(NO_LIMIT.format(name=name, value=timeout, seconds=limits.notebook))
    return said


def _setting(config: Mapping[str, Any], setting: str) -> tuple[str, Any]:
    """A setting's name and value; an empty name where it is not set."""
    for section in SECTIONS:
        if section in config and setting in config[section]:
            return f"c.{section}.{setting}", config[section][setting]
    return "", None
