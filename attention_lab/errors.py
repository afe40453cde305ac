"""Errors for people. Where the grader is installed, its class: a command ends alike whoever stops it."""

try:
    from nbjudge.errors import CourseError
except ImportError:  # on a student's machine

    class CourseError(Exception):  # type: ignore[no-redef]
        """Something about the course itself is wrong; the message says what, where and what to do."""


__all__ = ["CourseError"]
