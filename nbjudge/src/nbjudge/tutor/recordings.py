"""Recordings of assignments as files, see `nbjudge.tutor.recorded`.

A recording is a zip file. `recording.json` holds plain values and the few `FORMS`, with arrays as references;
`arrays.json` and `arrays.bin` hold each array once. Nothing in it is executed when it is read.
"""

from __future__ import annotations

import dataclasses
import io
import json
import zipfile
from collections.abc import Iterator, Mapping
from importlib import import_module
from pathlib import Path
from typing import Any

from nbjudge.course.course import Course
from nbjudge.errors import CourseError
from nbjudge.judge.describe import argument_names
from nbjudge.judge.drawn_group import DrawnGroup, draw_groups
from nbjudge.tutor.disclosure import Disclosure, DisclosureSettings
from nbjudge.tutor.material import AssignmentMaterial, Material, TutoredAssignment, material_of, tutor_options
from nbjudge.tutor.recorded import RecordedAssignment, RecordedExercise, RecordedGroup, form_of
from nbjudge.values.kinds import kind_of, leaves
from nbjudge.values.packing import MadeInKernel, Message

SUFFIX, SETTINGS = ".recorded", "tutor.json"
SEED = 1  # of what is recorded: the same course makes the same recording
CONTENT, ARRAYS, NUMBERS = "recording.json", "arrays.json", "arrays.bin"
DATE = (1980, 1, 1, 0, 0, 0)  # of the files within, so that the same content is the same recording
# The dataclasses that a recording may hold, beside plain values and arrays.
FORMS = {
    "nbjudge.tutor.recorded": ("RecordedExercise", "RecordedGroup"),
    "nbjudge.authoring.cases": ("Build", "Case"),
    "nbjudge.authoring.exercise": ("Step", "Tolerance"),
    "nbjudge.kernel.protocol": ("Answer",),
    "nbjudge.torch.authoring": ("ModuleBuild", "Step"),
}
FORM_NAMES = {f"{module}.{name}" for module, names in FORMS.items() for name in names}


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
    """Return the recording of an assignment; the same assignment makes the same recording."""
    writer = _Writer()
    exercises = {name: _recorded(assignment, name) for name in assignment.coded}
    content = writer.data([assignment.folder, assignment.names, exercises])
    kinds = sorted({type(kind_of(array)).__module__ for array in writer.arrays})
    message = Message()
    arrays = [message.tree(array, 0) for array in writer.arrays]
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr(zipfile.ZipInfo(CONTENT, DATE), json.dumps(content))
        archive.writestr(zipfile.ZipInfo(ARRAYS, DATE), json.dumps([kinds, arrays]))
        archive.writestr(zipfile.ZipInfo(NUMBERS, DATE), bytes(message.numbers))
    return file.getvalue()


def read(data: bytes) -> RecordedAssignment:
    """Return the assignment of a recording. Raises CourseError for anything else."""
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            kinds, nodes = json.loads(archive.read(ARRAYS))
            message = Message(bytearray(archive.read(NUMBERS)))
            content = json.loads(archive.read(CONTENT))
        for module in kinds:
            _import_kind(module)
        arrays = [message.value(node, 0) for node in nodes]
        return RecordedAssignment(*_value(content, arrays))
    except Exception as error:  # whatever a file can hold
        raise CourseError(
            f"This is no recording of an assignment ({type(error).__name__}: {error})."
        ) from None


def texts_in(data: bytes) -> Iterator[str]:
    """Every text in a recording, for a search in it. Raises CourseError for what is no recording."""
    read(data)
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        for place, value in leaves(json.loads(archive.read(CONTENT))):  # names are in the places
            yield from (place, value) if isinstance(value, str) else (place,)


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


class _Writer:
    """Turns values into data for JSON: a dict of one entry says what is not a list or a single value."""

    def __init__(self) -> None:
        self.arrays: list[Any] = []
        self._places: dict[int, int] = {}

    def data(self, value: Any) -> Any:
        """Return the data of a value, which `_value` reads. Raises TypeError for what is not recorded."""
        kind = type(value)
        if value is None or kind in (bool, int, float, str):
            return value
        if kind is list:
            return [self.data(entry) for entry in value]
        if kind is tuple:
            return {"tuple": [self.data(entry) for entry in value]}
        if kind is frozenset:
            return {"frozenset": sorted(value)}
        if kind is dict:
            return {"dict": [[self.data(key), self.data(entry)] for key, entry in value.items()]}
        if kind_of(value) is not None:
            return {"array": self._place(value)}
        form = f"{kind.__module__}.{kind.__qualname__}"
        if form in FORM_NAMES:
            names = [field.name for field in dataclasses.fields(value)]
            return {form: {name: self.data(getattr(value, name)) for name in names}}
        raise TypeError(f"{form} is not recorded")

    def _place(self, array: Any) -> int:
        if id(array) not in self._places:
            self._places[id(array)] = len(self.arrays)
            self.arrays.append(array)
        return self._places[id(array)]


def _value(data: Any, arrays: list[Any]) -> Any:
    """Return the value of some data; of dataclasses only `FORMS` are made, and nothing else is called."""
    if isinstance(data, list):
        return [_value(entry, arrays) for entry in data]
    if not isinstance(data, dict):
        return data
    ((form, content),) = data.items()
    if form == "array":
        return arrays[content]
    if form == "tuple":
        return tuple(_value(entry, arrays) for entry in content)
    if form == "frozenset":
        return frozenset(content)
    if form == "dict":
        return {_value(key, arrays): _value(entry, arrays) for key, entry in content}
    if form not in FORM_NAMES:
        raise ValueError(f"{form} is no part of a recording")
    module, _, name = form.rpartition(".")
    fields = {field: _value(entry, arrays) for field, entry in content.items()}
    return getattr(import_module(module), name)(**fields)


def _recorded(assignment: TutoredAssignment, name: str) -> RecordedExercise:
    exercise, reference = assignment.exercise(name)
    smaller = dataclasses.replace(exercise, draw=exercise.draw.for_recordings())
    groups = draw_groups(smaller, reference, SEED)
    recordable = [each for each in groups if each.expected and not _has_code(each)]
    return RecordedExercise(
        *form_of(exercise),
        tuple(argument_names(reference)),
        assignment.hints(name),
        [RecordedGroup.of(each) for each in recordable],
        tuple(each.group.name for each in groups if each not in recordable),
    )


def _has_code(group: DrawnGroup) -> bool:
    values = leaves([group.calls, *map(vars, group.cases)])
    return any(isinstance(value, MadeInKernel) for _, value in values)
