"""Writes over the checks and the solutions wherever it can find or guess them."""

from attack import MARK, wrong

WRITER = f"""
import glob, os
def double(x):
    for place in ["/", "/tmp", os.path.expanduser("~"), "..", "../..", "/work", "/root", "/proc/1/root/tmp"]:
        for pattern in ("/**/checks/*.py", "/{MARK}", "/*/{MARK}", "/*/*/{MARK}"):
            for path in glob.glob(place + pattern, recursive=True):
                try:
                    open(path if path.endswith(".py") else path + "/mark", "w").write("x")
                except OSError:
                    pass
    return x
"""


def submission():
    return wrong(double=WRITER)
