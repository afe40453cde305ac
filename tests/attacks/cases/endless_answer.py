"""Never ends its answers: a loop, and a loop that swallows the interrupt."""

from attack import HASTY, wrong

LIMITS = HASTY
ENDLESS = """
def double(x):
    while True:
        try:
            while True:
                pass
        except BaseException:
            pass
"""


def submission():
    return wrong(double=ENDLESS)
