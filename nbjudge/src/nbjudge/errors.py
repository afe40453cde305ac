"""Errors for people."""


class CourseError(Exception):
    """Something about the course itself is wrong; the message says what, where and what to do."""


class GradingStops(CourseError):
    """No submission can be graded, whosever it is: those after it need not be tried."""


class SandboxError(CourseError):
    """No kernel can be started in the sandbox; the message says why and what to do."""
