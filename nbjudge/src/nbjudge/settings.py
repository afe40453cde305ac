"""All options of nbjudge: their names in nbgrader_config.py, their defaults and what they mean.

A line such as `c.RunAndJudge.cell_seconds = 60` sets the option `cell_seconds` of the section `RunAndJudge`.
Each section is one class here. Where nbgrader runs a class of ours (the preprocessor `RunAndJudge`, the
exporters), that class inherits its options from the class here, and its own name is the name of the section.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, ClassVar
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from traitlets import Bool, Callable, Dict, Enum, Float, Integer, List, TraitType, Unicode
from traitlets.config import Configurable
from traitlets.config.loader import DeferredConfigString

MEBIBYTE = 2**20
IN_MEBIBYTES = ("output", "memory", "disk", "file")  # limits whose options are in MiB

# What an answer loses that changes an argument; the first one is the default.
CHANGED_ARGUMENTS = ("remark", "one group", "all groups")

# The fields of a student in nbgrader's gradebook that a learning platform may know too.
STUDENT_FIELDS = ("id", "email", "lms_user_id")

# What a platform's table of students can hold.
ROSTER_FIELDS = ("id", "first_name", "last_name", "email", "lms_user_id", "name", "received")

# By which field Moodle identifies a student, and the heading of that column.
MOODLE_FIELDS = {"email": "Email address", "idnumber": "ID number", "username": "Username"}

SEPARATORS = {"comma": ",", "semicolon": ";", "tab": "\t"}
DECIMAL_SIGNS = {"point": ".", "comma": ","}


@dataclass(frozen=True)
class Limits:
    """Time, and inside the sandbox memory, files and processes, that one notebook may use.

    The course's limits are options of `RunAndJudge` in nbgrader_config.py. Checks that hold a `Limits` of
    their own, under any name, replace them for their notebook.
    """

    cell: float = 30  #: seconds that one cell may run
    answer: float = 10  #: seconds that the answers to one case group may take
    notebook: float = 300  #: seconds for the whole notebook
    startup: float = 60  #: seconds until a kernel must be ready
    output: int = 16 * MEBIBYTE  #: bytes that all cells together may show
    memory: int = 3072 * MEBIBYTE  #: bytes that all processes of the notebook may hold
    processes: int = 64  #: processes and threads at a time
    open_files: int = 512  #: for each process
    file: int = 256 * MEBIBYTE  #: bytes of the largest file
    disk: int = 512 * MEBIBYTE  #: bytes of all files together, which are kept in memory


# In the order in which `nbjudge config` and the reference show them.
SECTIONS: list[type[Section]] = []


class Section(Configurable):
    """The options of one section of a configuration."""

    config_name: ClassVar[str]  # of the section, in nbgrader_config.py
    plugin: ClassVar[str] = ""  # the class that nbgrader runs with these options and more

    def __init_subclass__(cls, **arguments: Any) -> None:
        """Make every trait of a section an option that a configuration can set."""
        super().__init_subclass__(**arguments)
        if "config_name" in vars(cls):  # not a class of nbgrader's with these options
            SECTIONS.append(cls)
        for trait in vars(cls).values():
            if isinstance(trait, TraitType):
                trait.tag(config=True)

    @classmethod
    def section_names(cls) -> list[str]:
        """Name the sections that traitlets reads for this class, the most general one first."""
        bases = [each for each in reversed(cls.__mro__) if issubclass(each, Configurable)]
        return [str(vars(base).get("config_name", base.__name__)) for base in bases]


class GradingSettings(Section):
    """Running and judging notebooks."""

    config_name = "RunAndJudge"
    plugin = "nbjudge.nbgrader_hooks.RunAndJudge"

    sandbox = Bool(
        True,
        help="Whether student code runs inside bubblewrap. Without it, it runs as the person who grades, "
        "and can read and change whatever that person can.",
    )
    modules = List(
        Unicode(),
        help="Packages that the sandbox imports once for all notebooks, besides those that the assignment's "
        "own cells import.",
    )
    exposed_modules = List(
        Unicode(),
        help="Modules of the course's own that notebooks import (a_course.plots): the sandbox exposes these, "
        "and nothing else of their packages.",
    )
    kernel_names = Dict(
        Unicode(),
        help="Kernels that notebooks name and this machine does not have, and those that run instead, "
        'such as {"rt_grader": "python3"}.',
    )
    build_command = Unicode(
        "nbgrader generate_assignment {assignment}",
        help="The command that enters an assignment into the gradebook, as messages name it.",
    )
    cell_seconds = Float(
        Limits.cell, help="Seconds that one cell may run (default: `c.Execute.timeout`, if that is set)."
    )
    answer_seconds = Float(Limits.answer, help="Seconds that the answers to one case group may take.")
    notebook_seconds = Float(Limits.notebook, help="Seconds that a whole notebook may take.")
    output_mebibytes = Integer(Limits.output // MEBIBYTE, help="Output of all cells of a notebook, in MiB.")
    memory_mebibytes = Integer(Limits.memory // MEBIBYTE, help="Memory of a notebook, in MiB (sandbox only).")
    disk_mebibytes = Integer(
        Limits.disk // MEBIBYTE, help="All files that a notebook writes, in MiB (sandbox only)."
    )
    file_mebibytes = Integer(
        Limits.file // MEBIBYTE, help="The largest of these files, in MiB (sandbox only)."
    )
    processes = Integer(Limits.processes, help="Processes and threads of a notebook (sandbox only).")
    open_files = Integer(Limits.open_files, help="Open files of a process (sandbox only).")
    grade_despite_failing_cells = Bool(
        False,
        help="Whether to grade an assignment with a failing cell of its own although its solution loses "
        "points in an automatically graded cell, with a warning: right work may get 0 there.",
    )
    changed_arguments = Enum(
        CHANGED_ARGUMENTS,
        CHANGED_ARGUMENTS[0],
        help="The cost of changing an argument, in exercises that do not set it: "
        '"remark" costs nothing and is said in feedback, "one group" costs the first case group that shows '
        'the change and whose values are right, "all groups" every group that shows it. It is read from '
        "nbgrader_config.py, for grading, the tutor and `nbjudge try` alike.",
    )

    @property
    def limits(self) -> Limits:
        """The course's limits, with the timeouts that it has set for nbgrader's `Execute`."""
        limits = Limits(
            cell=self.cell_seconds,
            answer=self.answer_seconds,
            notebook=self.notebook_seconds,
            **{name: getattr(self, f"{name}_mebibytes") * MEBIBYTE for name in IN_MEBIBYTES},
            processes=self.processes,
            open_files=self.open_files,
        )
        return with_execute_timeouts(limits, self.config)


class TimeZone(Unicode):  # type: ignore[type-arg]
    """The name of a time zone that this machine knows."""

    info_text = "the name of a time zone, such as 'Europe/Vienna'"

    def validate(self, obj: Any, value: Any) -> Any:
        """Refuse other names."""
        try:
            ZoneInfo(super().validate(obj, value))
        except (ZoneInfoNotFoundError, ValueError, OSError):  # a folder is none, nor a path
            self.error(obj, value)
        return value


class CourseSettings(Section):
    """Dates and students of the course."""

    config_name = "Course"

    timezone = TimeZone("UTC", help="The time zone in which dates are typed and shown.")
    roster_columns = Dict(
        key_trait=Enum(ROSTER_FIELDS),
        value_trait=Unicode(),
        help="The headings of a platform's table of students, by the field that a column holds, where they "
        'are not found by themselves: {"id": "Matriculation number"}. "name" is a full name.',
    )


class LateSettings(Section):
    """What is taken off the points of work that is handed in late."""

    config_name = "LatePolicy"
    plugin = "nbjudge.nbgrader_hooks.late_policy.LatePolicy"

    grace_minutes = Float(0, min=0, help="Minutes after the deadline that cost nothing.")
    percent_per_day = Float(
        0,
        min=0,
        max=100,
        help="Percent of the points that each started day costs, counted from the deadline. Without this, "
        "`zero_after_days` and `function`, nbgrader's `c.LateSubmissionPlugin` decides.",
    )
    cap_percent = Float(100, min=0, max=100, help="Percent that all started days together cost at most.")
    zero_after_days = Integer(0, min=0, help="Started days after which no points are left (0: never).")
    function = Callable(
        None,
        allow_none=True,
        help="A function of the course's own instead: called with the student's id, the points of a notebook "
        "and the seconds it is late, it returns the points to take off.",
    )


class TutorSettings(Section):
    """The learners' tutor."""

    config_name = "Tutor"

    level = Enum(
        ("full", "measured", "examples"),
        "full",
        help='How much the tutor reveals: "full" names mistakes and shows a solution, "measured" says what '
        'was measured, with hints, "examples" repeats the examples of the statement only. Without a setting, '
        'the tutor of a class on a hub uses "measured".',
    )
    levels = Dict(
        help='The same for single assignments, and from a day on: {"ps1": "measured", "ps2": [["examples", '
        '""], ["full", "2026-12-01"]]}. The last level that has begun is in force.'
    )


