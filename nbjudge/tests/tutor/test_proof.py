"""Nothing of what answers in a tutor's place is used, and this machine's tutor opens no port."""

import http.server
import io
import json
import subprocess
import sys
import threading

import psutil
import pytest
from shared_hooks import REPOSITORY

from nbjudge.framing import to_frame
from nbjudge.kernel import protocol
from nbjudge.tutor import signatures
from nbjudge.tutor.learner import ADDRESS, TutorMissingError, transport
from nbjudge.tutor.learner.answering import respond
from nbjudge.tutor.learner.connection import Connection
from nbjudge.tutor.learner.transport import LocalTutor
from nbjudge.tutor.messages import (
    LARGEST_MESSAGE,
    NUMBER,
    CallReply,
    CheckRequest,
    Notice,
    TutorReady,
    encode,
)
from nbjudge.tutor.service import serve

pytestmark = pytest.mark.integration

NAME, KEY = "zoë", "0123456789abcdef"
TOUCH = "open({!r}, 'w')"


class Impostor:
    """Answers on a port as it likes, and keeps what it received."""

    def __init__(self, status=200, sign_with="", nonce="", alter=b""):
        self.received = []
        impostor = self

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_POST(self):
                body = self.rfile.read(int(self.headers["Content-Length"]))
                impostor.received.append(f"{self.headers}{body.decode()}")
                request_nonce = self.headers["Authorization"].split(":")[2]
                reply = impostor.reply
                self.send_response(status)
                if sign_with:
                    signed = signatures.SignedRequest(NAME, nonce or request_nonce, "", sign_with)
                    signature = signed.reply_signature(status, [reply])
                    self.send_header(signatures.REPLY_SIGNATURE, signature)
                self.end_headers()
                self.wfile.write(reply + alter)

            def log_message(self, *about):
                pass

        self._server = http.server.HTTPServer(("127.0.0.1", 0), Handler)
        self.address = f"http://127.0.0.1:{self._server.server_address[1]}/services/tutor"
        threading.Thread(target=self._server.serve_forever, daemon=True).start()

    def close(self):
        self._server.shutdown()
        self._server.server_close()


@pytest.fixture
def learner(monkeypatch):
    monkeypatch.setenv(transport.KEY, KEY)
    monkeypatch.setenv(transport.NAME, NAME)
    monkeypatch.setenv("JUPYTERHUB_API_TOKEN", "the token of this server")

    def ask(impostor, reply):
        impostor.reply = reply if isinstance(reply, bytes) else encode(reply)[0]
        monkeypatch.setenv(ADDRESS, impostor.address)
        try:
            return Connection().send(CallReply(folder="01_dot_product", conversation="1", text=b"x"))
        finally:
            impostor.close()

    return ask


@pytest.mark.parametrize(
    "impostor",
    [
        {},
        {"sign_with": "another key"},
        {"sign_with": KEY, "nonce": "0" * 32},
        {"sign_with": KEY, "alter": b" "},
    ],
    ids=["no signature", "another key", "a reply to another request", "a changed reply"],
)
def test_a_reply_without_proof_is_not_used(learner, tmp_path, impostor):
    seen = tmp_path / "evaluated"
    server = Impostor(**impostor)
    expression = {"conversation": "1", "type": "calls", "program": TOUCH.format(str(seen))}
    with pytest.raises(TutorMissingError, match="without proof that it comes from the class's tutor"):
        learner(server, json.dumps(expression).encode() + b"\n" + TOUCH.format(str(seen)).encode())
    assert not seen.exists()
    (received,) = server.received
    assert KEY not in received and "the token of this server" not in received


def test_the_reply_of_a_tutor_that_has_the_key_is_used(learner):
    """A refused key is told in the kernel."""
    for status, sentence in ((200, "Well."), (429, "Wait.")):
        notice = Notice(sentence=sentence)
        assert learner(Impostor(status, sign_with=KEY), notice) == notice
    with pytest.raises(TutorMissingError, match="did not accept this server's key"):
        learner(Impostor(403), Notice(sentence="anything"))


def test_a_question_is_data_and_no_expression(tmp_path):
    seen = tmp_path / "evaluated"
    program = "def respond(request, names):\n    return request.upper()"
    assert respond(program, TOUCH.format(str(seen)), {}) == TOUCH.format(str(seen)).upper()
    assert not seen.exists()


def started(program):
    """A local tutor whose process runs this program."""
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    return LocalTutor(subprocess.Popen([sys.executable, "-c", program], **pipes))


CHATTY = """
import os, sys
from nbjudge.tutor.messages import Notice
from nbjudge.tutor.service import serve
def reply(request):
    if request.code:
        sys.stderr.write("x" * int(request.code))
    return Notice(sentence=request.exercise)
serve(reply, sys.stdin.buffer, sys.stdout.buffer)
"""


def says(tutor, exercise, code=""):
    return tutor.send(CheckRequest(exercise=exercise, code=code)).sentence


def test_a_tutors_stderr_never_fills_a_pipe():
    """A late reply is not the next one."""
    tutor = started(CHATTY)
    try:
        for characters in (0, 10 * 2**20):
            assert says(tutor, "write", str(characters)) == "write"
        assert says(tutor, "again") == "again"
        assert len(tutor._last_errors) <= 2000
        tutor._write(to_frame((99).to_bytes(NUMBER, "big") + encode(CheckRequest(exercise="old"))[0]))
        assert says(tutor, "new") == "new"
    finally:
        tutor.stop()


@pytest.mark.parametrize("program", ["raise SystemExit('no torch here')", "print('hello', flush=True)"])
def test_a_tutor_that_fails_to_start_says_why(program):
    with pytest.raises(TutorMissingError, match=r"did not start( \(no torch here\))?\. Run this cell again"):
        says(started(program), "x")


def test_the_local_tutor_opens_no_port(monkeypatch):
    monkeypatch.delenv(ADDRESS, raising=False)
    tutor = transport.start_tutor(REPOSITORY / "examples/statistics", "ps1")
    try:
        assert "no exercise 'x'" in says(tutor, "x")
        connections = psutil.Process(tutor._process.pid).net_connections()
        assert psutil.CONN_LISTEN not in [connection.status for connection in connections]
    finally:
        tutor.stop()


def test_broken_frames_are_refused_at_once():
    def served(sent):
        outgoing = io.BytesIO()
        serve(lambda request: Notice(sentence=request.exercise), io.BytesIO(sent), outgoing)
        for thread in threading.enumerate():
            if "answer" in thread.name or "get_ready" in thread.name:
                thread.join(5)
        return outgoing.getvalue()

    number = (7).to_bytes(NUMBER, "big")
    ready = to_frame(bytes(NUMBER) + encode(TutorReady(source=protocol.program()))[0])
    good = served(to_frame(number + encode(CheckRequest(exercise="softmax"))[0]))
    assert number + b'{"type": "notice", "sentence": "softmax"}' in good
    assert b"cannot read this request" in served(to_frame(number + b"{...."))
    for cut in (b"", b"\0\0", (100).to_bytes(8, "big") + b"half"):
        assert served(cut) == ready
    with pytest.raises(ValueError, match="at most"):
        served((LARGEST_MESSAGE + 1).to_bytes(8, "big"))
