"""Writes into /proc and /sys: its standing with the memory killer, the core pattern, sysrq, limits, maps."""

from attack import wrong

PROOF = "tried [1-9]"
WRITE = """
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


def submission():
    return wrong(double=WRITE)


def harm(arena):
    return "" if "wrote []" in arena.shown(__name__) else arena.shown(__name__)[:1000]
