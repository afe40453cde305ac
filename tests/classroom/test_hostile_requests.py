"""What a learner, a stranger or a web page sends to hurt the class's tutor is refused early."""

import logging
import resource
import socket
import time

import pytest
import torch
from classroom_lab import PREFIX, classroom_of

from nbjudge.classroom import service as class_service
from nbjudge.classroom.board import CheckEvent, CheckEvents
from nbjudge.classroom.request_handler import LARGEST_BODY
from nbjudge.classroom.service import limit_address_space, refusal
from nbjudge.tutor import conversation, messages, signatures
from nbjudge.tutor.conversation import Conversation
from nbjudge.tutor.messages import CallRequest, Notice
from nbjudge.tutor.signatures import SECONDS, Keys

pytestmark = pytest.mark.integration

DOT = "01_dot_product"
MANY_LISTS = b"[" + b"[]," * 400_000 + b"[]]"
MB = 2**20


@pytest.fixture(scope="module")
def classroom(tmp_path_factory):
    with classroom_of(tmp_path_factory.mktemp("class")) as service:
        yield service


class Raw:
    """A connection on which a request's parts are sent one by one."""

    def __init__(self, service, name, action, headers, signed=b""):
        self._socket = socket.create_connection(("127.0.0.1", service.port), timeout=30)
        if name:
            header, _ = signatures.authorization(name, service.keys.key_of(name), action, signed)
            headers = {"Authorization": header} | headers
        headers = {"Host": f"127.0.0.1:{service.port}"} | headers
        lines = [f"POST {PREFIX}{action} HTTP/1.1", *(f"{key}: {value}" for key, value in headers.items())]
        self.send("\r\n".join([*lines, "", ""]).encode("utf-8"))

    def send(self, data):
        self._socket.sendall(data)

    def status(self):
        """That of the reply; the connection is closed then."""
        with self._socket, self._socket.makefile("rb") as reply:
            return int(reply.readline().split()[1])

    def close(self):
        self._socket.close()


def is_answered(service, name):
    """Return whether a check of this learner's is begun."""
    status, reply = service.post(name, "check", {"exercise": "attention_scores", "folder": DOT})
    return status == 200 and isinstance(reply, CallRequest)


def until(condition):
    end = time.monotonic() + 20
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.01)


