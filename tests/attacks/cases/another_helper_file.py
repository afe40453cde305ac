"""Hands in the same cells again with another file beside them: a table of the inputs that feedback showed."""

import json
import re

from attack import wrong

PROOF = "a table of [1-9]"
LOOK_UP = """
import json, os, torch
table = json.load(open("table.json")) if os.path.exists("table.json") else {}
print("a table of", len(table))
def biggest(x):
    key = f"{x.sum().item():.6f}"
    if not table:
        raise ValueError(json.dumps([key, *x.tolist()]))
    return torch.tensor(table.get(key, 0.0))
"""


def submission():
    return wrong(biggest=LOOK_UP)


def prepare(folder, arena):
    """What is told of the first submission is in the second one's table."""
    assert arena.api.autograde("01_tiny", __name__)["success"]
    told = arena.graded.reason(__name__, "biggest")
    shown = re.findall(r'\["(.+?)", ([-0-9., e]+)', told)
    assert shown, told
    table = {key: max(map(float, numbers.rstrip(", ").split(","))) for key, numbers in shown}
    (folder / "table.json").write_text(json.dumps(table))
