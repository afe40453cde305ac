"""One `check` from the installed packages: a wrong answer whose mistake is named, and a right one.

CI runs this on Linux, Windows and macOS in an empty folder; nothing of the clone is used.
"""

import torch
from IPython.core.interactiveshell import InteractiveShell

from attention_lab.start.lessons import released_lessons

shell = InteractiveShell.instance()
shell.user_ns["torch"] = torch
WRONG = """
from attention_lab import check
def softmax(scores):
    return torch.exp(scores) / torch.exp(scores).sum(dim=-1, keepdim=True)
wrong = check("softmax")
mistake = repr(wrong.mistake())
"""
RIGHT = """
def softmax(scores):
    return torch.exp(scores - scores.max(dim=-1, keepdim=True).values.detach()) / torch.exp(
        scores - scores.max(dim=-1, keepdim=True).values.detach()
    ).sum(dim=-1, keepdim=True)
right = check("softmax")
"""

if __name__ == "__main__":
    assert "site-packages" in str(released_lessons()), released_lessons()
    for code in (WRONG, RIGHT):
        shell.run_cell(code).raise_error()
    mistake, right = shell.user_ns["mistake"], shell.user_ns["right"]
    assert "exp overflows to inf" in mistake, mistake
    assert "✗" not in repr(right), right
    print(right)
