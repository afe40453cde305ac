"""What the sandbox leaves out because no notebook needs it changes nothing that a notebook sees."""

from types import SimpleNamespace

import pytest
from ipykernel.iostream import IOPubThread, OutStream
from IPython.core.inputtransformer2 import TransformerManager
from jupyter_client.session import Session

from nbjudge.sandbox.inside.fork_server import seed_no_accelerator
from nbjudge.sandbox.inside.supervisor import flush_what_was_written, leave_plain_python, send_what_is_read

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


class ThreadThatCounts(IOPubThread):
    """ipykernel's thread for outputs, which does at once what it is told to do, and counts."""

    def __init__(self):
        self.thread = SimpleNamespace(is_alive=lambda: True, ident=None)
        self.io_loop = SimpleNamespace(call_later=lambda *_args: None)
        self.steps, self.sent = 0, []

    def schedule(self, step):
        self.steps += 1
        step()

    def send_multipart(self, parts, *_args, **_options):
        self.sent.append(parts[-1])


def test_only_a_stream_that_was_written_to_is_flushed():
    thread = ThreadThatCounts()
    stream = OutStream(Session(key=b"key"), thread, "stdout")
    flush_what_was_written(stream)
    stream.flush()
    assert not thread.steps
    stream.write("some text")
    stream.flush()
    before = thread.steps
    assert before and b"some text" in thread.sent[0]
    stream.flush()
    assert thread.steps == before


def test_only_messages_for_the_relay_are_sent():
    sent = []
    session = SimpleNamespace(send=lambda _stream, kind, *_args, **_options: sent.append(kind))
    send_what_is_read(session)
    for state in ("busy", "idle", "busy"):
        session.send(None, "status", {"execution_state": state})
    for kind in ("execute_input", "stream", "error", "execute_reply"):
        session.send(None, kind, {})
    assert sent == ["status", "stream", "error", "execute_reply"]


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
