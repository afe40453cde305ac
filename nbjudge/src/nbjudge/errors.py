"""The exceptions and exit statuses of nbjudge. Each message is a sentence for the person at the command.

Library code raises them, and `nbjudge.cli` turns them into an exit status. Under nbgrader's own commands no
code of nbjudge runs at the outermost level, and nbgrader catches every `Exception` to go on with the next
submission. Errors that must end such a command therefore derive from `SystemExit` (`NbgraderCommandError`).
"""

from collections.abc import Iterator
from contextlib import contextmanager
from enum import IntEnum


class ExitStatus(IntEnum):
    """The exit status of a command."""

    SUCCESS = 0
    PROBLEM = 1  #: an error, a submission without a grade, or a check that needs fixing
    INTERRUPTED = 130  #: Ctrl-C, as shells say it


class CourseError(Exception):
    """Something about the course itself is wrong; the message says what, where and what to do."""


class GradebookError(CourseError):
    """The gradebook cannot be written, and is as it was."""


class SettingsError(CourseError):
    """An option, a value or a name in nbgrader_config.py or on the command line does not exist."""


class PlatformRefusalError(CourseError):
    """A learning platform refuses one request; others may be accepted."""


class GradingImpossibleError(CourseError):
    """No submission can be graded, whosever it is, so the following ones need not be tried."""


class NoKernelError(GradingImpossibleError):
    """No kernel starts, even without a student's files: the machine is at fault, not the submission."""


class BrokenAssignmentError(GradingImpossibleError):
    """A cell of the assignment's own fails, and its solution cannot get all points."""


class SandboxError(CourseError):
    """The sandbox did not start, or it broke; the message says what to do."""


class WorkerDiedError(CourseError):
    """Every process that graded this notebook died: it gets 0 points, with the message as the reason."""

    sentence = (
        "Whenever this notebook was graded, the process that graded it ended: it needs too much memory or "
        "time. If you do not see why, ask your instructor."
    )

    def __init__(self, message: str = sentence) -> None:
        super().__init__(message)


class NbgraderCommandError(SystemExit):
    """One of nbgrader's commands must end with this sentence and status 1."""


class GradingStoppedError(NbgraderCommandError):
    """`nbgrader autograde` or `nbjudge grade` cannot go on; grades that are written stay."""


@contextmanager
def stop_on_course_error(what_happened: str, advice: str = "") -> Iterator[None]:
    """End nbgrader's command, not only this submission, where a CourseError is raised.

    Raises GradingStoppedError with the error's sentence between the two others.
    """
    try:
        yield
    except CourseError as error:
        raise GradingStoppedError(f"{what_happened} {error} {advice}".rstrip()) from error


class ExportError(NbgraderCommandError):
    """`nbgrader export` cannot write the file."""


def is_out_of_memory(error: BaseException) -> bool:
    """Return whether an error says that memory is short: Python's own, torch's, or a new thread's."""
    if isinstance(error, MemoryError):
        return True
    return isinstance(error, RuntimeError) and any(
        sign in str(error) for sign in ("can't allocate memory", "can't start new thread")
    )


# The modules of the packages that the group `grading` of pyproject.toml installs.
GRADING = "IPython ipykernel jinja2 jupyter_client latex2mathml markupsafe nbconvert nbformat nbgrader nh3 "
GRADING += "orjson psutil pygments rapidfuzz sqlalchemy zmq"
GRADING_MODULES = frozenset(GRADING.split())
LTI_MODULES = frozenset(["joserfc", "requests"])  # likewise of the group `lti`
# Modules of Python that Windows does not have, and that grading and a class's tutor import.
UNIX_MODULES = frozenset(["fcntl", "resource"])


def without_grading(error: ModuleNotFoundError) -> CourseError | None:
    """Return the error to show if grading or LTI needs the module, and None for any other module."""
    package = (error.name or "").partition(".")[0]
    if package in UNIX_MODULES:
        return CourseError(
            "This command runs on Linux only, because student code is graded in a Linux sandbox. Lessons, "
            "`check` and the start page run on every system."
        )
    if package not in GRADING_MODULES | LTI_MODULES:
        return None
    group = "lti" if package in LTI_MODULES else "grading"
    return CourseError(
        f"This command needs {package}, which is not installed. Run `pip install 'nbjudge[{group}]'`, or "
        f"`pip install './nbjudge[{group}]'` in a clone."
    )
