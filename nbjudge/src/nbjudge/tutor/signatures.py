"""Signatures: a request is signed with its learner's key, and so is the reply to it.

A learner's key is made of the service's own token of the hub and the learner's name, so the service keeps no
list. Neither is ever sent: listening, or answering in the service's place, lets no one speak as a learner.
The hub gives each learner's server its key in the environment.
"""

from __future__ import annotations

import hashlib
import hmac
import re
import secrets
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from urllib.parse import quote, unquote

REPLY_SIGNATURE = "X-Tutor-Signature"  # a header
SECONDS = 300  # by which a learner's clock may differ from the service's
_AUTHORIZATION = re.compile(
    r"nbjudge ([\w.~%-]{1,600}):(\d{1,12}):([0-9a-f]{32}):([0-9a-f]{64}):([0-9a-f]{64})", re.ASCII
)


def _sign(key: str, *parts: str) -> str:
    return hmac.new(key.encode(), "\n".join(parts).encode(), "sha256").hexdigest()


def authorization(name: str, key: str, action: str, body: bytes) -> tuple[str, str]:
    """Return the header `Authorization` of a request by `name`, and its nonce, which the reply signs."""
    quoted, now, nonce = quote(name, safe=""), str(int(time.time())), secrets.token_hex(16)
    digest = hashlib.sha256(body).hexdigest()
    signature = _sign(key, "request", quoted, action, now, nonce, digest)
    return f"nbjudge {quoted}:{now}:{nonce}:{digest}:{signature}", nonce


def is_signed(signature: str, key: str, nonce: str, status: int, body: bytes) -> bool:
    """Return whether someone who has the key gave this reply to the request with this nonce."""
    expected = _sign(key, "reply", nonce, str(status), hashlib.sha256(body).hexdigest())
    return hmac.compare_digest(signature.encode(), expected.encode())


@dataclass(frozen=True)
class SignedRequest:
    """The headers of a request that a learner has signed; `digest` is the SHA-256 of the body to come."""

    learner: str
    nonce: str
    digest: str
    key: str

    def has(self, body: bytes) -> bool:
        """Return whether this is the body that was signed."""
        return hmac.compare_digest(hashlib.sha256(body).hexdigest(), self.digest)

    def reply_signature(self, status: int, parts: Iterable[bytes]) -> str:
        """The signature of a reply to this request, whose body comes in parts."""
        digest = hashlib.sha256()
        for part in parts:
            digest.update(part)
        return _sign(self.key, "reply", self.nonce, str(status), digest.hexdigest())


class Keys:
    """The keys of all learners, and the requests that were seen: each is accepted once, while it is new."""

    def __init__(self, secret: str, clock: Callable[[], float] = time.time) -> None:
        self._secret, self._clock = secret, clock
        self._start = int(clock())  # what was signed before may have been seen by an earlier process
        self._seen: dict[str, float] = {}  # when by nonce, the oldest first

    def key_of(self, learner: str) -> str:
        """The key that the hub gives to this learner's server (nbjudge/docs/jupyterhub.md)."""
        return _sign(self._secret, learner)

    def verify(self, authorization: str, action: str) -> SignedRequest | None:
        """Return the header's content if its learner has signed it for this action, else None."""
        found = _AUTHORIZATION.fullmatch(authorization)
        if found is None:
            return None
        quoted, sent, nonce, digest, signature = found.groups()
        key = self.key_of(unquote(quoted))
        expected = _sign(key, "request", quoted, action, sent, nonce, digest)
        if not hmac.compare_digest(signature, expected):
            return None
        if int(sent) < self._start or abs(self._clock() - int(sent)) > SECONDS or nonce in self._seen:
            return None
        return SignedRequest(unquote(quoted), nonce, digest, key)

    def remember(self, request: SignedRequest) -> None:
        """Accept this request no more."""
        now = self._clock()
        while self._seen and now - self._seen[oldest := next(iter(self._seen))] > 2 * SECONDS:
            del self._seen[oldest]
        self._seen[request.nonce] = now
