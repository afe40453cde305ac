"""Cells and answers that never end."""

from attack import HASTY, IMPATIENT, Attack


class EndlessAnswer(Attack):
    """Never ends its answers: a loop, and a loop that swallows the interrupt."""

    limits = HASTY
    double = """
def double(x):
    while True:
        try:
            while True:
                pass
        except BaseException:
            pass
"""


class HoldsTheInterpreter(Attack):
    """Holds the interpreter's lock in C code that no interrupt of Python's reaches."""

    limits = HASTY
    double = """
import ctypes, signal
signal.signal(signal.SIGINT, lambda *arguments: None)
def double(x):
    ctypes.PyDLL(None).sleep(1000)
    return x
"""


class AsksForInput(Attack):
    """Asks the grader to type something, in every cell and every answer, and waits for it."""

    limits = IMPATIENT
    proof = "no input"
    double = """
import getpass
def ask():
    for question in (input, getpass.getpass):
        try:
            question("How many points? ")
        except Exception as error:
            print("no input:", type(error).__name__)
def double(x):
    ask()
    kernel = get_ipython().kernel
    kernel._allow_stdin = True
    return x * float(input("How many points? "))
def row_sums(x):
    ask()
    return x.sum()
"""
    row_sums = ""


class DeepFolders(Attack):
    """Works in a folder within 18,000 others, whose name the system takes minutes to put together."""

    proof = "longer than any program can use"
    double = """
import os
for _ in range(18_000):
    os.mkdir("d")
    os.chdir("d")
def double(x):
    return x
"""
