"""Writing a verdict into its graded cell, where nbgrader, feedback and the report read it.

nbgrader reads a graded cell's outputs in order: an error or anything on stderr is 0, the first
result that parses as a number is the points. So whatever the student's own run left there is
turned into plain output first, and the verdict is the only result.
"""

from __future__ import annotations

import html
import re

import nbformat
from nbformat import NotebookNode

from attention_lab.grading.verdict import Finding, Verdict

SHOWABLE = ("text/plain", "image/png", "image/jpeg")
TERMINAL_COLOURS = re.compile(r"\x1b\[[0-9;]*[A-Za-z]")
MOST_TEXT = 20_000  # characters of one output


def neutralise(cell: NotebookNode) -> None:
    """Keep of a cell's outputs only text and pictures: no HTML, script or widget of a student's."""
    for output in cell.outputs:
        if output.output_type == "stream":
            output.text = _shortened(output.text)
        elif "data" in output:
            data = {kind: value for kind, value in output.data.items() if kind in SHOWABLE}
            if "text/plain" in data:
                data["text/plain"] = _shortened(data["text/plain"])
            output.data, output.metadata = data, {}


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
        f"<tr><td>{'✓' if group.agrees else '✗'}</td><td>{html.escape(group.name)}</td>"
        f"<td>{group.points if group.agrees else 0:g} of {group.points:g}</td></tr>"
        for group in verdict.groups
    )
    findings = "".join(_finding(finding) for finding in verdict.findings) or f"<p>{verdict.message}</p>"
    return (
        f"<h4>{html.escape(verdict.exercise)}: {verdict.points:g} of {verdict.max_points:g} points</h4>"
        f"{findings}<table><thead><tr><th></th><th>asked</th><th>points</th></tr></thead>"
        f"<tbody>{rows}</tbody></table>"
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
        return nbformat.v4.new_output("stream", name="stdout", text=_shortened(text))
    if output.output_type == "stream":
        return nbformat.v4.new_output("stream", name="stdout", text=output.text)
    return nbformat.v4.new_output("display_data", data=output.data, metadata={})


def _shortened(text: str) -> str:
    return text if len(text) <= MOST_TEXT else text[:MOST_TEXT] + "\n… (the rest is left out)\n"
