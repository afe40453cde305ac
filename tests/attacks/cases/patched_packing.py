"""Replaces what answers are packed with (json, base64), and packs what pleases."""

from attack import wrong

PROOF = "packed [1-9]"
PATCH = """
import base64, json
packed, real = [], json.dumps
def dumps(tree, **options):
    if options:
        return real(tree, **options)
    packed.append(tree)
    return [
        '{"plain": 2}', "2", "NaN", "null",
        '{"dict": [["points", {"plain": 2}], ["agrees", {"plain": true}]]}',
        '{"list": [{"dict": [["value", {"made": ["", {"dict": []}]}], ["points", {"plain": 2}]]}]}',
    ][len(packed) % 6]
json.dumps = dumps
def double(x):
    return x
def row_sums(x):
    print("packed", len(packed))
    return x.sum()
"""


def submission():
    return wrong(double=PATCH, row_sums="")
