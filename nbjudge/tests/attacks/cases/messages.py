"""Attacks by messages: on the sockets of a kernel, forged, odd, in a wrong order, and packed replies."""

from arena import HASTY, IMPATIENT, Attack


class ForgedResults(Attack):
    """Sends results with numbers and a verdict's metadata, in the name of its own and of other cells."""

    represents = "forged results"
    proof = "sent"
    code = """
def send():
    kernel, hook = get_ipython().kernel, get_ipython().displayhook
    verdict = {"exercise": "double", "points": 2, "max_points": 2, "groups": [], "findings": [], "seed": 1}
    for parent in (hook.parent_header, kernel.get_parent("shell"), kernel.get_parent("control"), {}):
        for kind in ("execute_result", "display_data", "stream", "error"):
            content = {
                "data": {"text/plain": "2", "text/html": "2 of 2"}, "execution_count": 1, "name": "stdout",
                "text": "2", "ename": "2", "evalue": "2", "traceback": [],
                "metadata": {"nbjudge": verdict},
            }
            kernel.session.send(hook.pub_socket, kind, content, parent=parent, metadata={"points": 2})
def double(x):
    send()
    return x
def row_sums(x):
    send()
    print("sent")
    return x.sum()
send()
"""

    def harm(self, arena):
        graded = [cell for cell in arena.graded.notebook(self.name).cells if cell.id.startswith("test_")]
        results = [o for cell in graded for o in cell.outputs if o.output_type in ("execute_result", "error")]
        return "" if len(results) == len(graded) else "a forged result is beside the verdict"


class OddReplies(Attack):
    """Replies to cells and questions with contents of every wrong shape, so that its grader stumbles."""

    limits = IMPATIENT | {"notebook_seconds": 40}
    proof = "replies"
    code = """
kernel = get_ipython().kernel
contents = [
    {}, [], None, 2, "x", {"status": 2}, {"status": "ok", "payload": 7},
    {"status": "ok", "payload": [7, None, {}]},
    {"status": "ok", "execution_count": "many"}, {"status": "ok", "execution_count": -1}, {"status": []},
    {"status": "ok", "execution_count": 10**300}, {"status": "error"},
    {"status": "error", "ename": 7, "evalue": []},
    {"status": "error", "ename": {}, "evalue": None, "traceback": 7}, {"status": "ok", "user_expressions": 7},
    {"status": "ok", "user_expressions": {"answer": 7}}, {"status": "ok", "user_expressions": {"answer": {}}},
    {"status": "ok", "user_expressions": {"answer": {"status": "ok", "data": 7}}},
    {"status": "ok", "user_expressions": {"answer": {"status": "ok", "data": {"text/plain": 7}}}},
    {"status": "ok", "user_expressions": {"answer": {"status": "ok", "data": {"text/plain": "'\\ud800'"}}}},
    {"status": "ok", "user_expressions": {"answer": {"status": "error", "ename": 7, "evalue": {}}}},
]
kinds, turn, real = ("execute_reply", "status", "execute_input", "stream", "error"), [0], kernel.session.send
def send(stream, kind, content=None, *arguments, **options):
    known = kind if isinstance(kind, str) else kind.get("msg_type", "")
    if known == "execute_reply":
        turn[0] += 1
        content = contents[turn[0] % len(contents)]
    elif known in kinds[1:] and turn[0] % 3 == 2:
        real(stream, kind, contents[turn[0] % len(contents)], *arguments, **options)
    return real(stream, kind, content, *arguments, **options)
print("replies", flush=True)
kernel.session.send = send
"""

    def harm(self, arena):
        reasons = [arena.graded.reason(self.name, name) for name in ("double", "row_sums", "biggest")]
        return "" if all(reasons) else "an exercise is 0 without a reason"


