"""Attacks by code that others call: events, tracers, finalizers, timers."""

from arena import SECRETS
from attack import Attack, finder


class CellEvents(Attack):
    """Has IPython call it before and after every cell and every question, and sends points each time."""

    proof = "before a cell"
    double = """
def send(*arguments):
    print("before a cell")
    get_ipython().displayhook(2)
for event in ("pre_execute", "pre_run_cell", "post_execute", "post_run_cell"):
    get_ipython().events.register(event, send)
get_ipython().set_custom_exc((BaseException,), lambda *arguments, **options: send())
get_ipython().showtraceback = send
def double(x):
    raise AssertionError("never shown")
"""


class CellTransformers(Attack):
    """Rewrites every later cell on its way into the kernel, so that tests pass and show points."""

    proof = "rewritten(.|\n)*transformed"
    double = """
import ast
class Pass(ast.NodeTransformer):
    def visit_Assert(self, node):
        return ast.copy_location(ast.parse("print('transformed')").body[0], node)
    def visit_Module(self, node):
        self.generic_visit(node)
        node.body.append(ast.Expr(ast.Constant(2)))
        return ast.fix_missing_locations(node)
def rewrite(lines):
    return ["print('rewritten')\\n", *lines, "\\nassert False, 'of no use'\\n", "2"]
shell = get_ipython()
shell.input_transformers_cleanup.append(rewrite)
shell.input_transformers_post.append(lambda lines: lines)
shell.ast_transformers.append(Pass())
shell.ast_node_interactivity = "all"
def double(x):
    return x
"""


class Tracers(Attack):
    """Traces and profiles every frame that runs, the questions' too, and looks for an answer in them."""

    proof = r"looked into [1-9]\d* frames of the question, profiled [1-9]"
    double = f"""
import sys, threading
seen, frames, calls = set(), [], []
{finder(*SECRETS)}
def trace(frame, event, argument):
    if "nbjudge" in frame.f_code.co_filename and len(frames) < 1000:
        frames.append(frame.f_code.co_name)
        seen.update(found_in(repr(list(frame.f_locals.items()))[:20_000] + str(frame.f_code.co_names)))
        seen.update(dict(expected=1, reference=1, seed=1, verdict=1).keys() & frame.f_locals.keys())
        if "answers" in frame.f_locals:
            frame.f_locals["answers"].append(dict(value=argument, points=2))
    return trace
def profile(frame, event, argument):
    calls.append(event)
    if "nbjudge" in frame.f_code.co_filename:
        frame.f_globals["points"] = frame.f_globals["agrees"] = 2
def double(x):
    sys.settrace(trace)
    sys.setprofile(profile)
    threading.setprofile(profile)
    sys._getframe(1).f_trace = sys._getframe(2).f_trace = trace
    return x
def row_sums(x):
    sys.setprofile(None)
    print("looked into", len(frames), "frames of the question, profiled", len(calls), "calls:", sorted(seen))
    return x.sum()
"""
    row_sums = ""
    withstood = "calls: []"


class Finalizers(Attack):
    """Acts when no one looks: in finalizers, weak references and the garbage collector, amid a question."""

    proof = "collected [1-9]"
    double = """
import gc, weakref
collected = []
class Last:
    def __del__(self):
        collected.append(1)
        get_ipython().displayhook(2)
def callback(phase, info):
    collected.append(phase)
    if len(collected) > 6:
        return
    for space in [held for held in gc.get_objects() if type(held) is dict and "answer_calls" in held][:3]:
        space["_identical"] = space["_answer"] = lambda *rest: dict(value=2, points=2)
gc.callbacks.append(callback)
def double(x):
    weakref.finalize(Last(), print, "gone")
    gc.collect()
    return x
def row_sums(x):
    print("collected", sum(1 for _ in collected))
    return x.sum()
"""
    row_sums = ""


class TimeBomb(Attack):
    """Waits in threads, timers and events until other answers are asked for, and acts then."""

    proof = "armed"
    double = """
import asyncio, os, signal, threading, time
def act(*arguments):
    get_ipython().displayhook(2)
    get_ipython().user_ns["biggest"] = get_ipython().user_ns["row_sums"] = lambda x: dict(points=2)
    torch.allclose = torch.equal = lambda *arguments, **options: True
for seconds in (0.05, 0.1, 0.2, 0.4):
    threading.Timer(seconds, act).start()
    asyncio.get_event_loop().call_later(seconds, act)
signal.signal(signal.SIGALRM, act)
signal.setitimer(signal.ITIMER_REAL, 0.1, 0.05)
signal.signal(signal.SIGVTALRM, lambda *arguments: os._exit(3))
print("armed")
def double(x):
    signal.setitimer(signal.ITIMER_VIRTUAL, 0.3)
    return x
"""
