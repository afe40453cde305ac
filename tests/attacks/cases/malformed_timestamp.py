"""Hands in with a time stamp that is no time but a long text with a script in it."""

from attack import wrong

FILES = {"timestamp.txt": b"<script>alert(2)</script> \xff\xfe" * 1000}


def submission():
    return wrong()
