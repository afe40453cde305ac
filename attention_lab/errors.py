"""Errors for people. If the grader is installed, its class is used, so that all commands end alike."""

try:
    from nbjudge.errors import CourseError
except ImportError:  # on a student's machine

    class CourseError(Exception):  # type: ignore[no-redef]
        """Something about the course itself is wrong; the message says what, where and what to do."""


__all__ = ["CourseError"]
