"""More output and messages than anyone reads, and values that are too large, too deep or endless."""

from arena import FORGED_REPLIES, HASTY, IMPATIENT, Attack


class OutputFlood(Attack):
    """Prints and displays without end, in small pieces and in one of hundreds of megabytes."""

    limits = HASTY
    code = """
import os
from IPython.display import display
picture = {"image/png": "iVBORw0KGgo" + "A" * 2_000_000, "text/plain": "2", "text/html": "<b>2</b>" * 10_000}
def double(x):
    while True:
        print("2" * 1000)
        os.write(1, b"2" * 65_536)
def row_sums(x):
    print("2" * 300_000_000)
    return x
def biggest(x):
    shown = display(picture, raw=True, display_id=True)
    while True:
        display(picture, raw=True)
        shown.update(picture, raw=True)
"""

    def harm(self, arena):
        size = (arena.root / "autograded" / self.name / "01_tiny" / "tiny.ipynb").stat().st_size
        return "" if size < 6 * 2**20 else f"its graded notebook has {size} bytes"


class MultipliedOutputs(Attack):
    """Shows little and has it shown a thousand times: updates of many displays, outputs of nothing."""

    daily = "output_flood"
    limits = HASTY | {"notebook_seconds": 25}
    proof = "begins"
    most_memory = 300  # MiB
    LARGEST = 8 * 2**20  # bytes of the graded notebook, for a capacity of 1 MiB
    code = """
kernel = get_ipython().kernel
def send(kind, data, name=None):
    content = {"data": data, "metadata": {}, "transient": {"display_id": name} if name else {}}
    kernel.session.send(kernel.iopub_socket, kind, content, parent=kernel.get_parent("shell"))
print("begins", flush=True)
"""
    MULTIPLY = """
for _ in range(990):
    send("display_data", {}, "a")
for size in (20_000, 60_000, 120_000):
    send("update_display_data", {"text/plain": "x" * size}, "a")
"""
    NOTHING_MANY_TIMES = """
for kind in ("display_data", "execute_result"):
    for _ in range(2_000):
        send(kind, {})
for _ in range(500):
    get_ipython().display_pub.clear_output(wait=True)
    send("display_data", {"text/plain": ""})
"""

    more_cells = [("test_double", cell) for cell in (MULTIPLY, NOTHING_MANY_TIMES) * 10]

    def harm(self, arena):
        size = len(arena.shown(self.name))
        return f"its outputs are {size >> 20} MiB in the graded notebook" if size > self.LARGEST else ""


