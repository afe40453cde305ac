"""Diagnosis of wrong answers: the named mistake that explains them, or a description of the difference."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from enum import IntEnum, auto
from typing import Any

from nbjudge.authoring.exercise import Exercise, Mistake
from nbjudge.judge.closer_look import is_small, look_closer
from nbjudge.judge.compare import same_answer, same_value
from nbjudge.judge.describe import argument_name, argument_names, listed, receiver
from nbjudge.judge.differences import LOOKED_INTO, VAGUE, contradicts, describe_difference, describe_evidence
from nbjudge.judge.drawn_group import returned_by_call
from nbjudge.judge.findings import Cause, always_the_same
from nbjudge.judge.group_result import GroupResult, run_verifier
from nbjudge.judge.retest import draws_weights
from nbjudge.judge.verdict import FORBIDDEN, Finding
from nbjudge.probe.respond import RESULTS, SIDES
from nbjudge.values.kinds import ArrayKind, is_array, kind_of, owned_values

MOST_FINDINGS = 3
MANY_CALLS = 5  # of several groups; fewer equal answers, such as False, may be chance


class Rank(IntEnum):
    """The order of findings."""

    FORBIDDEN = auto()
    NAMED_BY_VERIFIER = auto()
    RANDOM = auto()
    NAMED = auto()
    OBJECTION = auto()
    MEASURED = auto()
    VAGUE = auto()
    IN_SMALL_CASE = auto()  # where many mistakes look alike
    NAMED_LAST = auto()  # of memory or of chance, which matter less than wrong values
    LAST = auto()


def diagnose(exercise: Exercise, results: list[GroupResult]) -> list[Finding]:
    """Find out what is wrong with the groups that fail: at most `MOST_FINDINGS`, in the order of `Rank`."""
    failing = [result for result in results if not result.passed]
    # A named mistake that explains the same values replaces the verifier's sentence.
    open_ones = [result for result in failing if result.objection_to_value is None]
    open_ones += [result for result in failing if _is_open_objection(result)]
    behind_all = _behind_all(exercise, results, open_ones)
    if behind_all is None and (constant := _constant(exercise, results)):
        return [constant]
    if behind_all is None:
        named, unexplained = _behind_some(exercise, open_ones)
        random = _nondeterministic(exercise, results, bool(named))
    else:
        named, unexplained, random = [_named(*behind_all)], [], []
    if random:  # then a difference between values explains nothing
        unexplained = [
            result for result in unexplained if any(answer.status != "value" for answer in result.answers)
        ]
    unexplained = _without_repeats(unexplained)
    ranked = [(Rank.RANDOM, finding) for finding in random] + [(Rank.NAMED, finding) for finding in named]
    measured = [result for result in failing if result.objection_to_value is None and result in unexplained]
    for result, finding in _without_chance([(result, _measurement(result)) for result in measured]):
        finding = _without_effect(exercise, results, finding.followed_by(_cost(result)))
        finding = _only_with(exercise, results, finding)
        ranked.append((_rank_of_measured(result, finding), finding))
    for result in failing:
        objection = result.objection_to_value
        if objection is not None:
            replaced = _is_open_objection(result) and result not in unexplained
            random_values = bool(random) and result.group.verify is not None and not objection.mistake
            rank = _rank(result, objection, failing)
            if rank is not None and not replaced and not random_values:
                ranked.append((rank, objection.followed_by(_cost(result))))
    if ranked and Rank.VAGUE <= min(rank for rank, _ in ranked) <= Rank.IN_SMALL_CASE:
        says_little = min(ranked, key=_place)[1].kind in VAGUE
        closer = look_closer(exercise, failing, in_other_cases=says_little)
        ranked += [(Rank.MEASURED, closer)] if closer else []
    ranked.sort(key=_place)
    unique = {finding.identity: finding for _, finding in ranked}
    return list(unique.values())[:MOST_FINDINGS]


def _place(ranked: tuple[Rank, Finding]) -> tuple[Rank, int]:
    rank, finding = ranked
    return rank, VAGUE.index(finding.kind) if finding.kind in VAGUE else 0


# What is found by comparing numbers, and may hold in a small case by chance.
TOLD_BY_NUMBERS = {
    cause.kind
    for cause in (
        Cause.OTHER_CASE, Cause.FACTOR, Cause.FACTOR_OF_ROWS, Cause.ARRANGEMENT, Cause.DIFFERENCE,
        Cause.SAME_DIFFERENCE, Cause.AN_ARGUMENT, Cause.ARGUMENT_ADDED, Cause.ARGUMENT_SUBTRACTED,
        Cause.FUNCTION_APPLIED, Cause.FUNCTION_LEFT_OUT, Cause.SIGNS, Cause.SHIFTED_ROWS, Cause.POSITIONS,
    )
}  # fmt: skip
UNSPECIFIC = {*VAGUE} | {
    cause.kind
    for cause in (
        Cause.STOPS, Cause.POSITIONS, Cause.FACTOR_OF_ROWS, Cause.NOT_FINITE,
        Cause.GRADIENT_DIFFERS, Cause.ARRANGEMENT,
    )
}  # fmt: skip
LEAST_CALLS = 2  # with an argument, and without it


def _only_with(exercise: Exercise, results: Sequence[GroupResult], finding: Finding) -> Finding:
    """Say which optional argument makes a call wrong, where the difference itself says little."""
    if finding.kind not in UNSPECIFIC:
        return finding
    calls = list[tuple[bool, frozenset[str]]]()  # whether it is wrong, and what it is given
    for result in results:
        for index, case in enumerate(result.drawn.cases if result.drawn.expected else ()):
            if case.refuses is None and (case.build is None or "result" in case.build.look):
                names = argument_names(receiver(result.drawn.reference, case))
                built = case.build.kwargs if case.build else {}
                values = {**dict(zip(names, case.args, strict=False)), **case.kwargs}
                axes = [
                    f"{name} of {len(value.shape)} axes"
                    for name, value in values.items()
                    if isinstance(kind_of(value), ArrayKind)
                ]
                given = frozenset((*values, *built, *axes))
                calls.append((index in result.wrong_values, given))
    wrong = [given for is_wrong, given in calls if is_wrong]
    right = [given for is_wrong, given in calls if not is_wrong]
    for argument in sorted(frozenset.intersection(*wrong), key=len) if wrong else ():
        without = [given for given in right if argument not in given]
        if len(wrong) >= LEAST_CALLS and len(without) == len(right) >= LEAST_CALLS:
            name, _, rest = argument.partition(" ")  # such as "bias of 3 axes"
            quoted = f"a `{name}` {rest}" if rest else f"`{name}`"
            found = Cause.ONLY_WITH.found(name=exercise.name, argument=quoted, measured=finding.sentence)
            return replace(found, evidence=finding.evidence)
    return finding


def _rank_of_measured(result: GroupResult, finding: Finding) -> Rank:
    if finding.kind in LOOKED_INTO:
        return Rank.VAGUE
    is_told_by_numbers = bool(result.drawn.expected) and finding.kind in TOLD_BY_NUMBERS
    if is_told_by_numbers and is_small(result.drawn.expected[result.failed_cases[0]].value):
        return Rank.IN_SMALL_CASE
    return Rank.MEASURED


def _without_effect(exercise: Exercise, results: Sequence[GroupResult], finding: Finding) -> Finding:
    """Say from which arguments and parameters no gradient comes, where the difference itself says little."""
    for result in results if finding.kind in VAGUE else ():
        for case, answer, expected in zip(
            result.drawn.cases, result.answers, result.drawn.expected, strict=False
        ):
            own, right = answer.gradients, expected.gradients
            if not case.gradients or not isinstance(own, dict) or not isinstance(right, dict):
                continue
            called = receiver(result.drawn.reference, case)
            idle = [
                f"`{argument_name(called, path)}`"
                for path, gradient in right.items()
                if gradient is not None and gradient.any() and (own.get(path) is None or not own[path].any())
            ]
            if 0 < len(idle) < len(right):
                found = Cause.NO_EFFECT.found(
                    name=exercise.name, parts=listed(idle), measured=finding.sentence
                )
                return replace(found, evidence=finding.evidence)
    return finding


def _rank(result: GroupResult, objection: Finding, failing: Sequence[GroupResult]) -> Rank | None:
    """Return the rank of an objection; None if wrong values in another group explain it."""
    wrong = [other for other in failing if other.failed_cases and other.drawn.expected]
    explained = any(other.objection_to_value is None for other in wrong)
    if objection.mistake == FORBIDDEN:
        return Rank.FORBIDDEN
    # A formula that is wrong with given weights is wrong with the module's own weights for the same reason.
    if explained and result.group.fresh and objection.mistake is None:
        return None
    by_chance = explained and objection.kind == Cause.RIGHT_BY_CHANCE.kind
    if by_chance or (result.is_measured and wrong):
        return Rank.NAMED_LAST if objection.mistake else Rank.LAST
    return Rank.NAMED_BY_VERIFIER if objection.mistake else Rank.OBJECTION


def _constant(exercise: Exercise, results: Sequence[GroupResult]) -> Finding | None:
    """Return the one finding on an answer that is the same to all calls, and that no objection names."""
    compared = [result for result in results if result.drawn.expected]
    calls = sum(len(result.answers) for result in compared)
    named = any(result.objection and result.objection.mistake for result in results)
    if named or calls < MANY_CALLS or not _is_always_the_same(exercise, compared):
        return None
    first = next(result for result in compared if result.failed_cases)
    finding = always_the_same(exercise, calls, first.answers[0].value)
    return replace(finding, evidence=_evidence(first))


def _is_open_objection(result: GroupResult) -> bool:
    """Return whether an objection is a verifier's without a mistake's name: a named one may replace it."""
    return result.objection_to_value is not None and _is_verified(result)


def _is_verified(result: GroupResult) -> bool:
    """Return whether a verifier of values objects without naming a mistake."""
    group, objection = result.group, result.objection
    return (
        group.verify is not None and not result.is_measured and (objection is None or not objection.mistake)
    )


def _without_chance(measured: list[tuple[GroupResult, Finding]]) -> list[tuple[GroupResult, Finding]]:
    """Leave out what explains the result of one group and not that of another; all, if nothing is left."""
    likely = [
        (result, finding)
        for result, finding in measured
        if finding.kind != Cause.OTHER_CASE.kind
        or not any(contradicts(other, finding) for other, _ in measured if other is not result)
    ]
    return likely or measured


def _without_repeats(results: Sequence[GroupResult]) -> list[GroupResult]:
    """Leave out groups whose first failing call repeats what an earlier group shows.

    That is an error at the same line, or a value of the same wrong type. What a verifier says of such a value
    repeats it as well.
    """
    different, shown = list[GroupResult](), set[tuple[str, ...]]()
    for result in results:
        index = result.failed_cases[0] if result.failed_cases else 0
        answer, fault = result.answers[index], tuple[str, ...]()
        if answer.status == "raised" and answer.line:
            fault = answer.error, answer.line
        elif answer.status == "value" and result.drawn.expected:
            fault = _wrong_type(answer.value, result.drawn.expected[index].value)
        elif answer.status == "value" and (type(answer.value).__name__,) in shown:
            continue
        if not fault or fault not in shown:
            different.append(result)
        shown.add(fault)
    return different


def _wrong_type(actual: Any, expected: Any) -> tuple[str, ...]:
    """The name of the type of a value, or of its first entry, that is of another kind than expected."""
    if isinstance(actual, dict) and isinstance(expected, dict):
        pairs = [(actual[key], entry) for key, entry in expected.items() if key in actual]
    elif isinstance(actual, (list, tuple)) and isinstance(expected, (list, tuple)):
        pairs = list(zip(actual, expected, strict=False))
    else:
        kind = kind_of(actual)
        same = kind is kind_of(expected) and (kind is not None or type(actual) is type(expected))
        return () if same else (type(actual).__name__,)
    return next((found for pair in pairs if (found := _wrong_type(*pair))), ())


def _nondeterministic(exercise: Exercise, results: list[GroupResult], is_named: bool) -> list[Finding]:
    """Return a finding for each group in which the same call gave two results.

    A module that draws its own weights gives two results because of a mistake that has a name, or because
    it has parameters that it should not have, such as a bias: then it is not called random.
    """
    found = []
    for result in results:
        draws = any(map(draws_weights, result.drawn.calls))
        if result.is_nondeterministic and not (draws and (is_named or _has_wrong_parts(result))):
            values = owned_values(result.answers[result.failed_cases[0]].value)
            causes = (kind_of(value).cause_of_chance for _, value in values)  # type: ignore[union-attr]
            random = Cause.RANDOM.found(name=exercise.name).followed_by(next(filter(None, causes), ""))
            found.append(replace(random, evidence=_evidence(result)))
    return found


def _has_wrong_parts(result: GroupResult) -> bool:
    """Return whether parameters, buffers or attributes of a module differ from the expected ones."""
    parts = [side for side in SIDES if side not in RESULTS]
    for index in result.failed_cases:
        actual, expected = result.answers[index].value, result.drawn.expected[index].value
        if isinstance(actual, dict) and isinstance(expected, dict):
            read = (side for side in parts if side in expected)
            if any(
                not same_value(actual.get(side), expected[side], result.exercise.tolerance) for side in read
            ):
                return True
    return False


def _behind_all(
    exercise: Exercise, results: list[GroupResult], failing: list[GroupResult]
) -> tuple[Mistake, GroupResult] | None:
    """Return the mistake that explains the answers in all groups, and the first group that fails for it."""
    compared = [
        result for result in results if result.drawn.expected or (result in failing and _is_verified(result))
    ]
    wrong = [result for result in compared if result in failing]
    # What fails comes first: most mistakes differ there, and running them on the rest is slow.
    compared.sort(key=lambda result: result not in failing)
    for mistake in exercise.mistakes if wrong else ():
        if all(explains(mistake, result) for result in compared):
            return mistake, wrong[0]
    return None


def _behind_some(exercise: Exercise, failing: list[GroupResult]) -> tuple[list[Finding], list[GroupResult]]:
    """Return findings for mistakes that explain some of the groups, and the groups that none explains."""
    findings, unexplained = list[Finding](), list(failing)
    wrong = [result for result in failing if result.drawn.expected or _is_verified(result)]
    pairs = [
        (mistake, [result for result in wrong if explains(mistake, result)]) for mistake in exercise.mistakes
    ]
    while any(explained for _, explained in pairs):
        # The mistake that explains the most groups is the likeliest; of equals, the one listed first.
        likeliest, found = max(pairs, key=lambda pair: len(pair[1]))
        findings.append(_named(likeliest, found[0]))
        unexplained = [result for result in unexplained if result not in found]
        pairs = [(mistake, [each for each in like if each not in found]) for mistake, like in pairs]
    return findings, unexplained


def explains(mistake: Mistake, result: GroupResult) -> bool:
    """Return whether a mistake gives exactly the student's answers in a group.

    In a group with a verifier only the answers that it objects to are compared.
    """
    if any(answer.status not in ("value", "raised") for answer in result.answers):
        return False
    # Errors of one type have many causes: if there are only errors, their messages must be equal, unless
    # both are raised on purpose, in words of one's own.
    only_exceptions = all(result.answers[index].status == "raised" for index in result.failed_cases)
    rest = (index for index in range(len(result.answers)) if index not in result.failed_cases)
    for index in (*result.failed_cases, *(rest if result.drawn.expected else ())):
        answer, mistaken = result.answers[index], result.drawn.mistake_answer(mistake, index)
        if not same_answer(answer, mistaken, result.exercise.tolerance):
            return False
        on_purpose = all(each.line.startswith(("raise ", "assert ")) for each in (answer, mistaken))
        if only_exceptions and not on_purpose and answer.message != mistaken.message:
            return False
        # The student's answer may also change its arguments, unless that is all that is wrong with the group.
        if answer.changed != mistaken.changed and (mistaken.changed or not result.wrong_values):
            return False
    return bool(result.drawn.expected) or _is_objected_to(mistake, result)


def _is_objected_to(mistake: Mistake, result: GroupResult) -> bool:
    """Return whether the verifier objects to the answers of the mistake, too."""
    answers = [result.drawn.mistake_answer(mistake, index) for index in range(len(result.answers))]
    if any(answer.status != "value" for answer in answers):
        return True
    return run_verifier(result.group, result.drawn.cases, [answer.value for answer in answers]) is not None


def _named(mistake: Mistake, result: GroupResult) -> Finding:
    # The evidence says what changed arguments cost, so what is measured does not say it again.
    evidence = " ".join(filter(None, (_evidence(result), _cost(result))))
    found = Cause.MISTAKE.found(message=mistake.message)
    measured = _measurement(result).sentence
    return replace(found, mistake=mistake.name, evidence=evidence, measured=measured)


def _measurement(result: GroupResult) -> Finding:
    if result.objection_to_value is not None:
        return replace(result.objection_to_value, evidence=_evidence(result))
    if _is_always_the_same(result.exercise, [result]):
        same = always_the_same(result.exercise, len(result.answers), result.answers[0].value)
        return replace(same, evidence=_evidence(result))
    number = result.failed_cases[0] if result.failed_cases else 0
    return replace(describe_difference(result, number), evidence=_evidence(result))


def _cost(result: GroupResult) -> str:
    """Return the sentence that says that changed arguments cost this group; else an empty text."""
    one_group = result.fails_for_changes and result.exercise.changed_arguments == "one group"
    return Cause.COSTS_ONE_GROUP.says(group=result.group.name) if one_group else ""


def _is_always_the_same(exercise: Exercise, results: Sequence[GroupResult]) -> bool:
    """Return whether all calls of some groups return the same value although the expected values differ.

    The parts that an object is made of are not compared: a call returns none of them.
    """
    triples = [
        each
        for result in results
        for each in zip(result.drawn.cases, result.answers, result.drawn.expected, strict=False)
    ]  # none where a verifier judges, which expects no values
    if len(triples) < 2 or any(answer.status != "value" for _, answer, _ in triples):
        return False
    first, *others = (returned_by_call(case, answer.value) for case, answer, _ in triples)
    entries = (
        first.values() if isinstance(first, dict) else first if isinstance(first, (list, tuple)) else [first]
    )
    if not entries or any(entry is None for entry in entries):
        return False  # a missing `return` or entry has a sentence of its own, and so has NaN
    if any(bool((each != each).any()) for _, each in owned_values(first) if is_array(each)):
        return False
    wanted, *further = (returned_by_call(case, expected.value) for case, _, expected in triples)
    return all(same_value(other, first, exercise.tolerance) for other in others) and not all(
        same_value(each, wanted, exercise.tolerance) for each in further
    )


def _evidence(result: GroupResult) -> str:
    wrong = [index for index in result.failed_cases if result.answers[index].status == "value"]
    if not wrong:
        return ""
    origin = "" if result.exercise.is_variable else f" (From the group “{result.group.name}”.)"
    return f"{describe_evidence(result, wrong[0])}{origin}"
