"""What goes between a kernel and a tutor: a line of JSON, and below it the one long text as it is.

A question has millions of characters, and so has what a kernel says to it. As a part of the JSON each of them
would be looked at four times: written, read, and the same on the way back.
"""

from __future__ import annotations

import json
from typing import Any

QUESTION, SAID = "question", "said"  # what may be long: of what a kernel is sent, and of what it sends
LONGEST_LINE = 2**16  # bytes of JSON that a kernel may send: so few become nothing large when they are parsed
BELOW = "below"  # says in the JSON what the text below it is


def write(message: dict[str, Any], long: str = QUESTION) -> tuple[bytes, ...]:
    """A message as bytes, in the parts that are sent one after the other: a long text is not copied."""
    text = message.get(long)
    if not isinstance(text, (str, bytes)):
        return (json.dumps(message).encode(),)
    first = {key: value for key, value in message.items() if key != long} | {BELOW: long}
    return json.dumps(first).encode() + b"\n", text if isinstance(text, bytes) else text.encode()


def read(body: bytes, long: str = SAID) -> Any:
    """What `write` wrote, its long text still as bytes; or plain JSON. ValueError for anything else."""
    end = body.find(b"\n")
    line = body if end < 0 else body[:end]
    if long == SAID and len(line) > LONGEST_LINE:
        raise ValueError("a line of JSON that is longer than the tutor reads")
    try:
        message = json.loads(line, parse_constant=_refuse)
    except RecursionError:
        raise ValueError("JSON that is nested too deeply") from None
    message = _whole(message)
    if end < 0:
        return message
    if not isinstance(message, dict) or message.pop(BELOW, None) != long:
        raise ValueError("a text below that belongs to nothing")
    return message | {long: body[end + 1 :]}


def _whole(value: Any) -> Any:
    """The same with a question mark for half a character (a lone surrogate), which no file can hold."""
    if isinstance(value, str):
        return value.encode(errors="replace").decode()
    if isinstance(value, list):
        return [_whole(each) for each in value]
    if isinstance(value, dict):
        return {_whole(key): _whole(each) for key, each in value.items()}
    return value


def _refuse(constant: str) -> None:
    """Python's parser reads `Infinity` and `NaN`, which JSON does not have."""
    raise ValueError(f"{constant}, which is not JSON")
