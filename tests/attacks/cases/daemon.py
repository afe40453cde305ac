"""Starts a process that leaves its session and its parent, and lives on after the notebook."""

from attack import MARK, wrong

DAEMON = f"""
import os, subprocess
def start():
    if os.fork() == 0:
        os.setsid()
        if os.fork() == 0:
            os.chdir("/")
            os.execvp("sleep", ["{MARK}", "300"])
        os._exit(0)
start()
subprocess.Popen(["bash", "-c", "exec -a {MARK} sleep 300 & disown; nohup setsid sleep 300 &"])
get_ipython().system = os.system
def double(x):
    start()
    return x
def row_sums(x):
    print("there are", len([name for name in os.listdir("/proc") if name.isdigit()]), "processes")
    return x.sum()
"""
PROOF = r"there are ([3-9]|\d\d) processes"
NOTHING_LEFT = "there are 1 processes"
NEXT_LOOKS = """
import os
print("there are", len([name for name in os.listdir("/proc") if name.isdigit()]), "processes")
"""


def submission():
    return wrong(double=DAEMON, row_sums="")
