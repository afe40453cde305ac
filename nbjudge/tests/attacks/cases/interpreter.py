"""Attacks in the kernel itself: what it computes with, code that others call, values that lie."""

from arena import SECRETS, Attack, finder


class PatchedExec(Attack):
    """Takes the place of `exec` and `compile`, reads the grader's code and runs something else."""

    proof = "took [1-9]"
    code = f"""
import builtins
taken, real_exec, real_compile = [], exec, compile
{finder(*SECRETS, "expected")}
def patched_compile(source, *rest, **options):
    if "def respond" in str(source):
        taken.append(str(source))
        answer = "pack(dict(answers=[dict(value=2, points=2)], points=2))"
        source += "\\ndef respond(text, namespace): return " + answer
    return real_compile(source, *rest, **options)
def patched_exec(code, *spaces):
    if spaces and "__name__" in spaces[0]:
        taken.append(repr(spaces[0])[:100_000])
    return real_exec(code, *spaces)
builtins.exec, builtins.compile = patched_exec, patched_compile
def double(x):
    return x
def row_sums(x):
    print("took", len(taken), found_in(*taken))
    return x.sum()
"""

    def harm(self, arena):
        return "it read of what is expected" if "'expected'" in arena.shown(self.name) else ""


ATTACKS = {
    "patched_comparisons": Attack(
        "Patches every function that compares numbers: torch.allclose, equal, ==, math.isclose, numpy's.",
        represents="patched functions",
        code="""
import math, numpy, operator, unittest
yes = lambda *arguments, **options: True
spaces = [torch, torch.Tensor, torch.testing, torch._C._VariableFunctions, math, numpy, operator]
for space in spaces:
    for name in ("allclose", "equal", "isclose", "eq", "__eq__", "array_equal", "assert_close"):
        with suppress(AttributeError, TypeError):
            setattr(space, name, yes)
torch.Tensor.__ne__ = torch.Tensor.any = lambda *arguments, **options: False
""",
    ),
    "patched_replies": Attack(
        "Has IPython answer every question itself, with points, praise and the form of a right reply.",
        proof="asked",
        code="""
import base64, json
asked = []
answer = dict(dict=[["value", dict(plain=True)], ["points", dict(plain=2)]])
reply = dict(list=[answer])
replies = ["2", "True", "{'points': 2}", "'{}'", repr(base64.b64encode(json.dumps(reply).encode()).decode())]
def answer(expressions):
    asked.append(expressions)
    forged = replies[len(asked) % len(replies)]
    answer = dict(status="ok", data={"text/plain": forged, "points": 2}, metadata={}, points=2)
    return dict.fromkeys(expressions, answer)
get_ipython().user_expressions = answer
def double(x):
    return x
def row_sums(x):
    print("asked", len(asked))
    return x.sum()
""",
    ),
    "impostor_kernel": Attack(
        "Replaces the kernel's own handler, so that every request is answered without being carried out.",
        code="""
kernel = get_ipython().kernel
async def do_execute(code, silent, store_history=True, user_expressions=None, *rest, **options):
    two = {"data": {"text/plain": "2"}, "metadata": {"nbjudge": {"points": 2}}}
    kernel.send_response(kernel.iopub_socket, "execute_result", two | {"execution_count": 1})
    forged = dict.fromkeys(user_expressions or {}, two | {"status": "ok"})
    return dict(status="ok", execution_count=1, payload=[], user_expressions=forged)
kernel.do_execute = do_execute
""",
    ),
    "import_hook": Attack(
        "Answers every import of the grader with a module of its own, whose `check` gives full marks.",
        proof="imported by my own finder",
        code="""
import importlib.abc, importlib.machinery, sys, types
class Finder(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    def find_spec(self, name, path, target=None):
        if name.startswith(("nbjudge", "nbgrader", "checks")):
            return importlib.machinery.ModuleSpec(name, self, is_package=True)
    def create_module(self, spec):
        module = types.ModuleType(spec.name)
        module.__getattr__ = lambda name: lambda *arguments, **options: 2
        return module
    def exec_module(self, module):
        print("imported by my own finder:", module.__name__)
sys.meta_path.insert(0, Finder())
for name in [name for name in sys.modules if name.startswith(("nbjudge", "nbgrader"))]:
    del sys.modules[name]
from nbjudge import check
def double(x):
    return check("double")
""",
    ),
    "changes_the_number_two": Attack(
        "Writes over CPython's small integers, so that comparisons in its process find them equal.",
        proof="is now",
        code="""
import ctypes
ctypes.memmove(id(211) + 24, ctypes.byref(ctypes.c_int(2)), 4)
print("211 is now", 210 + 1)
""",
    ),
    "torch_defaults": Attack(
        "Leaves torch modes on that rewrite comparisons, and other defaults, for what computes next.",
        code="""
from torch.overrides import TorchFunctionMode
class Yes(TorchFunctionMode):
    def __torch_function__(self, function, types, args=(), kwargs=None):
        if getattr(function, "__name__", "") in ("allclose", "equal", "isclose"):
            return True
        return function(*args, **(kwargs or {}))
Yes().__enter__()
torch.inference_mode().__enter__()
torch.set_grad_enabled(False)
torch.set_default_dtype(torch.float64)
torch.set_default_device("meta")
torch.manual_seed(0)
torch.set_num_threads(64)
torch.use_deterministic_algorithms(True)
torch.set_printoptions(precision=0, threshold=0)
torch.Tensor.__repr__ = lambda self: "tensor(2)"
torch.Tensor.copy_ = torch.Tensor.detach = torch.Tensor.clone = lambda self, *rest, **options: self
""",
    ),
    "cell_events": Attack(
        "Has IPython call it before and after every cell and every question, and sends points each time.",
        proof="before a cell",
        code="""
def send(*arguments):
    print("before a cell")
    get_ipython().displayhook(2)
for event in ("pre_execute", "pre_run_cell", "post_execute", "post_run_cell"):
    get_ipython().events.register(event, send)
get_ipython().set_custom_exc((BaseException,), lambda *arguments, **options: send())
get_ipython().showtraceback = send
def double(x):
    raise AssertionError("never shown")
""",
    ),
    "cell_transformers": Attack(
        "Rewrites every later cell on its way into the kernel, so that tests pass and show points.",
        proof="rewritten(.|\n)*transformed",
        code="""
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
""",
    ),
    "tracers": Attack(
        "Traces and profiles every frame that runs, the questions' too, and looks for an answer in them.",
        proof=r"looked into [1-9]\d* frames of the question, profiled [1-9]",
        code=f"""
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
""",
        withstood="calls: []",
    ),
    "time_bomb": Attack(
        "Waits in threads, timers and events until other answers are asked for, and acts then.",
        proof="armed",
        code="""
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
""",
    ),
    "refuses_everything": Attack(
        "Refuses every call with a sentence that holds all numbers, one of which is the number asked for.",
        code="""
def row_sums(x):
    raise ValueError(" ".join(map(str, range(60))))
""",
    ),
}
