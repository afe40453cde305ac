"""Pictures in a student's prose: attachments, data within the text, and files beside the notebook.

A picture becomes an attachment of the graded cell if its content is that of a picture and small enough. What
it was called, and what kind it was said to be, is not used.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import re
from collections.abc import Mapping
from dataclasses import dataclass
from posixpath import join, normpath
from typing import Any
from urllib.parse import unquote

from nbjudge.plain_text import first_few, shown_name

LARGEST_PICTURE = 5 * 2**20  # bytes
ALL_PICTURES = 20 * 2**20  # bytes of a notebook
KINDS = {b"\x89PNG\r\n\x1a\n": "png", b"\xff\xd8\xff": "jpeg", b"GIF8": "gif", b"RIFF": "webp"}
SHOWN = "PNG, JPEG, GIF or WebP"
WHERE_IT_IS = "and is in the submitted folder only"
# A text is gone through once: no part of these patterns gives back what it has taken.
DATA = re.compile(r"data:image/[\w.+-]{1,40}(?:;[\w=-]{1,40}+)*+,[\w+/=%-]{100,}+")
PICTURE = re.compile(
    r"!\[(?P<alt>[^\[\]\n]*+)\]\([ \t]*+<?(?P<address>[^)\s>]*+)[^)\n]*+\)?|<img\b(?P<attributes>[^<>]*+)>",
    re.IGNORECASE,
)
SOURCE = re.compile(r"\bsrc\s{0,9}=\s{0,9}[\"']?([^\"'\s]+)", re.IGNORECASE)


@dataclass(frozen=True)
class Picture:
    """A picture that prose shows, or why it cannot be shown."""

    content: bytes = b""
    reason: str = ""

    @property
    def kind(self) -> str:
        """Its type, such as "png", as its first bytes tell; empty if it is none that is shown."""
        kind = next((kind for start, kind in KINDS.items() if self.content.startswith(start)), "")
        return kind if kind != "webp" or self.content[8:12] == b"WEBP" else ""

    @property
    def name(self) -> str:
        """Its name as an attachment: the same for the same content."""
        return f"picture-{hashlib.sha256(self.content).hexdigest()[:16]}.{self.kind}"

    def as_attachment(self) -> dict[str, str]:
        """Its entry among the attachments of a cell."""
        return {f"image/{self.kind}": base64.b64encode(self.content).decode()}


MISSING = Picture(reason="no such picture of at most 10 MiB was handed in")


def address_of(found: re.Match[str]) -> str:
    """The address in a match of `PICTURE`."""
    if found["address"] is not None:
        return found["address"]
    source = SOURCE.search(found["attributes"])
    return source[1] if source else ""


def read_pictures(text: str, attachments: Any, files: Mapping[str, bytes], folder: str) -> dict[str, Picture]:
    """The pictures that a cell's text shows, by the address in it, without those of the web.

    `files` are those that were handed in, and `folder` is the notebook's among them. The `attachments`
    are in whatever form they were handed in.
    """
    pictures = {}
    # Decoded once, by whatever address the text calls them.
    attached = {name: _attached(bundle) for name, bundle in _mapping(attachments).items()}
    for address in {address_of(found) for found in PICTURE.finditer(text)} - {""}:
        scheme, colon, rest = address.partition(":")
        if scheme == "data":
            pictures[address] = _checked(_decoded(rest.partition(",")[2]))
        elif scheme == "attachment":
            pictures[address] = attached.get(unquote(rest), MISSING)
        elif not colon:
            content = files.get(normpath(join(folder, unquote(address))))
            pictures[address] = MISSING if content is None else _checked(content)
    return pictures


def _mapping(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, dict) else {}


def _attached(bundle: Any) -> Picture:
    data = next(iter(_mapping(bundle).values()), "")
    if isinstance(data, list):
        data = "".join(part for part in data if isinstance(part, str))
    return _checked(_decoded(data) if isinstance(data, str) else b"")


def _decoded(data: str) -> bytes:
    try:
        return binascii.a2b_base64(unquote(data))
    except ValueError:
        return b""


def _checked(content: bytes) -> Picture:
    if len(content) > LARGEST_PICTURE:
        return Picture(reason=f"it has more than {LARGEST_PICTURE // 2**20} MiB, {WHERE_IT_IS}")
    picture = Picture(content)
    return picture if picture.kind else Picture(reason=f"it is no {SHOWN} picture, {WHERE_IT_IS}")


class PictureSpace:
    """What the pictures of one notebook may still take, and which of them are not shown."""

    def __init__(self) -> None:
        self._bytes = ALL_PICTURES
        self._not_shown: dict[str, dict[str, None]] = {}  # what a person knows each by, by the reason

    def admitted(self, pictures: Mapping[str, Picture]) -> dict[str, Picture]:
        """Those of a cell's pictures that are shown."""
        shown = {}
        for address, picture in pictures.items():
            reason = picture.reason
            if not reason and len(picture.content) > self._bytes:
                reason = f"all have more than {ALL_PICTURES // 2**20} MiB, {WHERE_IT_IS}"
            if reason:
                name = shown_name(unquote(address.removeprefix("attachment:")))
                name = "data in the text" if address.startswith("data:") else name
                self._not_shown.setdefault(reason, {})[name] = None
            else:
                self._bytes -= len(picture.content)
                shown[address] = picture
        return shown

    @property
    def remarks(self) -> list[str]:
        """Sentences about the pictures that are not shown."""
        return [
            f"Not shown as a picture: {first_few(list(names))} ({reason})."
            for reason, names in self._not_shown.items()
        ]
