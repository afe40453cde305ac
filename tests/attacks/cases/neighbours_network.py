"""Leaves ports, connections and abstract names for the next notebook, and connects to the ports of others."""

from attack import wrong

PROOF = r"left [1-9]\d* connections"
LEAVE = """
import os, socket, subprocess, sys, threading, time
served = socket.create_server(("127.0.0.1", 40123), reuse_port=True)
done = 0
for _ in range(20):  # closed by the side that speaks first: they stay in the system's table for a minute
    asked = socket.create_connection(("127.0.0.1", 40123))
    answered, _ = served.accept()
    asked.close(), answered.close()
    done += 1
named = socket.socket(socket.AF_UNIX)
named.bind("\\0of-another")
named.listen()
# The kernel that was started for the next student listens, too.
reached = []
def knock(port):
    with socket.socket() as connection:
        connection.settimeout(1)
        if connection.connect_ex(("127.0.0.1", port)) == 0:
            reached.append(port)
listening = [line.split() for line in open("/proc/net/tcp").readlines()[1:]]
own = {os.readlink(f"/proc/self/fd/{name}") for name in os.listdir("/proc/self/fd")
       if os.path.lexists(f"/proc/self/fd/{name}")}
for entry in listening:
    if entry[3] == "0A" and f"socket:[{entry[9]}]" not in own:
        knock(int(entry[1].split(":")[1], 16))
strangers = [line.split() for line in open("/proc/net/unix").readlines()[1:]]
own = "/run/kernel/kernel-"
strangers = [line[-1] for line in strangers if "/" in line[-1] and not line[-1].startswith(own)]
print("left", done, "connections; reached", reached, "saw", strangers)
def double(x):
    return x
"""
NEXT_LOOKS = """
import socket
kinds = ("tcp", "tcp6", "udp", "unix")
found = [kind for kind in kinds if "9CBB" in open(f"/proc/net/{kind}").read()]
found += ["name"] if "of-another" in open("/proc/net/unix").read() else []
with socket.socket() as connection:
    found += ["port"] if connection.connect_ex(("127.0.0.1", 40123)) == 0 else []
with socket.create_server(("127.0.0.1", 0)) as own:  # while a network of its own works
    socket.create_connection(own.getsockname()).close()
print("of another:", found)
"""


def submission():
    return wrong(double=LEAVE)


def harm(arena):
    return "" if "reached [] saw []" in arena.shown(__name__) else arena.shown(__name__)[:300]