ATTACKS = {
    "endless_nonsense": Attack(
        "Sends without pause what is no message, or a reply to no one, so that no clock is looked at.",
        limits=HASTY,
        proof="begins",
        code="""
import struct, threading, time
kernel, ways = get_ipython().kernel, []
def way(function):
    ways.append(function)
    return function
def packet(content, number=1, place=0, more=False):
    kernel.wire.socket.send(struct.pack(">IQI?", 1, number, place, more) + content)
@way
def short():
    kernel.wire.socket.send(b"x")
@way
def without_words():
    packet(b"x" * 100)
@way
def many_parts():
    for place in range(2000):
        packet(b"x", 7, place, True)
@way
def to_no_request():
    kernel.wire.send("unknown", "status", b'{"execution_state": "idle"}')
@way
def busy():
    kernel.wire.send(kernel.get_parent("shell")["header"]["msg_id"], "status", b'{"execution_state": "busy"}')
@way
def replies_to_no_request():
    kernel.wire.send("unknown", "execute_reply", b'{"status": "ok", "execution_count": 1}')
@way
def broken_replies():
    kernel.wire.send(kernel.get_parent("shell")["header"]["msg_id"], "execute_reply", b"{")
@way
def clears():
    parent = kernel.get_parent("shell")
    kernel.session.send(kernel.iopub_socket, "clear_output", {"wait": True}, parent=parent)
def forever(function):
    while True:
        try:
            function()
        except BaseException:
            time.sleep(0.001)
def flood(chosen):
    for function in chosen:
        threading.Thread(target=forever, args=(function,), daemon=True).start()
print("begins", flush=True)
def double(x):
    flood(ways[:2] + ways[-3:-1])
    while True:
        time.sleep(0.01)
def row_sums(x):
    flood(ways)
    return x.sum()
def biggest(x):
    flood(ways[3:5])
    while True:
        pass
""",
    ),
    "uncounted_bytes": Attack(
        "Fills the grader with what a count of messages leaves out: empty structures, frames, keys.",
        limits=HASTY | {"notebook_seconds": 20},
        proof="begins",
        code="""
import json, struct, threading
kernel = get_ipython().kernel
def send(kind="display_data", metadata=None, **content):
    parent = kernel.get_parent("shell")
    kernel.session.send(kernel.iopub_socket, kind, content, parent=parent, metadata=metadata)
def empty_structures(plain):
    for structure in ([[]] * 3_000_000, [{}] * 2_000_000):
        send(data={"text/plain": structure}, metadata={})
        send(data={"text/plain": "x", "text/html": structure}, metadata=structure)
def keys(plain):
    send(data={str(n): None for n in range(2_000_000)}, metadata={"k" * 10**7: 1})
    send("execute_result", data={"text/plain": "2"}, metadata={str(n): {} for n in range(10**6)})
def envelopes(plain):
    kernel.session.send(kernel.iopub_socket, "stream", {"name": "stdout", "text": "x"},
                        parent=kernel.get_parent("shell"), metadata={str(n): [] for n in range(10**6)})
def large_frames(plain):
    block = b"x" * (200 * 2**20)
    for _ in range(20):
        kernel.wire.send("x" * 10**7, "stream", block)
def parts(plain):
    for place in range(200_000):  # there is more to come, and it never ends
        kernel.wire.socket.send(struct.pack(">IQI?", 1, 1, place, True) + b"x" * 10_000)
def small_outputs(plain):
    for _ in range(300_000):
        send(data={"text/plain": ""}, metadata={})
def comms(plain):
    for n in range(40):
        send("comm_open", comm_id=str(n), data={"state": {"x": [[]] * 500_000}}, target_name="jupyter.widget")
ways = [empty_structures, keys, envelopes, large_frames, parts, small_outputs, comms]
print("begins", flush=True)
def double(x):
    for way in ways[:3]:
        way(x)
    return x
def row_sums(x):
    for way in ways[3:5]:
        way(x)
    return x.sum()
def biggest(x):
    for way in ways[5:]:
        way(x)
    return x.min()
""",
    ),
    "giant_answers": Attack(
        "Answers with the largest and the deepest things there are: tensors, lists, integers, nests, itself.",
        limits=IMPATIENT,
        code="""
import functools
def nest(depth):
    return functools.reduce(lambda inner, _: [inner], range(depth), [])
itself = {}
itself["itself"] = [itself]
kinds = [
    lambda: torch.zeros(1).expand(10**12), lambda: torch.zeros(20_000_000), lambda: nest(9),
    lambda: [torch.zeros(1_000_000)] * 50, lambda: 7 ** 200_000, lambda: nest(100_000), lambda: itself,
    lambda: ["x" * 20_000] * 5_000, lambda: {str(n): [n] * 50 for n in range(9_000)},
]
turn = [0]
def double(x):
    turn[0] += 1
    return kinds[turn[0] % len(kinds)]()
row_sums = biggest = double
""",
    ),
    "giant_errors": Attack(
        "Raises errors with messages and names of a hundred megabytes, in groups, in chains and without end.",
        limits=HASTY,
        code="""
def double(x):
    raise type("E" * 10**7, (Exception,), {})("x" * 10**8)
def row_sums(x):
    error = ValueError("y" * 10**6)
    for number in range(1000):
        error = ExceptionGroup(f"group {number}" * 100, [error])
    raise error
def biggest(x):
    try:
        return biggest(x)
    except RecursionError as error:
        raise ValueError("z" * 10**5) from error
class Unspeakable(Exception):
    def __str__(self): raise self
    __repr__ = __str__
raise Unspeakable()
""",
    ),
    "one_thing_many_times": Attack(
        "Answers with one thing referred to hundreds of thousands of times: small to send, endless to say.",
        daily="output_flood",
        limits=IMPATIENT,
        proof="answers",
        code="""
wide, plain = torch.ones(1000), torch.ones(3)
def nest(leaf, *counts):
    for count in counts:
        leaf = [leaf] * count
    return leaf
deep = "x"
for _ in range(40):
    deep = [deep, deep]
kinds = [
    lambda x: nest(wide, 9_000, 50), lambda x: nest(x, 9_999, 9_999), lambda x: {"a": nest(plain, 9_999, 99)},
    lambda x: tuple(nest(x * 2, 9_000, 9)), lambda x: {str(n): nest(x, 999) for n in range(999)},
    lambda x: deep, lambda x: nest("y" * 9_999, 5_000), lambda x: nest(10**4_000, 9_000),
    lambda x: {"k" * 10**6 + str(n): x for n in range(9)},
    lambda x: [torch.ones(0) for _ in range(9_999)],
]
turn = [0]
def double(x):
    turn[0] += 1
    return kinds[turn[0] % len(kinds)](x)
row_sums = biggest = double
print("answers")
""",
        # The same, packed by hand: nothing of the kernel's side keeps it within bounds.
        answers={
            "biggest": FORGED_REPLIES
            + """
trees = [
    {"list": [{"dict": [["value", {"list": [tensor] * 400_000}]]}] * 2},
    {"list": [{"dict": [["value", {"dict": [[str(n), tensor] for n in range(300_000)]}]]}] * 2},
    {"list": [{"dict": [["value", {"list": [array] * 300_000}]]}] * 2},
    {"list": [{"dict": [["value", {"list": [{"list": []}] * 500_000}]]}] * 2},
    {"list": [dict_of(value={"table": [["a"] * 900, [["array", array]] * 900, [None, 10, None]]})] * 2},
    {"list": [dict_of(value={"column": ["a", ["object", {"list": [tensor] * 900}], [None, 900, None]]})] * 2},
    {"list": [dict_of(value={"column": ["a", ["object", tensor], [None, 1000, None]]})] * 2},
]
def reply(number):
    return words(trees[number % len(trees)])
"""
        },
    ),
    "steps_without_end": Attack(
        "Reports hundreds of thousands of steps that ran, with long names, for its judge to look through.",
        limits=IMPATIENT | {"notebook_seconds": 40},
        proof="reports",
        code=(
            FORGED_REPLIES
            + """
lists = [[f"step {n:x}" for n in range(60_000)], ["aten::" + "_" * 19_000 + str(n) for n in range(150)],
         ["*" * 9_000, "[" * 9_000, "aten::[!" * 2_000]]
def reply(number):
    ran = {"list": [{"plain": name} for name in lists[number % len(lists)]]}
    return words({"list": [dict_of(value=tensor, ran=ran, changed=ran)] * 2})
print("reports", flush=True)
"""
        ),
    ),
    "text_of_no_encoding": Attack(
        "Answers, raises and prints halves of surrogate pairs, control characters and a book of them.",
        proof="row_sums was called",
        code=r"""
import sys
bad = "\ud800\udfff\x00\x1b[2J\x07\u202e\r\n{}'\"" * 50
def double(x):
    print(bad.encode("utf-8", "replace"))
    return [bad, {bad: bad}]
def row_sums(x):
    print("row_sums was called")
    raise ValueError(bad * 1000)
def biggest(x):
    raise type(bad[4:9].strip("\x00") or "E", (Exception,), {})(bad)
""",
    ),
}