def test_a_learner_has_one_body_at_a_time(classroom):
    body = MANY_LISTS
    first = Raw(classroom, "eve", "answer", {"Content-Length": str(len(body))}, body)
    first.send(body[: MB // 2])  # and waits
    until(lambda: "eve" in classroom.state.limits._busy)
    for _ in range(3):
        assert Raw(classroom, "eve", "answer", {"Content-Length": str(15 * MB)}).status() == 429
    assert is_answered(classroom, "ada")
    first.send(body[MB // 2 :])
    assert first.status() == 400  # read, and not parsed
    assert is_answered(classroom, "eve")


def test_a_broken_connection_leaves_nothing(classroom):
    broken = Raw(classroom, "dan", "answer", {"Content-Length": "1000000"})
    until(lambda: "dan" in classroom.state.limits._busy)
    broken.close()
    until(lambda: "dan" not in classroom.state.limits._busy)
    assert is_answered(classroom, "dan")


@pytest.mark.parametrize(
    ("name", "headers", "status"),
    [
        *(("", {"Content-Length": length}, 403) for length in ("15000000", "-1", "abc", "9" * 30)),
        ("gil", {"Content-Length": "abc"}, 411),
        ("gil", {"Content-Length": "-1"}, 411),
        ("gil", {"Transfer-Encoding": "chunked"}, 411),
        ("gil", {"Content-Length": str(17 * MB)}, 413),
        ("gil", {"Content-Length": str(LARGEST_BODY + 1)}, 400),
    ],
)
def test_strangers_and_wrong_lengths_are_refused(classroom, name, headers, status):
    """Nothing of the body was sent. The next request is answered."""
    request = Raw(classroom, name, "answer", headers)
    if status == 413:  # read and dropped, so that the reason arrives
        for _ in range(17):
            request.send(bytes(MB))
    assert request.status() == status
    until(lambda: "gil" not in classroom.state.limits._busy)
    assert is_answered(classroom, "gil")


@pytest.mark.parametrize("body", [MANY_LISTS, b"[" * 60_000], ids=["many lists", "deep"])
def test_a_line_that_becomes_large_is_not_parsed(monkeypatch, body):
    parsed, parse = [], messages.msgspec.json.decode
    monkeypatch.setattr(
        messages.msgspec.json, "decode", lambda line, **kw: parsed.append(len(line)) or parse(line, **kw)
    )
    with pytest.raises(ValueError):
        messages.decode_request(body)
    reply = messages.decode_request(b'{"action": "answer", "conversation": "1"}\n' + body)
    assert reply.text == body  # a text below the line is data, whatever it holds
    assert max(parsed) <= messages.LONGEST_LINE


def test_unreadable_requests_count_and_are_logged(tmp_path, caplog):
    with classroom_of(tmp_path, checks_a_minute=3) as service, caplog.at_level(logging.WARNING):
        statuses = [service.post("eve", "answer", b"{")[0] for _ in range(5)]
        assert statuses == [400, 400, 400, 429, 429] and service.last_headers["Retry-After"]
        assert is_answered(service, "ada")
    lines = [record for record in caplog.records if "not understood" in record.getMessage()]
    assert len(lines) == 3 and not any(record.exc_info for record in lines)


@pytest.mark.parametrize("given", ["Infinity", "1e999", "NaN", "-1", "1.5", '"2"', "true", "[]"])
def test_a_number_that_is_no_count_counts_as_a_check(tmp_path, caplog, given):
    body = b'{"exercise": "softmax", "step": "help", "given": %s, "tries": 1, "folder": "01_dot_product"}'
    with classroom_of(tmp_path, checks_a_minute=2) as service, caplog.at_level(logging.WARNING):
        statuses = [service.post("eve", "help", body % given.encode())[0] for _ in range(4)]
        assert statuses == [400, 400, 429, 429]
        status, reply = service.post("ada", "help", body % b"0")
        assert status == 200 and "has not seen it" in reply.sentence
    assert not any(record.exc_info for record in caplog.records)


def test_a_fault_of_the_tutors_own_counts_as_a_check(tmp_path, monkeypatch, caplog):
    with classroom_of(tmp_path, checks_a_minute=2) as service, caplog.at_level(logging.ERROR):
        monkeypatch.setattr(service.tutors, "reply", lambda *_: 1 / 0)
        statuses = [service.post("eve", "one_page", {"right": []})[0] for _ in range(4)]
        assert statuses == [500, 500, 429, 429]
        assert service.post("ada", "one_page", {"right": []})[0] == 500
    assert sum(record.exc_info is not None for record in caplog.records) == 3


def test_a_check_keeps_nothing_large(classroom):
    body = b'{"exercise": "attention_scores", "folder": "01_dot_product"}'
    assert classroom.post("ida", "check", body + b"\n" + bytes(MB))[0] == 400
    for long in ({"exercise": "x" * 60_000}, {"folder": "y" * 1000}, {"code": "z" * 1000}):
        status, reply = classroom.post("ida", "check", {"exercise": "attention_scores", "folder": DOT} | long)
        assert status == 400 and len(reply.sentence) < 2_000
    assert "ida" not in classroom.tutors._tutors
    assert classroom.post("ida", "check", body)[0] == 200


def test_a_request_is_accepted_once(monkeypatch):
    now = [1_000_000.0]
    keys = Keys("secret", clock=lambda: now[0])

    def header(name="zoë o'neil", signer="zoë o'neil", action="check"):
        return signatures.authorization(name, keys.key_of(signer), action, b"body")[0]

    def at(seconds):
        with monkeypatch.context() as patch:
            patch.setattr(signatures.time, "time", lambda: now[0] + seconds)
            return header()

    request = keys.verify(good := at(0), "check")
    assert request.learner == "zoë o'neil" and request.has(b"body") and not request.has(b"another")
    keys.remember(request)
    assert keys.verify(good, "check") is None  # sent again by someone who listened
    assert keys.verify(at(SECONDS - 1), "check") and not keys.verify(at(SECONDS + 2), "check")
    assert not keys.verify(at(-SECONDS - 2), "check") and not keys.verify(at(0), "help")
    for forged in (good.replace("zo", "ada", 1), good[:-1] + "?", "", "token abc", "nbjudge ä:1:1:1:1"):
        assert keys.verify(forged, "check") is None
    restarted = Keys("secret", clock=lambda: now[0] + 1)
    assert restarted.verify(at(0), "check") is None and restarted.verify(at(1), "check")
    assert Keys("other").key_of("ada") != keys.key_of("ada") != keys.key_of("bob")


def test_a_reply_is_signed_for_its_request_alone(classroom):
    key = classroom.keys.key_of("ada")
    header, nonce = signatures.authorization("ada", key, "check", b"{}")
    status, _ = classroom.send("/check", b"{}", Authorization=header)
    assert status == 400
    signature = classroom.last_headers[signatures.REPLY_SIGNATURE]
    body = classroom.last_body
    assert b"cannot read this request" in body
    assert signatures.is_signed(signature, key, nonce, 400, body)
    for other in ((key, "0" * 32, 400, body), (key, nonce, 200, body), (key, nonce, 400, body + b" ")):
        assert not signatures.is_signed(signature, *other)
    assert not signatures.is_signed(signature, classroom.keys.key_of("eve"), nonce, 400, body)


@pytest.mark.parametrize("path", ["/board", "/board/events", "/board/table.json", "/check", "/no such page"])
@pytest.mark.parametrize(
    ("headers", "sentence"),
    [
        ({"Host": "evil.example:80"}, "not known as 'evil.example:80'"),
        ({"Host": "127.0.0.1.evil.example"}, "Classroom.hosts"),
        ({"Host": ""}, "not known as"),
        ({"Origin": "https://evil.example"}, "its own pages only"),
        ({"Origin": "null"}, "its own pages only"),
    ],
)
def test_foreign_hosts_are_refused_everywhere(classroom, path, headers, sentence):
    data = b"{}" if path == "/check" else None
    status, reply = classroom.send(path.replace(" ", "%20"), data, **{"X-Name": "prof"}, **headers)
    assert status == 403 and sentence in reply.sentence


@pytest.mark.parametrize(
    ("host", "origin", "answered"),
    [
        ("hub.example", "https://hub.example", True),
        ("HUB.example:8000", "http://hub.example:8000", True),
        ("127.0.0.1:8000", None, True),
        ("[::1]:8000", "http://[::1]:8000", True),
        ("hub.example", "https://hub.example.evil", False),
        ("hub.example", "https://hub.example:8443", False),
        ("hub.example:x", None, True),
        ("[::1", None, False),
    ],
)
def test_the_services_own_names_and_pages(host, origin, answered):
    headers = {"Host": host} | ({"Origin": origin} if origin else {})
    assert (refusal(headers, {"hub.example"}) == "") is answered


def test_the_boards_own_page_is_answered(classroom):
    status, page, _ = classroom.get("prof", "/board")
    assert status == 200 and "The class, now" in page
    own = f"http://127.0.0.1:{classroom.port}"
    status, _ = classroom.send("/check", b"{}", Origin=own)
    assert status == 403  # its origin is known, but no one has signed it


def test_late_answers_free_the_judge(tmp_path, monkeypatch):
    patience = conversation.PATIENCE
    with classroom_of(tmp_path) as service:
        monkeypatch.setattr(conversation, "PATIENCE", 0.1)
        for number, name in enumerate(("eve", "mal")):  # as many as the judge has threads
            _, check_reply = service.post(name, "check", {"exercise": "softmax", "folder": DOT})
            talk = service.tutors._tutors[name]._open[check_reply.conversation].conversation
            talk._own = Conversation(
                lambda call_answer: call_answer("softmax", [], {})
            )  # one that waits for no one else
            talk.next()
            until(lambda waiting=talk._own: not waiting._out.empty())
            message = {"conversation": check_reply.conversation, "text": f"late {number}"}
            status, reply = service.post(name, "answer", message)
            assert status == 200 and "This check is over" in reply.sentence
        until(lambda: not service.state.limits._busy)  # the reply is here a moment before the turn ends
        monkeypatch.setattr(conversation, "PATIENCE", patience)
        assert is_answered(service, "ada") and is_answered(service, "eve")


def test_idle_connections_keep_no_one_out(tmp_path, monkeypatch, caplog):
    monkeypatch.setattr(class_service, "MOST_OPEN", 20)
    with classroom_of(tmp_path) as service, caplog.at_level(logging.WARNING):
        body = MANY_LISTS
        busy = Raw(service, "ada", "answer", {"Content-Length": str(len(body))}, body)
        until(lambda: "ada" in service.state.limits._busy)
        idle = [socket.create_connection(("127.0.0.1", service.port)) for _ in range(60)]
        until(lambda: service.server.closed >= 41)
        assert is_answered(service, "bob")
        assert len(service.server._open) <= 20
        busy.send(body)  # its connection, older than all others, was left open
        assert busy.status() == 400
        for each in idle:
            each.close()
        until(lambda: not service.server._open)
    lines = [record for record in caplog.records if "connections are open" in record.getMessage()]
    assert len(lines) == 1


@pytest.mark.parametrize("code", ["abc", "\ud800"])
def test_half_a_character_is_replaced(tmp_path, code):
    def attention_scores(*args):
        raise ValueError(f"{code}!")

    with classroom_of(tmp_path) as service:
        for learner in ("eve", "ada"):
            reply = service.check(learner, "attention_scores", attention_scores, DOT, code=code)
            assert reply.points < reply.max_points
        for table in ("table.json", "table.csv"):
            assert service.get("prof", f"/board/{table}")[0] == 200
        service.tutors.check_events._write_all()
        assert len(CheckEvents(tmp_path / "kept" / "check_events.jsonl", 30).all) == 2


def test_lines_of_the_looks_that_are_none_are_left_out(tmp_path):
    file = tmp_path / "check_events.jsonl"
    CheckEvents(file, 30).add(CheckEvent(time.time(), "ada", DOT, "attention_scores", "c", True))
    good = file.read_bytes()
    bad = [b"\xff\xfe", b"[]", good.replace(b"true", b"[]"), good.replace(b'"ada"', b"null")]
    bad += [b'{"time": "x"}']
    file.write_bytes(b"\n".join([*bad, good]))
    assert [event.learner for event in CheckEvents(file, 30).all] == ["ada"]


@pytest.fixture
def address_space():
    """The limit of this process's address space, which is set back afterwards."""
    before = resource.getrlimit(resource.RLIMIT_AS)
    yield limit_address_space
    resource.setrlimit(resource.RLIMIT_AS, before)


REQUESTS_OF_MUCH_MEMORY = {
    "Python's memory": lambda: len(bytearray(2**30)),
    "torch's memory": lambda: torch.empty(2**28).numel(),
    "another thread": lambda: _raise(RuntimeError("can't start new thread")),
}


def _raise(error):
    raise error


@pytest.mark.parametrize("kind", REQUESTS_OF_MUCH_MEMORY)
def test_exceeding_the_memory_limit_is_told(tmp_path, monkeypatch, address_space, kind):
    with classroom_of(tmp_path) as service:
        reply = service.tutors.reply

        def use_memory(learner, *rest):
            if learner != "eve":
                return reply(learner, *rest)
            return Notice(sentence=str(REQUESTS_OF_MUCH_MEMORY[kind]()))

        monkeypatch.setattr(service.tutors, "reply", use_memory)
        if "memory" in kind:  # the control: there is that much without the limit
            assert service.post("eve", "answer", {"conversation": "1"})[0] == 200
        address_space(512)
        status, content = service.post("eve", "answer", {"conversation": "1"})
        assert status == 413 and "not enough memory" in content.sentence
        assert is_answered(service, "ada")


def test_a_limit_of_0_sets_none(address_space):
    before = resource.getrlimit(resource.RLIMIT_AS)
    address_space(0)
    assert resource.getrlimit(resource.RLIMIT_AS) == before
    address_space(4096)
    assert resource.getrlimit(resource.RLIMIT_AS) != before