class ClassroomSettings(Section):
    """The tutor of a class on JupyterHub, and its board."""

    config_name = "Classroom"

    instructors = List(
        Unicode(), help="Names on the hub of those who see the board, besides the hub's admins."
    )
    instructor_groups = List(
        Unicode(), ["instructors"], help="Groups of the hub whose members see the board."
    )
    names = Bool(False, help="Whether the board shows names; learners are told so.")
    keep_days = Integer(30, min=0, help="Days that the checks on the board are kept; 0 keeps nothing.")
    stuck_tries = Integer(4, min=0, help="Checks of one exercise after which a learner is stuck.")
    stuck_minutes = Integer(12, min=0, help="Minutes after the first check, likewise.")
    hosts = List(Unicode(), help="Host names by which browsers and students' servers reach the hub.")
    checks_a_minute = Integer(20, min=0, help="Checks per minute of one learner.")
    largest_megabytes = Integer(16, min=0, help="Largest answer that is read, in MB.")
    memory_mebibytes = Integer(
        8192,
        min=0,
        help="Address space that the service may take beyond its start, in MiB (Linux only; 0: no limit).",
    )


class CsvSettings(Section):
    """CSV files of reports and scores."""

    config_name = "CsvFiles"

    separator = Enum(
        tuple(SEPARATORS), "comma", help="The separator of the fields; a decimal comma needs another one."
    )
    decimal = Enum(tuple(DECIMAL_SIGNS), "point", help="The decimal sign.")


