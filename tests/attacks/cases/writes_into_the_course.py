"""Writes over the checks and the solutions wherever it can find or guess them."""

from attack import MARK, wrong

PROOF = r"looked into [1-9]\d+ folders"
WRITER = f"""
import glob, os, sys
targets, looked, packages = [], 0, ("/proc", "/sys", "/usr", sys.prefix, sys.base_prefix)
for folder, folders, files in os.walk("/"):
    looked += 1
    folders[:] = [name for name in folders if os.path.join(folder, name) not in packages]
    if "checks" in folder or "solutions" in folder:
        targets += [os.path.join(folder, name) for name in files if name.endswith((".py", ".ipynb"))]
for place in ["", "/tmp", os.path.expanduser("~"), "..", "../..", "/work", "/root", "/proc/1/root/tmp"]:
    for depth in ("", "/*", "/*/*"):
        targets += [path + "/mark" for path in glob.glob(place + depth + "/{MARK}")]
for path in targets:
    try:
        open(path, "w").write("x")
    except OSError:
        pass
print("looked into", looked, "folders")
def double(x):
    return x
"""


def submission():
    return wrong(double=WRITER)
