"""The process in which a cluster's worker grades: `python -m … DESCRIPTOR`, with a wire to its worker.

Notebooks come in as pickled (archive, job); what came of one goes back in two messages, as
`cluster_worker.Outcome` says. It ends when its worker does.
"""

from __future__ import annotations

import os
import pickle
import signal
import sys
import threading
import time
import traceback
from contextlib import suppress
from multiprocessing.connection import Connection
from queue import SimpleQueue
from types import FrameType
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from nbjudge.batch.cluster_worker import Outcome

END_SECONDS = 5  # seconds in which it cleans up


def main() -> None:
    """Grade what comes, in the main thread: the sandbox ends with the thread that started it."""
    wire = Connection(int(sys.argv[1]))
    os.set_inheritable(wire.fileno(), False)
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is the worker's to answer
    signal.signal(signal.SIGTERM, _end)
    arrived: SimpleQueue[bytes] = SimpleQueue()
    threading.Thread(target=_read, args=(wire, arrived), daemon=True).start()
    while True:
        outcome, content = _graded(arrived.get())
        wire.send_bytes(outcome.encode())
        wire.send_bytes(content)


def _graded(content: bytes) -> tuple[Outcome, bytes]:
    from nbjudge.batch.worker_process import work
    from nbjudge.errors import BrokenAssignmentError, NoKernelError

    try:
        archive, job = pickle.loads(content)
        return "done", pickle.dumps(work(archive, job))
    except NoKernelError as error:
        return "no kernel", str(error).encode()
    except BrokenAssignmentError as error:
        return "assignment fails", str(error).encode()
    except Exception as error:
        traceback.print_exc()  # into the worker's log
        return "failed", f"{type(error).__name__}: {error}".encode()


def _read(wire: Connection, arrived: SimpleQueue[bytes]) -> None:
    """Take in notebooks as long as the worker lives."""
    with suppress(EOFError, OSError):
        while True:
            arrived.put(wire.recv_bytes())
    os.kill(os.getpid(), signal.SIGTERM)
    time.sleep(END_SECONDS)
    os.kill(os.getpid(), signal.SIGKILL)


def _end(_signal: int, _frame: FrameType | None) -> None:
    raise SystemExit  # so that folders and sandboxes are cleaned up on the way out


if __name__ == "__main__":
    main()
