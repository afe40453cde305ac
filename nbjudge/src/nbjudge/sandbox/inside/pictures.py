"""Which pictures of a kernel's are shown: those that say of themselves how large they are, and are not huge.

A picture of a few kilobytes can hold billions of points, more than the reader's browser has memory for.
"""

import base64
import binascii
import struct

MOST_POINTS = 50_000_000  # of one picture
LONGEST_SIDE = 30_000
PNG_BEGINS = b"\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR"
JPEG_BEGINS = b"\xff\xd8\xff"
# The markers that begin a frame, whose size follows; the others of this range are tables.
JPEG_FRAMES = set(range(0xC0, 0xD0)) - {0xC4, 0xC8, 0xCC}
WITHOUT_LENGTH = {0x01, *range(0xD0, 0xD8)}
MOST_SEGMENTS = 1_000


def is_modest(encoded: str) -> bool:
    """Whether the text is the base64 of a PNG or JPEG picture of modest size."""
    try:
        data = base64.b64decode("".join(encoded.split()), validate=True)
        width, height = _size(data)
    except (binascii.Error, ValueError, struct.error, IndexError):
        return False
    return 0 < width <= LONGEST_SIDE and 0 < height <= LONGEST_SIDE and width * height <= MOST_POINTS


def _size(data: bytes) -> tuple[int, int]:
    """Width and height, as the picture says. Raises ValueError and the like for what is no picture."""
    if data.startswith(PNG_BEGINS):
        width, height = struct.unpack(">II", data[len(PNG_BEGINS) : len(PNG_BEGINS) + 8])
        return width, height
    if not data.startswith(JPEG_BEGINS):
        raise ValueError("no picture of a kind that is shown")
    place = 2
    for _ in range(MOST_SEGMENTS):
        if data[place] != 0xFF:
            raise ValueError("broken off")
        marker = data[place + 1]
        if marker == 0xFF:  # filling
            place += 1
        elif marker in JPEG_FRAMES:
            height, width = struct.unpack(">HH", data[place + 5 : place + 9])
            return width, height
        elif marker in WITHOUT_LENGTH:
            place += 2
        else:
            place += 2 + int(struct.unpack(">H", data[place + 2 : place + 4])[0])
    raise ValueError("it does not say how large it is")
