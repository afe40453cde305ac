"""Returns an object that claims to be equal to whatever it is compared with."""

from attack import wrong

LIAR = """
class Liar:
    def __eq__(self, other): return True
    def __ne__(self, other): return False
    def __bool__(self): return True
    def __getattr__(self, name): return lambda *args, **kwargs: True
def double(x):
    return Liar()
"""


def submission():
    return wrong(double=LIAR)
