"""Recordings of assignments as files, see `nbjudge.tutor.recorded`.

A recording holds plain values, arrays and the few `FORMS`; nothing in it is executed when it is read.
"""

from __future__ import annotations

import gzip
import io
import json
import pickle
from collections.abc import Iterator, Mapping
from importlib import import_module
from pathlib import Path
from typing import Any

from nbjudge.authoring.cases import Case
from nbjudge.course.course import Course
from nbjudge.errors import CourseError
from nbjudge.judge.argument_names import argument_names
from nbjudge.judge.drawn_group import DrawnGroup
from nbjudge.judge.retest import retest_calls
from nbjudge.tutor.disclosure import Disclosure, DisclosureSettings
from nbjudge.tutor.material import AssignmentMaterial, Material, TutoredAssignment, material_of, tutor_options
from nbjudge.tutor.recorded import RecordedAssignment, RecordedExercise, RecordedGroup
from nbjudge.values.kinds import kind_of
from nbjudge.values.packing import MadeInKernel, Message

SUFFIX, SETTINGS = ".recorded", "tutor.json"
SEED = 1  # of what is recorded: the same course makes the same recording
# What a recording is made of, beside plain values and arrays.
FORMS = {
    *(("nbjudge.tutor.recorded", name) for name in ("RecordedExercise", "RecordedGroup")),
    *(("nbjudge.authoring.cases", name) for name in ("Build", "Case")),
    ("nbjudge.authoring.exercise", "Tolerance"),
    ("nbjudge.torch.build", "ModuleBuild"),
    ("nbjudge.torch.steps", "Step"),
    ("nbjudge.authoring.steps", "Step"),
    ("nbjudge.kernel.replies", "Answer"),
    ("builtins", "frozenset"),
}


def recorded_material(folder: Path) -> Material:
    """A course from the recordings in a folder, and from what its configuration says of the tutor.

    Raises CourseError where that cannot be read; so does whatever reads an assignment that cannot be read.
    """
    try:
        options = dict(json.loads((folder / SETTINGS).read_text("utf-8")))
    except (OSError, TypeError, ValueError) as error:
        raise CourseError(
            f"{SETTINGS}, which says how much the tutor may reveal, cannot be read: {error}"
        ) from None
    assignments = _Recordings(folder)
    return Material(assignments, DisclosureSettings.of(options, list(assignments), Disclosure.MEASURED))


def recordings(course: Course) -> Iterator[tuple[str, bytes]]:
    """The files of such a folder, one by one: name and content."""
    material_of(course)  # raises CourseError for wrong settings
    yield SETTINGS, json.dumps(tutor_options(course), sort_keys=True).encode()
    for assignment in course.assignments.values():
        yield f"{assignment.folder}{SUFFIX}", record(TutoredAssignment(assignment))


def record(assignment: TutoredAssignment) -> bytes:
    """The recording of an assignment; the same assignment makes the same recording."""
    arrays: list[Any] = []
    content = io.BytesIO()
    exercises = {name: _recorded(assignment, name) for name in assignment.coded}
    _Writer(content, arrays).dump((assignment.folder, assignment.names, exercises))
    message = Message()
    nodes = json.dumps([message.tree(array, 0) for array in arrays])
    kinds = sorted({type(kind_of(array)).__module__ for array in arrays})
    return gzip.compress(pickle.dumps((kinds, nodes, bytes(message.numbers), content.getvalue())), mtime=0)


def read(data: bytes) -> RecordedAssignment:
    """The assignment of a recording. Raises CourseError for anything else."""
    try:
        kinds, nodes, numbers, content = _Reader(io.BytesIO(gzip.decompress(data)), []).load()
        for module in kinds:
            _import_kind(module)
        message = Message(bytearray(numbers))
        arrays = [message.value(node, 0) for node in json.loads(nodes)]
        return RecordedAssignment(*_Reader(io.BytesIO(content), arrays).load())
    except Exception as error:  # whatever a file can hold
        raise CourseError(
            f"This is no recording of an assignment ({type(error).__name__}: {error})."
        ) from None


