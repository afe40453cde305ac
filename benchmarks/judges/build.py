"""Build `answers.jsonl.xz`: right and wrong answers of the course and mutations of references, validated."""

from __future__ import annotations

import argparse
import json
import sys
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from tqdm import tqdm

import answers
from answers import Answer
from nbjudge.course import Assignment
from torchcode_references import LICENCE, torchcode_reference
from validation import Comparison, Outcome, validate_right, validate_wrong
from workers import WorkerError, run_in_child


def candidates(
    assignment: Assignment, only: list[str], mutations: int, torchcode: Path | None = None
) -> list[Answer]:
    """All answers of an assignment before validation."""
    found = list(answers.answers_of(assignment, only))
    for reference in [each for each in found if each.kind == "reference"]:
        code = torchcode and torchcode_reference(torchcode, reference.exercise)
        if code:
            name, kind = f"{reference.exercise}/torch-judge", "torch-judge reference"
            found.append(replace(reference, id=name, kind=kind, code=code, licence=LICENCE))
        if mutations:
            from mutations import mutations_of  # mutmut and libcst are needed here only

            found += mutations_of(reference, mutations)
    return found


def accept(answer: Answer, outcome: Outcome) -> Answer | None:
    """The answer as it goes into the file; None for a mutation that no input tells from the reference.

    Raises ValueError for an answer that is not what its kind says.
    """
    if answer.kind == "torch-judge reference":  # nbjudge is to accept it, whatever we think
        return replace(answer, agrees_on=0 if outcome.differs_on else outcome.seeds)
    if answer.is_right:
        if outcome.differs_on:
            raise ValueError(f"{answer.id} should be right and differs: {outcome.differs_on}.")
        return replace(answer, agrees_on=outcome.seeds)
    if outcome.differs_on:
        return replace(answer, differs_on=outcome.differs_on)
    if answer.kind == "mutation":
        return None
    raise ValueError(f"{answer.id} should be wrong and behaves like the reference.")


def outcomes(
    lesson: Assignment, found: list[Answer], options: argparse.Namespace
) -> Iterator[tuple[Answer, Outcome]]:
    """Validate the answers to one exercise, the right ones together."""
    comparison = Comparison.of(lesson, found[0].exercise)
    right = [each for each in found if each.is_right]
    if right:
        seconds = 600 + 20 * len(right) * options.seeds * comparison.seconds
        arguments = (comparison, right, range(options.seeds), options.seconds)
        yield from zip(right, run_in_child(validate_right, *arguments, seconds=seconds), strict=True)
    for answer in found:
        if not answer.is_right:
            seeds = options.mutation_seeds if answer.kind == "mutation" else options.seeds
            seconds = 20 + 10 * min(seeds, 20) * comparison.seconds
            try:
                yield answer, run_in_child(validate_wrong, comparison, answer, range(seeds), seconds=seconds)
            except WorkerError as error:
                yield answer, Outcome(f"no result: {error}")


def main() -> None:
    """Build the file; exit with status 1 if an answer is not what its kind says."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--exercise", nargs="*", default=[], help="only these exercises (default: all)")
    parser.add_argument("--seeds", type=int, default=200, help="most seeds for right answers (default: 200)")
    parser.add_argument(
        "--seconds",
        type=float,
        default=float("inf"),
        help="of processor time, after which right answers meet no further seed (default: no limit)",
    )
    parser.add_argument("--mutations", type=int, default=20, help="mutations per exercise (default: 20)")
    parser.add_argument("--mutation-seeds", type=int, default=20, help="seeds for mutations (default: 20)")
    parser.add_argument("--kind", help="only answers of this kind (default: all)")
    parser.add_argument(
        "--torchcode", type=Path, help="a clone of TorchCode, whose references are added (default: none)"
    )
    parser.add_argument("--output", type=Path, default=answers.FILE)
    options = parser.parse_args()
    valid, equivalent, problems = list[Answer](), list[Answer](), list[str]()
    removed = options.output.with_name(f"{options.output.name.partition('.')[0]}_equivalent.jsonl")
    todo: dict[str, tuple[Assignment, list[Answer]]] = {}
    for lesson in answers.course().assignments.values():
        for candidate in candidates(lesson, options.exercise, options.mutations, options.torchcode):
            if options.kind in (None, candidate.kind):
                todo.setdefault(candidate.exercise, (lesson, []))[1].append(candidate)
    for lesson, found in tqdm(todo.values(), unit="exercise", disable=None):
        for answer, outcome in outcomes(lesson, found, options):
            try:
                accepted = accept(answer, outcome)
            except ValueError as error:
                problems.append(str(error))
                continue
            (equivalent if accepted is None else valid).append(accepted or answer)
        answers.write_answers(valid, options.output)  # a long build that is stopped leaves what it has
        answers.write_answers(equivalent, removed)
    counts = Counter(each.kind for each in valid)
    print(json.dumps(counts), f"{len(equivalent)} equivalent mutations removed, written to {removed.name}")
    for problem in problems:
        print(problem, file=sys.stderr)
    sys.exit(1 if problems else 0)


if __name__ == "__main__":
    main()
