"""Requests to a class's tutor are signed, and so are its replies: no one else can take its place.

The key is this learner's own, and is never sent. The hub gives it to the learner's server in the environment;
the tutor works it out from the learner's name (`nbjudge.classroom.signatures`).
"""

from __future__ import annotations

import hashlib
import hmac
import secrets
import time
from urllib.parse import quote

REPLY_SIGNATURE = "X-Tutor-Signature"  # a header


def sign(key: str, *parts: str) -> str:
    """The HMAC-SHA256 of the lines, in hexadecimal digits."""
    return hmac.new(key.encode(), "\n".join(parts).encode(), "sha256").hexdigest()


def authorization(name: str, key: str, action: str, body: bytes) -> tuple[str, str]:
    """The header `Authorization` of a request by `name`, and the request's nonce, which its reply signs."""
    quoted, now, nonce = quote(name, safe=""), str(int(time.time())), secrets.token_hex(16)
    digest = hashlib.sha256(body).hexdigest()
    signature = sign(key, "request", quoted, action, now, nonce, digest)
    return f"nbjudge {quoted}:{now}:{nonce}:{digest}:{signature}", nonce


def is_signed(signature: str, key: str, nonce: str, status: int, body: bytes) -> bool:
    """Whether someone who has the key gave this reply to the request with this nonce."""
    expected = sign(key, "reply", nonce, str(status), hashlib.sha256(body).hexdigest())
    return hmac.compare_digest(signature.encode(), expected.encode())