class FeedbackSettings(Section):
    """The feedback page."""

    config_name = "FeedbackExporter"
    plugin = "nbjudge.feedback.FeedbackExporter"

    fold_assignment = Bool(True, help="Whether the assignment's own text and cells are folded.")


class PlatformSettings(Section):
    """Every export of scores, and the one for a spreadsheet."""

    config_name = "PlatformExporter"
    plugin = "nbjudge.exports.learning_platform.PlatformExporter"

    columns = Dict(
        key_trait=Unicode(),
        value_trait=Unicode(),
        help="The platform's names of assignments, by nbgrader's; other assignments keep nbgrader's name.",
    )
    missing = Enum(
        ("empty", "zero"), "empty", help="What to write for work that was not handed in: no grade, or 0."
    )
    with_unmarked = Bool(
        False, help="Whether work that waits to be marked by hand is exported with the points it has so far."
    )


class CanvasSettings(PlatformSettings):
    """Export to Canvas."""

    config_name = "CanvasExporter"
    plugin = "nbjudge.exports.canvas.CanvasExporter"

    canvas_id = Enum(
        ("", *STUDENT_FIELDS),
        "lms_user_id",
        help="The field of nbgrader's with Canvas's number of a student (column ID).",
    )
    sis_user_id = Enum(("", *STUDENT_FIELDS), "", help="The field with the SIS User ID.")
    sis_login_id = Enum(("", *STUDENT_FIELDS), "id", help="The field with the SIS Login ID.")
    section = Unicode("", help="The text of the column Section, which Canvas requires.")


