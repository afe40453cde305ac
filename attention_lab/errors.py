"""Errors for people: the class of nbjudge, which the kernels of a sandbox do not see."""

try:
    from nbjudge import CourseError
except ImportError:  # in a sandbox

    class CourseError(Exception):  # type: ignore[no-redef]
        """Something about the course itself is wrong; the message says what, where and what to do."""


__all__ = ["CourseError"]
