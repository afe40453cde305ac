"""Writing a verdict into its graded cell, where nbgrader, feedback and the report read it.

nbgrader reads a graded cell's outputs in order: an error or anything on stderr is 0, the first
result that parses as a number is the points. So whatever the student's own run left there is
turned into plain output first, and the verdict is the only result.
"""

from __future__ import annotations

import html
import re
from itertools import groupby
from typing import Any

import nbformat
from nbformat import NotebookNode

from attention_lab.grading.verdict import Finding, Verdict

CELL = '<td style="padding: 0.1em 1em 0.1em 0; text-align: left">'
SHOWABLE = ("text/plain", "image/png", "image/jpeg")
TERMINAL_COLOURS = re.compile(r"\x1b\[[0-9;]*[A-Za-z]")
LONGEST_TEXT = 2_000_000  # characters of one output, enough for a picture
MOST_LINES = 100  # of a traceback


def neutralise(cell: NotebookNode) -> None:
    """Keep of a cell's outputs only text and pictures: no HTML, script or widget of a student's."""
    cell.outputs = _joined([_neutral(output) for output in cell.outputs])


def _joined(outputs: list[NotebookNode]) -> list[NotebookNode]:
    """What was printed in one go in one output: how a kernel cuts it into messages is chance."""
    joined: list[NotebookNode] = []
    for (kind, name), group in groupby(outputs, key=lambda output: (output.output_type, output.get("name"))):
        pieces = list(group)
        if kind == "stream":
            text = "".join(piece.text for piece in pieces)
            pieces = [nbformat.v4.new_output("stream", name=name, text=text)]
        joined += pieces
    return joined


def _neutral(output: NotebookNode) -> NotebookNode:
    kind = output.output_type
    if kind == "stream":
        name = "stderr" if output.get("name") == "stderr" else "stdout"
        return nbformat.v4.new_output("stream", name=name, text=_text(output.get("text")))
    if kind == "error":
        trace = output.get("traceback")
        lines = [_text(line) for line in trace[:MOST_LINES]] if isinstance(trace, list) else []
        name, value = _text(output.get("ename")), _text(output.get("evalue"))
        return nbformat.v4.new_output("error", ename=name, evalue=value, traceback=lines)
    data = output.get("data")
    shown = {mime: _text(data[mime]) for mime in SHOWABLE if mime in data} if isinstance(data, dict) else {}
    extra = {"execution_count": None} if kind == "execute_result" else {}
    return nbformat.v4.new_output(kind, data=shown, metadata={}, **extra)


def write_verdict(cell: NotebookNode, verdict: Verdict) -> None:
    """Replace the result of a graded cell by the verdict; what it printed stays readable above it."""
    cell.outputs = [_harmless(output) for output in cell.outputs]
    cell.outputs.append(
        nbformat.v4.new_output(
            "execute_result",
            data={"text/plain": f"{verdict.points:g}", "text/html": as_html(verdict)},
            metadata={"attention_lab": verdict.as_data()},
            execution_count=None,
        )
    )


def as_html(verdict: Verdict) -> str:
    """The verdict as a student reads it: points, what is wrong, which groups agree."""
    rows = "".join(
        f"<tr>{CELL}{'✓' if group.agrees else '✗'}</td>{CELL}{html.escape(group.name)}</td>"
        f"{CELL}{group.points if group.agrees else 0:g} of {group.points:g}</td></tr>"
        for group in verdict.groups
    )
    findings = "".join(_finding(finding) for finding in verdict.findings) or f"<p>{verdict.message}</p>"
    return (
        f"<h4>{html.escape(verdict.exercise)}: {verdict.points:g} of {verdict.max_points:g} points</h4>"
        f"{findings}<table>{rows}</table>"
    )


def as_text(verdict: Verdict) -> str:
    """The verdict in plain text."""
    lines = [f"{verdict.exercise}: {verdict.points:g} of {verdict.max_points:g} points"]
    lines += [f"  {finding.sentence} {finding.evidence}".rstrip() for finding in verdict.findings]
    lines += [f"  {'agrees' if group.agrees else 'differs'}: {group.name}" for group in verdict.groups]
    return "\n".join(lines)


def _finding(finding: Finding) -> str:
    evidence = f"<br><small>{_with_code(finding.evidence)}</small>" if finding.evidence else ""
    return f"<p><strong>{_with_code(finding.sentence)}</strong>{evidence}</p>"


def _with_code(sentence: str) -> str:
    return re.sub(r"`([^`]+)`", r"<code>\1</code>", html.escape(sentence))


def _harmless(output: NotebookNode) -> NotebookNode:
    """The same output in a form that nbgrader reads no points from."""
    if output.output_type == "error":
        text = TERMINAL_COLOURS.sub("", "\n".join(output.traceback)) + "\n"
        return nbformat.v4.new_output("stream", name="stdout", text=text)
    if output.output_type == "stream":
        return nbformat.v4.new_output("stream", name="stdout", text=output.text)
    return nbformat.v4.new_output("display_data", data=output.data, metadata={})


def _text(value: Any) -> str:
    """Text that can be written to a file and read by a person; pictures pass, as they are text too."""
    text = "".join(map(str, value)) if isinstance(value, list) else str(value or "")
    text = text.encode("utf-8", "replace").decode()
    return text if len(text) <= LONGEST_TEXT else text[:LONGEST_TEXT] + "\n… (the rest is left out)\n"
