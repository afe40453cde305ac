"""`read_gguf`: settings and weights of a model file in the format of llama.cpp, as float32 tensors.

The package `gguf` reads the same files in several times the time: here torch unpacks the two kinds of blocks
that our file has, on all cores.
"""

import mmap
import struct

import torch

NUMBERS = dict(enumerate("BbHhIif?")) | {
    10: "Q",
    11: "q",
    12: "d",
}  # GGUF's kinds of values, as struct has them
TEXT, LIST = 8, 9


def read_gguf(path, dtype=torch.float32):
    """Read a GGUF file whose matrices are stored as F32, F16, Q8_0 or Q4_1.

    Parameters
    ----------
    path
        The file.
    dtype
        What the tensors are converted to.

    Returns
    -------
    settings : dict
        By GGUF's names, such as `llama.block_count`.
    tensors : dict
        By GGUF's names, such as `blk.0.attn_q.weight`; shapes `(out, in)`.

    Raises
    ------
    ValueError
        If it is no GGUF file or not a whole one, or a tensor is stored in another way.
    """
    with open(path, "rb") as file:
        magic = file.read(8)
        if magic[:4] != b"GGUF" or int.from_bytes(magic[4:], "little") < 2:
            raise ValueError(f"{path} is no GGUF file of version 2 or 3.")
        # Private pages: torch wants memory that may be written, and the file stays as it is.
        data = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_COPY)
    cut_off = ValueError(f"{path} is not complete: download it once more.")
    try:
        header = _Header(data, 8)
        settings, places = _settings_and_places(header)
    except (struct.error, UnicodeDecodeError):
        raise cut_off from None
    alignment = settings.get("general.alignment", 32)
    start = -(-header.at // alignment) * alignment
    tensors = {}
    for name, shape, kind, offset in places:
        if kind not in KINDS:
            known = ", ".join(known for known, *_ in KINDS.values())
            raise ValueError(f"{name} is stored as GGUF's kind {kind}, and this reader knows {known}.")
        _, block_numbers, block_bytes, unpack = KINDS[kind]
        blocks = torch.Size(shape).numel() // block_numbers
        count, at = blocks * block_bytes, start + offset
        if at + count > len(data):
            raise cut_off
        stored = torch.frombuffer(data, dtype=torch.uint8, count=count, offset=at)
        tensors[name] = unpack(stored.view(blocks, block_bytes)).to(dtype).view(shape)
    return settings, tensors


def _settings_and_places(header):
    """The settings, and of each tensor its name, its shape, its kind and its distance from the first one."""
    count, settings_count = header.number("Q"), header.number("Q")
    settings = {header.text(): header.value(header.number("I")) for _ in range(settings_count)}
    places = []
    for _ in range(count):
        name = header.text()
        shape = [header.number("Q") for _ in range(header.number("I"))]
        places.append((name, shape[::-1], header.number("I"), header.number("Q")))
    return settings, places


class _Header:
    """The values at the beginning of the file, read one after the other."""

    def __init__(self, data, at):
        self.data, self.at = data, at

    def number(self, code):
        (number,) = struct.unpack_from(f"<{code}", self.data, self.at)
        self.at += struct.calcsize(code)
        return number

    def text(self):
        length = self.number("Q")
        self.at += length
        return self.data[self.at - length : self.at].decode()

    def value(self, kind):
        if kind == LIST:
            kind, count = self.number("I"), self.number("Q")
            return [self.value(kind) for _ in range(count)]
        return self.text() if kind == TEXT else self.number(NUMBERS[kind])


def _plain(dtype):
    return lambda stored: stored.view(dtype).clone()  # a copy: otherwise one vector keeps the whole file


def _q8_0(stored):
    """Blocks of 32 numbers: a scale, and each number in 8 bits with a sign."""
    scale = stored[:, :2].contiguous().view(torch.float16).float()  # (N, 1)
    return stored[:, 2:].view(torch.int8) * scale


def _q4_1(stored):
    """Blocks of 32 numbers: a scale, the smallest number, and each number in 4 bits."""
    scale, smallest = stored[:, :4].contiguous().view(torch.float16).float().split(1, dim=1)  # (N, 1) each
    numbers = torch.empty(len(stored), 32)
    # A byte holds numbers i and i + 16.
    numbers[:, :16], numbers[:, 16:] = stored[:, 4:] & 15, stored[:, 4:] >> 4
    return numbers.mul_(scale).add_(smallest)


# GGUF's number of the kind: its name, the numbers and the bytes of a block, and what unpacks (N, bytes).
KINDS = {
    0: ("F32", 1, 4, _plain(torch.float32)),
    1: ("F16", 1, 2, _plain(torch.float16)),
    3: ("Q4_1", 32, 20, _q4_1),
    8: ("Q8_0", 32, 34, _q8_0),
}
