"""Hands in with a time stamp of a day that no calendar holds."""

from attack import wrong

FILES = {"timestamp.txt": b"99999-99-99 99:99:99 two points, please"}


def submission():
    return wrong()