def texts_in(data: bytes) -> Iterator[str]:
    """Every text in a recording, for a search in it. Raises CourseError for what is no recording."""
    yield from _texts(vars(read(data)))


def _texts(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for name, entry in value.items():
            yield str(name)
            yield from _texts(entry)
    elif isinstance(value, (list, tuple, frozenset)):
        for entry in value:
            yield from _texts(entry)
    elif hasattr(value, "__dict__") and kind_of(value) is None:
        yield from _texts(vars(value))


def load(file: Path) -> RecordedAssignment:
    """The assignment that a file holds. Raises CourseError where it is no recording."""
    try:
        return read(file.read_bytes())
    except (OSError, CourseError) as error:
        raise CourseError(f"{file.name}, which the tutor asks from, cannot be read: {error}") from None


def _import_kind(module: str) -> None:
    """A kind of values is known once its module is loaded."""
    if not module.startswith("nbjudge."):
        raise ValueError(f"{module} is no part of the judge")
    import_module(module)


class _Recordings(Mapping[str, AssignmentMaterial]):
    """The assignments of a folder, each read when it is first used."""

    def __init__(self, folder: Path) -> None:
        self._files = {file.name.removesuffix(SUFFIX): file for file in sorted(folder.glob(f"*{SUFFIX}"))}
        self._read: dict[str, AssignmentMaterial] = {}

    def __getitem__(self, assignment: str) -> AssignmentMaterial:
        if assignment not in self._read:
            self._read[assignment] = load(self._files[assignment])
        return self._read[assignment]

    def __contains__(self, assignment: object) -> bool:
        return assignment in self._files

    def __iter__(self) -> Iterator[str]:
        return iter(self._files)

    def __len__(self) -> int:
        return len(self._files)


class _Writer(pickle.Pickler):
    """Plain values as pickle has them, each array once and beside them."""

    def __init__(self, file: io.BytesIO, arrays: list[Any]) -> None:
        super().__init__(file)
        self._arrays = arrays
        self._places: dict[int, int] = {}

    def persistent_id(self, value: Any) -> int | None:
        if kind_of(value) is None:
            return None
        if id(value) not in self._places:
            self._places[id(value)] = len(self._arrays)
            self._arrays.append(value)
        return self._places[id(value)]


class _Reader(pickle.Unpickler):
    """Reads `FORMS` and plain values, and calls nothing else."""

    def __init__(self, file: io.BytesIO, arrays: list[Any]) -> None:
        super().__init__(file)
        self._arrays = arrays

    def persistent_load(self, place: int) -> Any:
        return self._arrays[place]

    def find_class(self, module: str, name: str) -> Any:
        if (module, name) not in FORMS:
            raise pickle.UnpicklingError(f"{module}.{name} is no part of a recording")
        return getattr(import_module(module), name)


def _recorded(assignment: TutoredAssignment, name: str) -> RecordedExercise:
    exercise, reference = assignment.exercise(name)
    groups = assignment.questions(name, SEED)
    recordable = [each for each in groups if each.expected and not _has_code([each.cases, each.calls])]
    return RecordedExercise(
        name,
        exercise.results,
        exercise.axes,
        exercise.tolerance,
        exercise.not_allowed,
        tuple(argument_names(reference)),
        assignment.hints(name),
        [_recorded_group(each) for each in recordable],
        tuple(each.group.name for each in groups if each not in recordable),
        exercise.changed_arguments,
    )


def _recorded_group(drawn: DrawnGroup) -> RecordedGroup:
    group, second_round = drawn.group, retest_calls(drawn)
    return RecordedGroup(
        group.name,
        group.points,
        drawn.cases,
        drawn.calls,
        drawn.expected,
        drawn.requires_computation,
        second_round,
    )


def _has_code(value: Any) -> bool:
    if isinstance(value, Case):
        return _has_code(vars(value))
    if isinstance(value, dict):
        return any(map(_has_code, value.values()))
    if isinstance(value, (list, tuple)):
        return any(map(_has_code, value))
    return isinstance(value, MadeInKernel)
