"""Connects to this machine's ports, to the world and to nameless sockets, to say what it was asked."""

import select
import socket

from attack import MARK, wrong

REPRESENTS = "network"
PROOF = "called"
CALL = f"""
import ctypes, socket, subprocess
reached = []
def call(kind, how, address):
    with socket.socket(kind, how) as wire:
        wire.settimeout(0.2)
        try:
            wire.connect(address)
            wire.send(b"zero points are not enough")
            reached.append(address)
        except OSError:
            pass
for port in ({{port}}, 22, 53, 80, 111, 2375, 8000, 8888, 9999):
    call(socket.AF_INET, socket.SOCK_STREAM, ("127.0.0.1", port))
    call(socket.AF_INET6, socket.SOCK_STREAM, ("::1", port))
call(socket.AF_INET, socket.SOCK_STREAM, ("1.1.1.1", 443))
call(socket.AF_INET, socket.SOCK_DGRAM, ("8.8.8.8", 53))
call(socket.AF_INET, socket.SOCK_STREAM, ("169.254.169.254", 80))
for path in ("\\0{MARK}", "/run/docker.sock", "/run/dbus/system_bus_socket", "/tmp/.X11-unix/X0"):
    call(socket.AF_UNIX, socket.SOCK_STREAM, path)
try:
    reached.append(socket.getaddrinfo("localhost.example.org", 80))
except OSError:
    pass
for line in open("/proc/net/unix").read().splitlines()[1:]:
    if "/run/kernel" not in line and len(line.split()) > 7:
        reached.append(line.split()[7])
print("called", reached, [name for _, name in socket.if_nameindex()])
def double(x):
    return x
"""
listening = []


def prepare(folder, arena):
    listening[:] = [socket.create_server(("127.0.0.1", 0)), socket.socket(socket.AF_UNIX)]
    listening[1].bind(f"\0{MARK}")
    listening[1].listen()
    notebook = folder / "tiny.ipynb"
    notebook.write_text(notebook.read_text().replace("{port}", str(listening[0].getsockname()[1])))


def submission():
    return wrong(double=CALL)


def harm(arena):
    heard = select.select(listening, [], [], 0)[0]
    for server in listening:
        server.close()
    if heard:
        return "it was heard outside"
    return "" if "called []" in arena.shown(__name__) else arena.shown(__name__)[:300]
