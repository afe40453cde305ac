"""Which torch operators and functions run while an answer is computed.

Part of what runs in the student's kernel, see `respond`.
"""

import sys
import threading
from types import FrameType
from typing import Any

from torch.utils._python_dispatch import TorchDispatchMode


class Recording(TorchDispatchMode):
    """Notes which torch operators and functions run, however they are called.

    The dispatcher sees operators under any alias, from C++ or from scripted code; the profile
    sees calls that leave no operator of their own, such as the start of a backward pass.
    """

    def __init__(self) -> None:
        super().__init__()
        self.ran: set[str] = set()

    @classmethod
    def _should_skip_dynamo(cls) -> bool:
        # Otherwise torch wraps the method below and loads its whole compiler at the first call.
        return False

    def __torch_dispatch__(self, operator: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        self.ran.add(str(operator))
        return operator(*args, **(kwargs or {}))

    def _profile(self, frame: FrameType, event: str, argument: Any) -> None:
        if event == "c_call":
            if (getattr(argument, "__module__", None) or "torch").startswith("torch"):
                self.ran.add("C " + argument.__name__)
        elif event == "call":
            module = frame.f_globals.get("__name__") or ""
            if isinstance(module, str) and module.startswith(("torch.", "scipy.")):
                self.ran.add(f"{module}.{frame.f_code.co_qualname}")

    def __enter__(self) -> "Recording":
        super().__enter__()
        sys.setprofile(self._profile)
        threading.setprofile(self._profile)
        return self

    def __exit__(self, *details: Any) -> None:
        sys.setprofile(None)
        threading.setprofile(None)
        super().__exit__(*details)
