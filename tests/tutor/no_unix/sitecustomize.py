"""Makes a Python process, and each that it starts, one without what exists on Unix only.

Processes of multiprocessing start by `spawn`, and names of files that Windows refuses are refused.

Libraries are imported first: on another system they have code of their own for it. After that, a module of
the project that imports, calls or opens something of Unix fails, as it would on Windows.
"""

import builtins
import importlib
import io
import multiprocessing
import os
import re
import signal
import socket
import subprocess
import sys
import types

LIBRARIES = [
    "asyncio",
    "multiprocessing",
    "shutil",
    "subprocess",
    "tempfile",
    "IPython",
    "ipykernel.kernelapp",
    "jupyterlab.labapp",
    "matplotlib.pyplot",
    "mistune",
    "nbclient",
    "nbformat",
    "pandas",
    "seaborn",
    "torch",
    "zmq.asyncio",
]
MODULES = ("fcntl", "grp", "pty", "pwd", "resource", "syslog", "termios", "tty")
FUNCTIONS = {
    os: "fork getuid geteuid getgid getegid waitid setsid killpg sched_getaffinity sched_setaffinity nice "
    "uname O_DIRECTORY O_NOFOLLOW O_NONBLOCK WNOHANG P_ALL pidfd_open mkfifo chown getpgid",
    signal: "SIGALRM SIGKILL SIGSTOP SIGCONT SIGCHLD SIGHUP SIGUSR1 setitimer alarm pthread_sigmask "
    "pthread_kill",
    socket: "AF_UNIX",
}
PROJECT = ("nbjudge", "attention_lab")
# Windows: characters that no name may hold, ends that it may not have, and names of devices.
REFUSED_NAME = re.compile(r'[<>:"|?*\x00-\x1f]|[. ]$|^(con|prn|aux|nul|com\d|lpt\d)(\.|$)', re.IGNORECASE)

sys.modules["rfc3987_syntax"] = None  # seconds of import time, and of no use here
for name in LIBRARIES:
    importlib.import_module(name)
# It ends processes by signals here, and by functions of its own on Windows.
subprocess.signal = types.SimpleNamespace(**vars(signal))
for name in MODULES:
    sys.modules[name] = None
for module, names in FUNCTIONS.items():
    for name in names.split():
        if hasattr(module, name):
            delattr(module, name)


multiprocessing.set_start_method("spawn", force=True)


def as_on_windows(function):
    """The function, for which the project's modules find no /proc and no name that Windows refuses."""

    def call(path, *args, **kwargs):
        caller = sys._getframe(1)
        while caller is not None and caller.f_globals.get("__name__", "").startswith(("pathlib", "io", "os")):
            caller = caller.f_back
        is_ours = caller is not None and any(name in caller.f_code.co_filename for name in PROJECT)
        if is_ours and str(path).startswith("/proc"):
            raise FileNotFoundError(2, "No such file or directory", str(path))
        if is_ours and not isinstance(path, int):
            for name in os.fsdecode(path).split(os.sep):
                if name not in (".", "..") and REFUSED_NAME.search(name):
                    raise OSError(22, "Invalid argument", str(path))
        return function(path, *args, **kwargs)

    return call


builtins.open = io.open = as_on_windows(io.open)
os.listdir = as_on_windows(os.listdir)
os.mkdir = as_on_windows(os.mkdir)
