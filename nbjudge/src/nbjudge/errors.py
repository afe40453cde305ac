"""Errors for people."""


class CourseError(Exception):
    """Something about the course itself is wrong; the message says what, where and what to do."""