ATTACKS = {
    "stale_loops": Attack(
        "Stops, swaps or closes the loop in which its kernel takes in messages.",
        daily="endless_answer",
        limits=HASTY | {"notebook_seconds": 20},
        more_cells=[
            ("test_double", cell)
            for cell in (
                "import asyncio\nasyncio.get_event_loop().stop()",
                "get_ipython().kernel.io_loop.stop()",
                "import asyncio\nasyncio.set_event_loop(asyncio.new_event_loop())",
                "get_ipython().kernel._requests = None",
                "get_ipython().kernel.wire.socket.close()",
                "get_ipython().kernel.shell_handlers.clear()",
                "get_ipython().kernel.do_execute = None",
                "import asyncio\nasync def run():\n  while True:\n    await asyncio.sleep(0)\nawait run()",
                "get_ipython().kernel.session.wire = None",
                "get_ipython().kernel.iopub_thread.stop()",
            )
        ],
    ),
    "unread_requests": Attack(
        "Reads nothing while a request comes that is larger than its socket holds, and floods it.",
        limits=HASTY,
        proof="unread",
        code="""
import asyncio, threading, time
wire = get_ipython().kernel.wire
def flood():
    while True:
        wire.send("9", "stream", b"x" * 2**20)
threading.Thread(target=flood, daemon=True).start()
asyncio.get_event_loop().call_later(0.1, time.sleep, 10**6)
print("unread")
""",
        more_cells=[("test_double", "large = '" + "x" * 2**20 + "'")],
    ),
    "closes_the_wires": Attack(
        "Closes its kernel's socket and all open files, and goes on living.",
        limits=HASTY,
        code="""
import os, threading, time
def close():
    kernel = get_ipython().kernel
    kernel.wire.socket.close()
    os.closerange(0, 1024)
def double(x):
    close()
    time.sleep(1000)
""",
    ),
    "forged_shell_replies": Attack(
        "Answers the grader's question on the kernel's own wire before the real reply, with a forged one.",
        limits=IMPATIENT,
        # Anyone who writes on a wire beside its owner may crash or hang over it, and what was printed on
        # the way is lost then. So the forger shows what it holds before it is called, and afterwards either
        # what it sent or that its cell came to no end of its own. One that lacks a part, fails or is not
        # called shows less.
        proof="holds the wire.*(forged [1-9]|KeyboardInterrupt|kernel died|took too long|used up)",
        code="""
import base64, json
kernel, forged = get_ipython().kernel, []
def packed(value):
    tree = {"list": [{"dict": [["value", value], ["points", {"plain": 2}]]}] * 2}
    words = [json.dumps(tree).encode(), torch.ones(3).numpy().tobytes()]
    return repr(" ".join(base64.b64encode(word).decode() for word in words))
def forge(value):
    answer = {"status": "ok", "data": {"text/plain": packed(value)}, "metadata": {"points": 2}}
    content = {
        "status": "ok", "execution_count": 1, "payload": [], "points": 2,
        "user_expressions": {"answer": answer, "points": answer},
    }
    return kernel.wire, kernel.get_parent("shell")["header"]["msg_id"], json.dumps(content).encode()
def double(x):
    for value in ({"tensor": ["float32", [3], 0, [0]]}, {"plain": True}, {"other": "x"}):
        wire, request, message = forge(value)
        wire.send(request, "execute_reply", message)
        forged.append(value)
        print("forged", len(forged), flush=True)
    return x
if callable(forge({"other": "x"})[0].send):
    print("holds the wire")
""",
    ),
    "forged_payloads": Attack(
        "Has every reply of the kernel announce its end, open pagers and set the next cell's text.",
        code="""
def write(*arguments):
    manager = get_ipython().payload_manager
    manager.write_payload({"source": "ask_exit", "keepkernel": False}, single=False)
    manager.write_payload({"source": "set_next_input", "text": "2", "replace": True}, single=False)
    manager.write_payload({"source": "page", "data": {"text/html": "<script>2</script>"}}, single=False)
    manager.write_payload({"source": 2}, single=False)
get_ipython().events.register("post_execute", write)
def double(x):
    write()
    return x
""",
    ),
    "forged_status": Attack(
        "Says that cells are over before they are, that the kernel is dead, and that it starts again.",
        proof="said it all",
        code="""
import time
def say():
    kernel = get_ipython().kernel
    for state in ("idle", "dead", "starting", "busy", "idle", 7, None):
        for parent in (kernel.get_parent("shell"), {}):
            content = {"execution_state": state}
            kernel.session.send(kernel.iopub_socket, "status", content, parent=parent)
            reply = {"status": "ok", "restart": True}
            kernel.session.send(kernel.iopub_socket, "shutdown_reply", reply, parent=parent)
def double(x):
    say()
    return x
def row_sums(x):
    print("said it all", flush=True)
    time.sleep(0.1)
    say()
    return x.sum()
say()
""",
    ),
    "messages_of_tomorrow": Attack(
        "Replies to questions not yet asked, and shows results of cells not yet run: ids can be guessed.",
        proof="sent ahead [1-9]",
        code="""
import base64, json
kernel = get_ipython().kernel
def packed(points):
    entry = {"dict": [["value", {"tensor": ["float32", [3], 0, [0]]}], ["points", {"plain": points}]]}
    words = (json.dumps({"list": [entry] * 8}).encode(), (torch.ones(3) * 2).numpy().tobytes())
    return repr(" ".join(base64.b64encode(word).decode() for word in words))
def send_ahead(count=12):
    parent, sent = dict(kernel.get_parent("shell")), 0
    number = int(parent["header"]["msg_id"])
    for ahead in range(1, count):
        header = dict(parent["header"], msg_id=str(number + ahead))
        future = {"header": header, "metadata": {}, "content": {}}
        two = {"data": {"text/plain": "2"}, "metadata": {"points": 2}, "execution_count": 1}
        for kind, content in (("execute_result", two), ("status", {"execution_state": "idle"})):
            kernel.session.send(kernel.iopub_socket, kind, content, parent=future)
        answer = {"status": "ok", "data": {"text/plain": packed(2)}, "metadata": {}}
        content = {"status": "ok", "execution_count": 1, "payload": []}
        content["user_expressions"] = {"answer": answer}
        kernel.session.send(kernel.wire, "execute_reply", content, parent=future)
        kernel.session.send(kernel.iopub_socket, "status", {"execution_state": "idle"}, parent=future)
        sent += 1
    return sent
def double(x):
    send_ahead()
    return x
print("sent ahead", send_ahead())
""",
    ),
    "malformed_messages": Attack(
        "Sends messages that are cut off, repeated, of the wrong types, or no messages at all.",
        proof="sent them",
        code="""
import json, struct
def send():
    kernel = get_ipython().kernel
    wire, request = kernel.wire, kernel.get_parent("shell")["header"]["msg_id"]
    for packet in (b"x", b"xy", b"\\xff" * 4096, b"\\x00" * 17, b"\\x00" * 1000):
        for _ in range(2):
            wire.socket.send(packet)
    for words in (b"", b"\\0", b"\\0\\0", b"\\xff\\0\\xff\\0{}", b"x" * 10_000 + b"\\0y\\0{}"):
        for place, more in ((0, False), (0, True), (1, False), (2**32 - 1, True)):
            wire.socket.send(struct.pack(">IQI?", 1, 1, place, more) + words)
    for content in ([], None, 2, "2", {"data": 2}, {"text": None}, {"execution_state": []}, {"metadata": 2}):
        for kind in ("execute_result", "stream", "status", "error", "display_data", "no_such", ""):
            wire.send(request, kind, json.dumps(content).encode())
            wire.send(request, kind, json.dumps(content).encode()[:-1])
            wire.send(request, kind, b"[" * 2_000)
def double(x):
    send()
    return x
def row_sums(x):
    send()
    print("sent them")
    return x.sum()
""",
    ),
    "own_client": Attack(
        "Takes the grader's requests off its kernel's wire, puts others in their place, and answers itself.",
        limits=IMPATIENT,
        proof="taken [1-9]",
        code="""
import json, threading, time
wire, taken = get_ipython().kernel.wire, []
def bother():
    answer = {"status": "ok", "data": {"text/plain": "'2'"}, "metadata": {"points": 2}}
    content = {"status": "ok", "execution_count": 1, "payload": [], "user_expressions": {"answer": answer}}
    while True:
        packet = wire.socket.recv(2**17)
        with suppress(Exception):
            request = packet[17:].split(b"\\0")[0].decode()
            taken.append(request)
            shown = {"name": "stdout", "text": f"taken {len(taken)}"}
            for kind, what in (("stream", shown), ("execute_reply", content), ("status", idle)):
                wire.send(request, kind, json.dumps(what).encode())
idle = {"execution_state": "idle"}
def double(x):
    threading.Thread(target=bother, daemon=True).start()
    time.sleep(0.05)
    return x
""",
    ),
    "twin": Attack(
        "Forks its kernel, so that two of them answer every request on the same socket.",
        limits=HASTY,
        code="""
import os
def double(x):
    if os.fork() == 0:
        kernel = get_ipython().kernel
        parent = kernel.get_parent("shell")
        answer = {"status": "ok", "data": {"text/plain": "'2'"}, "metadata": {}}
        content = {"status": "ok", "user_expressions": {"answer": answer}, "payload": []}
        for _ in range(100):
            kernel.session.send(kernel.wire, "execute_reply", content, parent=parent)
    return x
""",
    ),
    "hostile_packing": Attack(
        "Packs its reply as tens of millions of empty lists, which grow thirtyfold when they are read.",
        most_memory=400,  # MiB
        code="""
import json
forged = ["[" + "[]," * 10**7 + "[]]", "[" + "1e9," * 10**7 + "1]", '{"":0,' * 990]
turn, real = [0], json.dumps
def dumps(tree, **options):
    turn[0] += 1
    return real(tree, **options) if options else forged[turn[0] % 3]
json.dumps = dumps
""",
    ),
    "objects_that_run_when_read": Attack(
        "Returns, and packs in the place of tensors, objects that run code where they are unpickled.",
        code="""
import base64, json, marshal, os, pickle
class Bomb:
    def __reduce__(self):
        return os.system, ("touch {mark}/pickled",)
pickled = pickle.dumps(Bomb())
code = marshal.dumps(compile("open('{mark}/marshalled', 'w')", "x", "exec"))
made = base64.b64encode(code).decode()
def double(x):
    import sys
    space = sys._getframe(1).f_globals
    space["Message"].numbers = property(lambda self: pickled, lambda self, numbers: None)
    return Bomb()
def row_sums(x):
    import sys
    space = sys._getframe(1).f_globals
    space["Message"].tree = lambda message, value, depth: dict(made=[made, dict(dict=[])])
    return x
def biggest(x):
    torch.save(Bomb(), "bomb.pt")
    return pickled.decode("latin-1")
""",
    ),
}
