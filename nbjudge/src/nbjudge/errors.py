"""The exceptions that nbjudge raises on purpose: each message is a sentence for the person at the command."""


class CourseError(Exception):
    """Something about the course itself is wrong; the message says what, where and what to do."""


class SettingsError(CourseError):
    """An option, a value or a name in nbgrader_config.py or on the command line does not exist."""


class GradingStops(CourseError):
    """No submission can be graded, whosever it is: those after it need not be tried."""


class SandboxError(CourseError):
    """No kernel can be started in the sandbox; the message says why and what to do."""
