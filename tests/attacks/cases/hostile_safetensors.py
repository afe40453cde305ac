"""Sends tensor files whose headers lie: negative and overlapping ranges, a terabyte, a million names."""

from attack import wrong

PROOF = "sent [1-9]"
HOSTILE = """
import json, safetensors.torch, sys
sent = []
def file(header, length=None):
    text = header if isinstance(header, bytes) else json.dumps(header).encode()
    return (len(text) if length is None else length).to_bytes(8, "little") + text + b"\\0" * 64
def tensor(shape, start, end, dtype="F32"):
    return {"dtype": dtype, "shape": shape, "data_offsets": [start, end]}
forged = [
    lambda: file({"0": tensor([2**40], 0, 2**42)}),
    lambda: file({"0": tensor([4], 0, 16), "1": tensor([4], 0, 16)}),
    lambda: file({"0": tensor([4], 16, 0)}),
    lambda: file({"0": tensor([2**62, 4], 0, 16)}),
    lambda: file({"0": tensor([], 0, 4, "X9")}),
    lambda: file({str(n): tensor([0], 0, 0) for n in range(300_000)}),
    lambda: file(b"{}", 2**63), lambda: file(b"[" * 100_000), lambda: b"",
]
def forge(tensors):
    sent.append(1)
    return forged[len(sent) % len(forged)]()
def double(x):
    sys._getframe(1).f_globals["save"] = forge
    return x
row_sums_of = double
def row_sums(x):
    if x.shape == (3, 4):
        print("sent", len(sent))
    return row_sums_of(x)
biggest = double
"""


def submission():
    return wrong(double=HOSTILE, row_sums="", biggest="")
