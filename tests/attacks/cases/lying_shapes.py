"""Sends arrays whose shapes lie: negative, a terabyte, a million axes, numbers that are not there."""

from attack import FORGED_REPLIES, wrong

PROOF = "packs"
FORGE = """
false_values = [
    {"tensor": ["float32", [2**40], 0, [0]]}, {"tensor": ["float32", [2**62, 4], 0, [0, 1]]},
    {"tensor": ["float32", [-4], 0, [0]]}, {"tensor": ["float32", [4], -16, [0]]},
    {"tensor": ["float32", [4], 2**70, [0]]}, {"tensor": ["float32", [1] * 300_000, 0, []]},
    {"tensor": ["float32", [0, 2**62], 0, [0, 1]]}, {"tensor": ["float32", [2.5, True], 0, [0, 1]]},
    {"tensor": ["quint4x2", [4], 0, [0]]}, {"tensor": ["load", [4], 0, [0]]},
    {"tensor": ["float32", [4], 0, [7]]}, {"tensor": ["float64", [1001], 0, [0]]},
    {"array": ["object", [4], 0, [0]]}, {"array": ["O", [4], 0, [0]]}, {"array": ["V8", [4], 0, [0]]},
    {"array": ["str", [4], 0, [0]]}, {"array": ["str", [2**40], ["a"], [0]]},
    {"array": ["float64", [2**25, 2**25], 0, [0, 1]]}, {"array": ["datetime64[as]", [4], 0, [0]]},
    {"table": [["a"], [["array", array]], [None, 10, None]]},
    {"table": [["a"], [["array", tensor]], [None, 2**70, None]]},
    {"table": [["a"] * 10**5, [], [None, 0, None]]},
    {"column": ["a", ["category", tensor], [None, 1000, None]]},
    {"column": ["a", ["eval", tensor], [None, 1000, None]]}, {"column": []}, {"table": {}},
]
def reply(number):
    return words({"list": [dict_of(value=false_values[number % len(false_values)])] * 4})
print("packs")
def double(x):
    return x
"""


def submission():
    return wrong(double=FORGED_REPLIES + FORGE, row_sums="", biggest="")
