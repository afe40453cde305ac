"""Configuration of nbjudge's own tests, which run without the course, and without torch if it is missing."""

import re
from pathlib import Path

from shared_hooks import *  # noqa: F403

try:
    import torch  # noqa: F401
except ImportError:
    IMPORTS_TORCH = re.compile(r"^ *(from|import) (torch|nbjudge\.torch)\b", re.MULTILINE)
    collect_ignore = [
        str(path)
        for path in Path(__file__).parent.rglob("test_*.py")
        if IMPORTS_TORCH.search(path.read_text())
    ]
