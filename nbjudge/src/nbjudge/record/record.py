"""The record of a judgement in its graded cell: written once the kernel has ended, and read from there.

nbgrader reads a graded cell's outputs in order: an error or anything on stderr is 0, the first
result that parses as a number is the points. So whatever the student's own run left there is
turned into plain output first, and the verdict is the only result. As data it stands in the
metadata of the cell, which come from the lesson; a kernel has no way to them.
"""

from __future__ import annotations

import html
import math
import re
from collections.abc import Mapping
from typing import Any

import nbformat
from nbformat import NotebookNode

from nbjudge.judge.verdict import Finding, GroupVerdict, Verdict
from nbjudge.plain_text import without_terminal_codes
from nbjudge.sandbox.inside.outputs import SHOWABLE, text

CELL = '<td style="padding: 0.1em 1em 0.1em 0; text-align: left">'
# Dollars and backslashes of a student's are no formulas, nor what formulas can be made to do.
FRAME = '<div class="mathjax_ignore tex2jax_ignore">'


def write_verdict(cell: NotebookNode, verdict: Verdict) -> None:
    """Replace the result of a graded cell by the verdict; what it printed stays readable above it."""
    cell.metadata.setdefault("nbjudge", NotebookNode())["verdict"] = verdict.as_data()
    cell.outputs = [_harmless(output) for output in cell.outputs]
    cell.outputs.append(
        nbformat.v4.new_output(
            "execute_result",
            data={"text/plain": f"{verdict.points:g}", "text/html": as_html(verdict)},
            execution_count=None,
        )
    )


def read_verdict(cell: Mapping[str, Any]) -> Verdict | None:
    """The verdict of a cell of an autograded notebook; None where there is none that can be read.

    A notebook that stock nbgrader graded may hold whatever its student wrote there.
    """
    try:
        data = cell["metadata"]["nbjudge"]["verdict"]
        return Verdict(
            exercise=_text(data["exercise"]),
            seed=int(data["seed"]),
            groups=tuple(
                GroupVerdict(
                    _text(group["name"]),
                    _points(group["points"]),
                    group["agrees"] is True,
                    _text(group["note"]),
                )
                for group in data["groups"]
            ),
            findings=tuple(
                Finding(
                    _text(finding["sentence"]),
                    None if finding["mistake"] is None else _text(finding["mistake"]),
                    _text(finding["evidence"]),
                )
                for finding in data["findings"]
            ),
        )
    except (LookupError, TypeError, ValueError, AttributeError, OverflowError):
        return None


def is_verdict(cell: Mapping[str, Any], output: Mapping[str, Any]) -> bool:
    """Whether the judge wrote this output of a cell, and nobody's code."""
    return output.get("output_type") == "execute_result" and read_verdict(cell) is not None


def _text(value: Any) -> str:
    if not isinstance(value, str):
        raise TypeError("not a text")
    return value


def _points(value: Any) -> float:
    if not math.isfinite(value) or value < 0:
        raise ValueError("not a number of points")
    return float(value)


def as_html(verdict: Verdict) -> str:
    """The verdict as a student reads it: points, what is wrong, which groups agree."""
    rows = "".join(
        f"<tr>{CELL}{'✓' if group.agrees else '✗'}</td>{CELL}{html.escape(_named(group))}</td>"
        f"{CELL}{group.points if group.agrees else 0:g} of {group.points:g}</td></tr>"
        for group in verdict.groups
    )
    findings = "".join(_finding(finding) for finding in verdict.findings) or f"<p>{verdict.message}</p>"
    points = f"{verdict.points:g} of {verdict.max_points:g} points"
    return f"{FRAME}<h4>{html.escape(verdict.exercise)}: {points}</h4>{findings}<table>{rows}</table></div>"


def as_text(verdict: Verdict) -> str:
    """The verdict in plain text."""
    lines = [f"{verdict.exercise}: {verdict.points:g} of {verdict.max_points:g} points"]
    lines += [f"  {finding.sentence} {finding.evidence}".rstrip() for finding in verdict.findings]
    lines += [f"  {_how(group)}: {_named(group)}" for group in verdict.groups]
    return "\n".join(lines)


def _how(group: GroupVerdict) -> str:
    return "agrees" if group.agrees else "does not count yet" if group.note else "differs"


def _named(group: GroupVerdict) -> str:
    return f"{group.name} ({group.note})" if group.note else group.name


def _finding(finding: Finding) -> str:
    evidence = f"<br><small>{_with_code(finding.evidence)}</small>" if finding.evidence else ""
    return f"<p><strong>{_with_code(finding.sentence)}</strong>{evidence}</p>"


def _with_code(sentence: str) -> str:
    return re.sub(r"`([^`]+)`", r"<code>\1</code>", html.escape(sentence))


def _harmless(output: Mapping[str, Any]) -> NotebookNode:
    """The same output, whatever it holds, in a form that nbgrader reads no points from."""
    kind = output.get("output_type")
    if kind == "error":
        lines = output.get("traceback")
        said = text("\n".join(map(text, lines)) if isinstance(lines, list) else lines)
        said = without_terminal_codes(said) + "\n"
        return nbformat.v4.new_output("stream", name="stdout", text=said)
    if kind == "stream":
        return nbformat.v4.new_output("stream", name="stdout", text=text(output.get("text")))
    data = output.get("data")
    data = {mime: text(data[mime]) for mime in SHOWABLE if mime in data} if isinstance(data, dict) else {}
    return nbformat.v4.new_output("display_data", data=data, metadata={})
