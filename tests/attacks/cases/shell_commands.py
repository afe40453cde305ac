"""Runs shell commands, magics and other programs that change files, wait for input and stay behind."""

from attack import MARK, wrong

PROOF = "after all commands"
COMMANDS = f"""
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


def submission():
    return wrong(double=COMMANDS)
