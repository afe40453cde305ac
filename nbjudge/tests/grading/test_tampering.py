"""A kernel in the student's hands may send anything: it is data, judged 0, and never stops the judge."""

import nbformat
import pytest
from tiny_course import CHECKS
from torch_exercise import Exercise

from nbjudge.judge.scoring import judge_exercise
from nbjudge.judge.verdict import Verdict
from nbjudge.kernel.client import open_kernel
from nbjudge.kernel.process import KernelEnvironment
from nbjudge.record.graded_cell import as_html, write_verdict
from nbjudge.settings import Limits

pytestmark = pytest.mark.integration

KEEP = """
import base64, copy, importlib, io, json, sys, torch
main, kept = sys.modules["__main__"], {
    (module, name): getattr(module, name)
    for module, name in [
        (json, "dumps"), (json, "loads"), (base64, "b64encode"), (base64, "b64decode"),
        (torch, "equal"), (torch, "allclose"),
    ]
}
plain = get_ipython().display_formatter.formatters["text/plain"]
shown = copy.copy(plain.type_printers)
def right(x):
    return 2 * x
"""
RESTORE = """
import builtins
from builtins import *
import base64, copy, io, json, sys, torch
for (module, name), value in kept.items():
    setattr(module, name, value)
sys.modules["__main__"] = main
plain.type_printers = copy.copy(shown)
vars(get_ipython().display_formatter).pop("format", None)
vars(get_ipython().kernel).pop("get_parent", None)
get_ipython().display_formatter.formatters["text/plain"] = plain
"""
SAY = "get_ipython().display_formatter.format = lambda value: ({{'text/plain': {}}}, {{}})"
PRINTER = "plain.for_type({}, lambda value, printer, cycle: 1 / 0)"
# The kernel's own messages, which are packed with options, are left alone: it stays in the conversation.
PACK = "json.dumps = lambda tree, dumps=json.dumps, **options: dumps(tree, **options) if options else {}"
REPLY = PACK.replace("{}", "dumps({})")
VALUE = REPLY.format("{{'list': [{{'dict': [['value', {{'tensor': {}}}]]}}] * 2}}")

# Returned objects that claim to be an ordinary tensor, or that break code that reads them; plain objects of
# other kinds are in `test_findings.py`, and values that cannot be sent in `test_values.py`.
OBJECTS = {
    "a tensor subclass": "(2 * x).as_subclass(type('Mine', (torch.Tensor,), {}))",
    "a subclass that is always equal": """(2 * x).as_subclass(
        type('Mine', (torch.Tensor,), {'__eq__': lambda self, other: True})
    )""",
    "an object equal to all": "type('Equal', (), {'__eq__': lambda s, o: True, '__class__': torch.Tensor})()",
    "an object that fails to print": "type('Bad', (), {'__repr__': lambda self: 1 / 0})()",
    "a number with a false value": "type('Lie', (float,), {'__float__': lambda s: 1 / 0})(2)",
    "a string with false items": "type('Lie', (str,), {'__getitem__': lambda s, i: 7})('2')",
    "a dictionary of changing entries": "type('Lie', (dict,), {'items': lambda s: [('points', 2)]})(value=x)",
    "a list of changing entries": "type('Lie', (list,), {'__iter__': lambda s: iter([x] * 2)})([2 * x])",
    "a dictionary of itself": "(lambda d: d.update(d=d) or d)({})",
    "a deep nest": "__import__('functools').reduce(lambda nest, _: [nest], range(5000), [])",
    "a huge integer": "10 ** 10_000",
    "a meta tensor": "(2 * x).to('meta')",
    "an 8-bit tensor": "(2 * x).to(torch.float8_e4m3fn)",
    "an enormous tensor": "torch.zeros(1).expand(10**9)",
}

