"""What a trial shows: which group catches which answer."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from rich import box
from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from nbjudge.authoring.exercise import Exercise
from nbjudge.try_checks.trial import Trial

KINDS = {"solution": "solution", "alternative": "accepted alternative", "mistake": "mistake"}


def table_of(exercise: Exercise, trials: Sequence[Trial], seeds: int) -> RenderableType:
    """The groups by number, and a row for each answer; of a single answer what its student reads, too."""
    on = "" if seeds == 1 else f" on {seeds} seeds; a number says on how many a group caught it"
    table = Table(title=f"{exercise.name}{on}", title_justify="left", box=box.SIMPLE_HEAD)
    table.add_column("")
    table.add_column("answer", overflow="fold")
    for number in range(1, len(exercise.groups) + 1):
        table.add_column(str(number), justify="center")
    for trial in trials:
        cells = [_cell(trial.agrees(index), len(trial.verdicts)) for index in range(len(exercise.groups))]
        table.add_row(KINDS[trial.kind], trial.name, *cells, style="red" if trial.problem else "")
    return Group(table, *_groups(exercise), "", *(_what_is_read(trials[0]) if len(trials) == 1 else ()))


def _groups(exercise: Exercise) -> Iterator[str]:
    for number, group in enumerate(exercise.groups, 1):
        yield f"  {number}  {group.name}, {group.points:g} point{'s' * (group.points != 1)}"


def _what_is_read(trial: Trial) -> Iterator[Text]:
    verdict = trial.verdicts[0]
    for finding in verdict.findings:
        yield Text(f"  {finding.sentence}")
        yield Text(f"  {finding.evidence}\n", style="dim")


def _cell(agreed: int, seeds: int) -> str:
    if agreed == seeds:
        return "✓"
    return "[bold]✗[/]" if agreed == 0 else f"✗ {seeds - agreed}"
