"""Hands in a pipe in the place of its notebook, from which no one ever reads to the end."""

import os

from attack import wrong


def prepare(folder):
    (folder / "tiny.ipynb").unlink()
    os.mkfifo(folder / "tiny.ipynb")


def submission():
    return wrong()
