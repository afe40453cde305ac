"""Makes namespaces, mounts, roots and devices of its own, and enters those of the first process."""

from attack import wrong

PROOF = "knocked"
KNOCK = """
import ctypes, os
libc, done = ctypes.CDLL(None, use_errno=True), []
def knock(name, *arguments):
    child = os.fork()
    if child == 0:
        os._exit(getattr(libc, name)(*arguments) >= 0)
    if os.waitpid(child, 0)[1]:
        done.append((name, arguments))
for kind in (0x10000000, 0x20000, 0x4000000, 0x8000000, 0x20000000, 0x40000000, 0x2000000, 0x10020000):
    knock("unshare", kind)
for kind in ("mnt", "pid", "user", "net", "ipc", "uts"):
    knock("setns", os.open(f"/proc/1/ns/{kind}", os.O_RDONLY), 0)
knock("mount", b"none", b"/tmp", b"tmpfs", 0, None)
knock("mount", b"proc", b"/home/student", b"proc", 0, None)
knock("mount", b"/", b"/tmp", None, 4096, None)
knock("mount", b"none", b"/", None, 32 | 4096, None)
knock("mount", b"none", b"/run/kernel", None, 32 | 4096, None)
knock("umount2", b"/run/sockets", 2)
knock("umount2", b"/home/student", 2)
knock("umount2", b"/proc", 2)
knock("chroot", b"/tmp")
knock("mknod", b"/tmp/disk", 0o60666, 0x800)
knock("setuid", 0)
knock("setgid", 0)
knock("setgroups", 1, b"\\0" * 8)
knock("sethostname", b"x", 1)
knock("reboot", 0x89ABCDEF)
knock("swapoff", b"/swap")
knock("syscall", 155, b"/", b"/tmp")
knock("syscall", 321, 5, None, 0)
knock("syscall", 298, None, 0, -1, -1, 0)
knock("syscall", 428, -1, b"/", 1)
knock("syscall", 430, b"tmpfs", 0)
print("knocked; done", done)
def double(x):
    return x
"""


def submission():
    return wrong(double=KNOCK)


def harm(arena):
    return "" if "done []" in arena.shown(__name__) else arena.shown(__name__)[:500]
