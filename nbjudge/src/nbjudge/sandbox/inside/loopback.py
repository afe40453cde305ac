"""The network of one kernel: a loopback device that no other process shares."""

import fcntl
import socket
import struct
from contextlib import suppress
from pathlib import Path

# <linux/sockios.h>, <net/if.h>
_SET_FLAGS, _UP = 0x8914, 1
# The least, the usual and the most that a connection's buffers hold: as much as other sockets'.
_BUFFERS = {"tcp_rmem": "4096 131072 212992", "tcp_wmem": "4096 16384 212992"}


def bring_up_loopback() -> None:
    """Let 127.0.0.1 answer in a network namespace that is new. Raises OSError."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as any_socket:
        fcntl.ioctl(any_socket, _SET_FLAGS, struct.pack("16sH14x", b"lo", _UP))


def limit_buffers() -> None:
    """Keep the buffers of connections small, because they are not counted. Needs a writable /proc/sys."""
    for name, sizes in _BUFFERS.items():
        with suppress(OSError):  # an old system, which has them for all networks together
            Path(f"/proc/sys/net/ipv4/{name}").write_text(sizes)
