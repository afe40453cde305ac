"""Asks the grader to type something, in every cell and every answer, and waits for it."""

from attack import IMPATIENT, wrong

LIMITS = IMPATIENT
PROOF = "no input"
ASK = """
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


def submission():
    return wrong(double=ASK, row_sums="")