# What a student's code may do to the kernel's side of the conversation, before it answers. What a reply may
# hold that is no value is in `test_values.py`.
TAMPERING = {
    "prints nothing": SAY.format("''"),
    "prints what python cannot read": SAY.format("'(' * 10_000"),
    "prints what python cannot hold": SAY.format("'-' * 100_000 + '1'"),
    "prints a call": SAY.format("'__import__(\"os\").abort()'"),
    "prints far too much": SAY.format("'x' * (70 * 2**20)"),
    "reads another request": "get_ipython().kernel.get_parent = lambda channel=None: "
    "{'header': {}, 'content': {'request': 'bnVsbA== '}}",
    "packs no JSON": PACK.format("'true points = 2'"),
    "packs an object for a list": REPLY.format("{'plain': 2}"),
    "packs too deep a nest": PACK.format("'[' * 100_000"),
    "packs NaN for keys": PACK.format("'{\"dict\": [[NaN, 1]]}'"),
    "packs axes that are none": VALUE.format("['float32', [], 0, [7]]"),
    "packs no text": "base64.b64encode = lambda raw: b'%%%'",
    "answers with points": REPLY.format("{'dict': [['points', {'plain': 2}], ['agrees', {'plain': True}]]}"),
    "answers too little": REPLY.format("{'dict': [['answers', {'list': []}]]}"),
    "claims a change of nothing": REPLY.format(
        "{'dict': [['answers', {'list': [{'dict': [['status', 'value'], ['value', {'plain': 1}], "
        "['changed', {'list': [{'plain': 'boom'}, {'plain': '/args/99'}]}]]}] * 2}]]}"
    ),
    "claims strange gradients": REPLY.format(
        "{'dict': [['answers', {'list': [{'dict': [['status', 'value'], ['value', {'plain': 1}], "
        "['gradients', {'dict': [['boom', {'plain': 1}]]}]]}] * 2}]]}"
    ),
    "raises a book": REPLY.format(
        "{'dict': [['answers', {'list': [{'dict': [['status', 'raised'], ['error', {'plain': 'E' * 10**6}], "
        "['message', {'plain': 'x' * 10**7}], ['line', {'plain': 'y' * 10**6}]]}] * 2}]]}"
    ),
    "is another main": "sys.modules['__main__'] = type(sys)('other')",
    "has no main": "del sys.modules['__main__']",
    "patches comparisons": "torch.equal = torch.allclose = lambda *a, **k: True\ndouble = lambda x: x",
}
# What it may do that costs nothing: a reply needs no printer, and names of the student's are their own.
HARMLESS = {
    "nothing": "",
    "an error in a printer of texts": PRINTER.format("str"),
    "an error in a printer of everything": PRINTER.format("object"),
    "no printer": "get_ipython().display_formatter.formatters.pop('text/plain')",
    "other builtins": "list = dict = str = type = len = exec = compile = print = isinstance = 3",
    "other modules": "torch = json = base64 = sys = os = load = save = pack = respond = None",
}


@pytest.fixture(scope="module")
def kernel(tmp_path_factory):
    cell = nbformat.v4.new_code_cell(KEEP)
    folder = tmp_path_factory.mktemp("work")
    with open_kernel(folder, KernelEnvironment(limits=Limits(30, 15, 280))) as kernel:
        assert kernel.run_cell(cell) == "done"
        yield kernel


@pytest.fixture(scope="module")
def double() -> Exercise:
    space: dict = {}
    exec(CHECKS, space)
    return space["double"]


def run(kernel, code: str) -> None:
    cell = nbformat.v4.new_code_cell(code)
    assert kernel.run_cell(cell) == "done"
    assert not [output for output in cell.outputs if output.output_type == "error"], cell.outputs


def judged_after(kernel, double: Exercise, code: str) -> Verdict:
    """The verdict on the answer after this code has run; the kernel is as before afterwards."""
    run(kernel, f"double = right\n{code}")
    try:
        return judge_exercise(double, lambda x: 2 * x, kernel.call, seed=7)
    finally:
        kernel.run_cell(nbformat.v4.new_code_cell(RESTORE))


FORGED = {name: f"def double(x):\n    return {returned}" for name, returned in OBJECTS.items()} | TAMPERING


@pytest.mark.attack
@pytest.mark.parametrize("code", FORGED.values(), ids=FORGED)
def test_a_reply_of_another_form_is_0_with_a_reason(kernel, double, code):
    """So is an answer of another kind."""
    verdict = judged_after(kernel, double, code)
    assert verdict.points == 0 and verdict.message
    cell = nbformat.v4.new_code_cell("")
    write_verdict(cell, verdict)
    nbformat.validate(nbformat.v4.new_notebook(cells=[cell]))
    assert len(as_html(verdict).encode("utf-8")) < 20_000


@pytest.mark.attack
@pytest.mark.parametrize("tampering", HARMLESS.values(), ids=HARMLESS)
def test_what_an_honest_student_does_costs_nothing(kernel, double, tampering):
    assert judged_after(kernel, double, tampering).points == 2


@pytest.mark.parametrize(
    "right",
    ["torch.nn.Parameter(2 * x)[:]", "(2 * x)[None][0]", "(x + x).mT.mT if x.dim() > 1 else x + x"],
)
def test_a_parameter_or_a_view_counts_as_its_tensor(kernel, double, right):
    code = f"def double(x):\n    return {right}"
    assert judged_after(kernel, double, code).groups[0].is_earned
