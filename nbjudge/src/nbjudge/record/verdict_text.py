"""A verdict as people read it: HTML in its graded cell, and plain text."""

from __future__ import annotations

import html

from nbjudge.judge.verdict import Finding, GroupVerdict, Verdict
from nbjudge.plain_text import sentence_as_html

CELL = '<td style="padding: 0.1em 1em 0.1em 0; text-align: left">'
# Dollars and backslashes of a student's are no formulas, nor what formulas can be made to do.
FRAME = '<div class="mathjax_ignore tex2jax_ignore">'


def as_html(verdict: Verdict) -> str:
    """The verdict as a student reads it: points, what is wrong, which groups agree."""
    rows = "".join(
        f"<tr>{CELL}{'✓' if group.agrees else '✗'}</td>{CELL}{html.escape(_with_note(group))}</td>"
        f"{CELL}{group.points if group.agrees else 0:g} of {group.points:g}</td></tr>"
        for group in verdict.groups
    )
    findings = "".join(_finding(finding) for finding in verdict.findings)
    if verdict.regrade is not None:
        judged = f"The judge gave {verdict.judged_points:g}, and said:" if findings else ""
        findings = f"{_finding(Finding(verdict.message, evidence=judged))}{findings}"
    findings = findings or f"<p>{verdict.message}</p>"
    points = f"{verdict.points:g} of {verdict.max_points:g} points"
    return f"{FRAME}<h4>{html.escape(verdict.exercise)}: {points}</h4>{findings}<table>{rows}</table></div>"


def as_text(verdict: Verdict) -> str:
    """The verdict in plain text."""
    lines = [f"{verdict.exercise}: {verdict.points:g} of {verdict.max_points:g} points"]
    lines += [f"  {verdict.message}"] if verdict.regrade is not None else []
    lines += [f"  {finding.sentence} {finding.evidence}".rstrip() for finding in verdict.findings]
    lines += [f"  {_outcome(group)}: {_with_note(group)}" for group in verdict.groups]
    return "\n".join(lines)


def _outcome(group: GroupVerdict) -> str:
    return "agrees" if group.agrees else "does not count yet" if group.note else "differs"


def _with_note(group: GroupVerdict) -> str:
    return f"{group.name} ({group.note})" if group.note else group.name


def _finding(finding: Finding) -> str:
    evidence = f"<br><small>{sentence_as_html(finding.evidence)}</small>" if finding.evidence else ""
    return f"<p><strong>{sentence_as_html(finding.sentence)}</strong>{evidence}</p>"
