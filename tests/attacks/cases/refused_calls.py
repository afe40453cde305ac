"""Calls the system past Python: odd sockets, io_uring, keys, queues, maps, handles, the machine itself."""

import platform

from attack import wrong

from nbjudge.sandbox.inside.system_calls import number_of

PROOF = r"tried [1-9]\d+"
CALLS = """
add_key: b"user", b"x", b"x", 1, -4
adjtimex: buffer
bpf: 0, buffer, 72
clone: 0x10000011, 0, 0, 0, 0
clone3: buffer, 88
fanotify_init: 0x200, 0
inotify_init1: 0
inotify_init: 0
io_setup: 8, buffer
io_uring_setup: 4, buffer
iopl: 0
kcmp: 1, 1, 0, 0, 0
keyctl: 0, -4, 1
memfd_create: b"x", 0
memfd_secret: 0
mknod: b"/tmp/z", 0o20666, 0x105
mknodat: -100, b"/tmp/y", 0o20666, 0x105
modify_ldt: 0, buffer, 8
mq_open: b"x", 0o102, 0o600, None
msgget: 0, 0o1600
name_to_handle_at: -100, b"/", buffer, buffer, 0
perf_event_open: buffer, 0, -1, -1, 0
prctl: 62, 1, 0, 0, 0
process_vm_readv: 1, buffer, 0, buffer, 0, 0
ptrace: 0
quotactl: 0x80000100, None, 0, None
semget: 0, 1, 0o1600
shmget: 0, 4096, 0o1600
statmount: buffer, buffer, 512, 0
syslog: 3, buffer, 100
unshare: 0x400
userfaultfd: 1
vmsplice: 1, None, 0, 0
"""
CALL = """
import ctypes, mmap, os, resource, socket
libc = ctypes.CDLL(None, use_errno=True)
buffer = ctypes.create_string_buffer(512)
tried, got = 0, []
def attempt(name, act):
    global tried
    tried += 1
    try:
        outcome = act()
    except Exception:
        return
    if outcome is None or outcome >= 0:
        got.append(name)
def attempt_in_child(name, act):  # for a call that may change or kill its process; forks take far longer
    global tried
    tried += 1
    child = os.fork()
    if child == 0:
        attempt(name, act)
        os._exit(0 if name in got else 1)
    if os.waitpid(child, 0)[1] == 0:
        got.append(name)
for family in range(3, 47):
    for kind in (1, 2, 3, 5, 6):
        attempt(("family", family, kind), lambda: socket.socket(family, kind, 1).fileno())
for family in (16, 38, 40, 43):
    attempt(("family", family), lambda: socket.socket(family, 3 if family == 16 else 1, 4).fileno())
for kind in (1, 3, 5):
    for protocol in (1, 132, 136, 255, 256, 262):
        attempt(("protocol", kind, protocol), lambda: socket.socket(2, kind, protocol).fileno())
attempt_in_child("a call of tomorrow", lambda: libc.syscall(470, 0))
attempt_in_child("x32", lambda: libc.syscall(0x40000000 + 39))
if os.uname().machine == "x86_64":  # getpid by the numbers of 32-bit programs: mov eax, 20; int 0x80; ret
    page = mmap.mmap(-1, 4096, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS, prot=7)
    page.write(bytes.fromhex("b814000000 cd80 c3"))
    start = ctypes.addressof(ctypes.c_char.from_buffer(page))
    attempt_in_child("i386", ctypes.CFUNCTYPE(ctypes.c_int)(start))
attempt_in_child("anonymous shared memory", lambda: mmap.mmap(-1, 4096).write(b"x"))
attempt_in_child("shared zeros", lambda: mmap.mmap(os.open("/dev/zero", os.O_RDWR), 4096).write(b"x"))
for name in ("AS", "DATA", "SIGPENDING", "MEMLOCK", "RTPRIO", "NICE"):
    limit = getattr(resource, "RLIMIT_" + name)
    attempt_in_child(("limit", name), lambda: resource.setrlimit(limit, (2**40, 2**40)))
attempt_in_child("real time", lambda: os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(1)))
"""
TELL = """
print("tried", tried, "got", got)
def double(x):
    return x
"""


def submission():
    lines = []
    for call in CALLS.strip().splitlines():
        name, _, arguments = call.partition(": ")
        number = number_of(name, platform.machine())
        if number is not None:
            lines.append(f"attempt_in_child({name!r}, lambda: libc.syscall({number}, {arguments}))\n")
    return wrong(double=CALL + "".join(lines) + TELL)


def harm(arena):
    return "" if "got []" in arena.shown(__name__) else arena.shown(__name__)[:1000]
