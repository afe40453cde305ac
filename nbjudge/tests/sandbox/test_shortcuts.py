"""What the sandbox leaves out because no notebook needs it changes nothing that a notebook sees."""

from types import SimpleNamespace

import pytest
from IPython.core.inputtransformer2 import TransformerManager

from nbjudge.sandbox.inside.fork_server import seed_no_accelerator
from nbjudge.sandbox.inside.kernel import WireSession, flush_now_and_then, leave_plain_python

PLAIN = ["x = 1\n\nif x:\n    print('%time', '?')  # why?\n", "'''\n%time\n!ls\n?x\n'''\n", "y = x \\\n% 2\n"]
OF_IPYTHON = [
    *("%time x = 1", "a = %time 3", "x = !ls", "print?", "? print", "/f 1", ",f a b", ";f a"),
    *("def f():\n    !ls\n", "if 1:\n    f?\n", "x = (1,\n%time\n)", "%%bash\nls\n", ">>> x = 1\n"),
]
OTHERS = ["await x", "x = 1 +", "'\\d'", "(" * 300]


@pytest.mark.parametrize("cell", [*PLAIN, *OF_IPYTHON, *OTHERS])
def test_cells_are_transformed_as_ever(cell):
    transformers = TransformerManager()
    leave_plain_python(transformers)
    assert transformers.transform_cell(cell) == TransformerManager().transform_cell(cell)


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("cell", [*PLAIN, "x = '\\d'\n"])
def test_plain_python_is_not_tokenized(cell, monkeypatch):
    """A cell with a warning is not parsed."""
    transformers = TransformerManager()
    if cell in PLAIN:
        monkeypatch.setattr(transformers, "do_one_token_transform", None)
    leave_plain_python(transformers)
    assert transformers.transform_cell(cell) == cell


def test_only_messages_for_the_relay_are_sent():
    sent = []
    session = WireSession(key=b"key")
    session.wire = SimpleNamespace(send=lambda request, kind, content: sent.append((request, kind)))
    parent = {"header": {"msg_id": "3"}}
    for state in ("busy", "idle", "busy"):
        session.send(None, "status", {"execution_state": state}, parent)
    for kind in ("execute_input", "stream", "error", "execute_reply"):
        session.send(None, kind, {}, parent=parent)
    assert sent == [("3", kind) for kind in ("status", "stream", "error", "execute_reply")]


def test_what_is_printed_is_sent_now_and_then():
    sent = []
    stream = SimpleNamespace(flush_interval=60, _flush=lambda: sent.append("all"))
    for _ in range(3):
        flush_now_and_then(stream)
    assert sent == ["all"]


def test_a_seed_decides_what_torch_draws(monkeypatch):
    torch = pytest.importorskip("torch")
    for device in (torch.cuda, torch.xpu, torch.mtia):
        monkeypatch.setattr(device, "manual_seed_all", device.manual_seed_all)  # put back afterwards
    seed_no_accelerator()
    waiting = repr(vars(torch.cuda._lazy_seed_tracker))
    torch.manual_seed(3)
    first = torch.rand(4)
    torch.manual_seed(3)
    assert torch.equal(first, torch.rand(4))
    assert repr(vars(torch.cuda._lazy_seed_tracker)) == waiting
