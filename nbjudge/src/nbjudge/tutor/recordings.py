"""Recordings of assignments as files, see `nbjudge.tutor.recorded`.

A recording is a zip file. `recording.json` holds plain values, the few `FORMS`, and arrays without their
numbers, which are in `arrays.bin`. Nothing in it is executed when it is read.
"""

from __future__ import annotations

import dataclasses
import io
import json
import zipfile
from collections import UserDict
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from pkgutil import resolve_name
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
CONTENT, NUMBERS = "recording.json", "arrays.bin"
DATE = (1980, 1, 1, 0, 0, 0)  # of the files within, so that the same content is the same recording
# The dataclasses that a recording may hold, beside plain values and arrays.
FORMS = {
    "nbjudge.tutor.recorded": ("RecordedExercise", "RecordedGroup"),
    "nbjudge.authoring.cases": ("Build", "Case"),
    "nbjudge.authoring.exercise": ("Step", "Tolerance"),
    "nbjudge.calls": ("Answer",),
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
    files = sorted(folder.glob(f"*{SUFFIX}"))
    assignments = _Recordings({file.name.removesuffix(SUFFIX): file for file in files})
    return Material(assignments, DisclosureSettings.of(options, list(assignments), Disclosure.MEASURED))


def recordings(course: Course) -> Iterator[tuple[str, bytes]]:
    """The files of such a folder, one by one: name and content."""
    material_of(course)  # raises CourseError for wrong settings
    yield SETTINGS, json.dumps(tutor_options(course), sort_keys=True).encode()
    for assignment in course.assignments.values():
        yield f"{assignment.folder}{SUFFIX}", record(TutoredAssignment(assignment))


def record(assignment: TutoredAssignment) -> bytes:
    """Return the recording of an assignment; the same assignment makes the same recording."""
    message = Message()
    exercises = {name: _recorded(assignment, name) for name in assignment.coded}
    content = _data([assignment.folder, assignment.names, exercises], message)
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as archive:
        archive.writestr(zipfile.ZipInfo(CONTENT, DATE), json.dumps(content), zipfile.ZIP_DEFLATED)
        archive.writestr(zipfile.ZipInfo(NUMBERS, DATE), bytes(message.numbers), zipfile.ZIP_DEFLATED)
    return file.getvalue()


def read(data: bytes) -> RecordedAssignment:
    """Return the assignment of a recording. Raises CourseError for anything else."""
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            message = Message(bytearray(archive.read(NUMBERS)))
            content = json.loads(archive.read(CONTENT))
        return RecordedAssignment(*_value(content, message))
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


class _Recordings(UserDict[str, Any]):
    """The assignments of a folder by name, each read from its file when it is first used."""

    def __getitem__(self, name: str) -> AssignmentMaterial:
        if isinstance(self.data[name], Path):
            self.data[name] = load(self.data[name])
        assignment: AssignmentMaterial = self.data[name]
        return assignment


def _data(value: Any, message: Message) -> Any:
    """Return the data of a value for JSON, which `_value` reads; numbers of arrays go into the message.

    A dict of one entry says what is not a list or a single value. Raises TypeError for what is not recorded.
    """
    kind, owner = type(value), kind_of(value)
    if value is None or kind in (bool, int, float, str):
        return value
    if kind is list:
        return [_data(entry, message) for entry in value]
    if kind is tuple:
        return {"tuple": [_data(entry, message) for entry in value]}
    if kind in (set, frozenset):  # in an order that is the same in every process
        return {kind.__name__: [_data(entry, message) for entry in sorted(value, key=repr)]}
    if kind is complex:
        return {"complex": [value.real, value.imag]}
    if kind is bytes:
        return {"bytes": value.hex()}
    if kind is dict:
        return {"dict": [[_data(key, message), _data(entry, message)] for key, entry in value.items()]}
    if owner is not None:
        return {"array": [type(owner).__module__, message.tree(value, 0)]}
    form = f"{kind.__module__}.{kind.__qualname__}"
    if form in FORM_NAMES:
        names = [field.name for field in dataclasses.fields(value)]
        return {form: {name: _data(getattr(value, name), message) for name in names}}
    raise TypeError(f"{form} is not recorded")


def _value(data: Any, message: Message) -> Any:
    """Return the value of some data; of dataclasses only `FORMS` are made, and nothing else is called."""
    if isinstance(data, list):
        return [_value(entry, message) for entry in data]
    if not isinstance(data, dict):
        return data
    ((form, content),) = data.items()
    if form == "array":
        module, tree = content
        if not module.startswith("nbjudge."):
            raise ValueError(f"{module} is no part of the judge")
        import_module(module)  # which adds its kind of values to those that are known
        return message.value(tree, 0)
    if form == "tuple":
        return tuple(_value(entry, message) for entry in content)
    if form in ("set", "frozenset"):
        return (set if form == "set" else frozenset)(_value(entry, message) for entry in content)
    if form == "complex":
        return complex(*content)
    if form == "bytes":
        return bytes.fromhex(content)
    if form == "dict":
        return {_value(key, message): _value(entry, message) for key, entry in content}
    if form not in FORM_NAMES:
        raise ValueError(f"{form} is no part of a recording")
    fields = {field: _value(entry, message) for field, entry in content.items()}
    return resolve_name(form)(**fields)


def _recorded(assignment: TutoredAssignment, name: str) -> RecordedExercise:
    exercise, reference = assignment.exercise(name)
    if exercise.is_variable:  # a recording of it would hold the answer
        left_out = tuple(group.name for group in exercise.groups)
        return RecordedExercise(*form_of(exercise), (), assignment.hints(name), [], left_out)
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
