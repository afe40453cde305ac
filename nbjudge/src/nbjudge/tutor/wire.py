"""What goes over HTTP between a kernel and a tutor: a line of JSON, and below it the one long text as it is.

A question has millions of characters, and so has what a kernel says to it. As a part of the JSON each of them
would be looked at four times: written, read, and the same on the way back.
"""

from __future__ import annotations

import json
from typing import Any

LONG = ("question", "said")  # the names of what may be long
BELOW = "below"  # says in the JSON what the text below it is


def write(message: dict[str, Any]) -> tuple[bytes, ...]:
    """A message as bytes, in the parts that are sent one after the other: a long text is not copied."""
    name = next((each for each in LONG if isinstance(message.get(each), (str, bytes))), None)
    if name is None:
        return (json.dumps(message).encode(),)
    first = {key: value for key, value in message.items() if key != name} | {BELOW: name}
    text = message[name]
    return json.dumps(first).encode() + b"\n", text if isinstance(text, bytes) else text.encode()


def read(body: bytes) -> Any:
    """What `write` wrote, or plain JSON. Raises ValueError for anything else."""
    end = body.find(b"\n")
    if end < 0:
        return json.loads(body)
    message = json.loads(body[:end])
    name = message.pop(BELOW, None) if isinstance(message, dict) else None
    if name not in LONG:
        raise ValueError("a text below that belongs to nothing")
    return message | {name: str(memoryview(body)[end + 1 :], "utf-8")}