class MoodleSettings(PlatformSettings):
    """Export to Moodle."""

    config_name = "MoodleExporter"
    plugin = "nbjudge.exports.moodle.MoodleExporter"

    identify_by = Enum(
        tuple(MOODLE_FIELDS), "email", help="The field of Moodle's by which it finds a student."
    )
    student_field = Enum(
        ("", *STUDENT_FIELDS),
        "",
        help="The field of nbgrader's that holds it (default: the e-mail address, or else the id).",
    )
    comments = Bool(
        False, help="Whether each assignment gets a second column with the comments written by hand."
    )


# nbgrader's `Execute`, which nbjudge replaces, and the bases that traitlets reads its options from.
NUMBER_OR_NONE = Float(allow_none=True)
EXECUTE_SECTIONS = ("Execute", "ExecutePreprocessor", "NotebookClient")
# Options that change a grade under stock nbgrader and have no counterpart here.
IGNORED_EXECUTE_OPTIONS = (
    "allow_error_names",
    "allow_errors",
    "enabled",
    "error_on_timeout",
    "execute_retries",
    "extra_arguments",
    "force_raise_errors",
    "kernel_name",
    "skip_cells_with_tag",
    "timeout_func",
)
NO_EFFECT = (
    "nbjudge grades without {names}, because it runs notebooks itself: see c.RunAndJudge.cell_seconds, "
    "kernel_names and its other options."
)
NO_LIMIT = (
    "{name} = {value} sets no limit, and nbjudge always has one: a cell is stopped after {seconds:g} s, the "
    "time for its notebook (c.RunAndJudge.notebook_seconds)."
)


def with_execute_timeouts(limits: Limits, config: Mapping[str, Any]) -> Limits:
    """Apply the timeouts that a course has set for nbgrader's `Execute`.

    Parameters
    ----------
    limits
        The limits from nbjudge's own options.
    config
        The whole configuration. Options of nbjudge that it sets take precedence.

    Returns
    -------
    Limits
        With `timeout` as the time for a cell and `startup_timeout` as that until a kernel is ready. If a cell
        may take longer than its notebook, the notebook may take as long. A timeout of None or -1, which is
        no limit to nbgrader, becomes the notebook's.
    """
    own = config.get("RunAndJudge", {})
    _, startup = execute_option(config, "startup_timeout")
    if startup is not None and startup > 0:
        limits = replace(limits, startup=float(startup))
    name, timeout = execute_option(config, "timeout")
    if not name or "cell_seconds" in own:
        return limits
    if timeout is None or timeout <= 0:
        return replace(limits, cell=limits.notebook)
    if "notebook_seconds" not in own:
        limits = replace(limits, notebook=max(limits.notebook, float(timeout)))
    return replace(limits, cell=float(timeout))


def execute_remarks(limits: Limits, config: Mapping[str, Any]) -> list[str]:
    """List what a course has set for `Execute` and nbjudge does not do, one or two sentences each."""
    remarks = []
    ignored = [name for option in IGNORED_EXECUTE_OPTIONS if (name := execute_option(config, option)[0])]
    if ignored:
        remarks.append(NO_EFFECT.format(names=", ".join(ignored)))
    name, timeout = execute_option(config, "timeout")
    is_limit = timeout is not None and timeout > 0
    if name and not is_limit and "cell_seconds" not in config.get("RunAndJudge", {}):
        remarks.append(NO_LIMIT.format(name=name, value=timeout, seconds=limits.notebook))
    return remarks


def execute_option(config: Mapping[str, Any], option: str) -> tuple[str, Any]:
    """Find an option of `Execute`: its full name and its value; an empty name where it is not set."""
    for section in EXECUTE_SECTIONS:
        if section in config and option in config[section]:
            value = config[section][option]
            if isinstance(value, DeferredConfigString):  # from the command line
                value = value.get_value(Unicode() if option in IGNORED_EXECUTE_OPTIONS else NUMBER_OR_NONE)
            return f"c.{section}.{option}", value
    return "", None
