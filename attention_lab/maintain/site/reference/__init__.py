"""The reference on the site: commands, settings and Python names, each in the words of its own code.

The frames are the Markdown files beside this one; what is written by hand there says who a page is for.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from string import Template

from attention_lab.maintain.site.reference.commands import commands_of
from attention_lab.maintain.site.reference.python_names import authoring_names, lesson_modules
from attention_lab.maintain.site.reference.settings import settings
from nbjudge.course.course import Assignment

FOLDER = "reference"  # of the site
# In the order in which they are read; each frame has a place `$content` for what is generated from the code.
PAGES: dict[str, Callable[[Sequence[Assignment]], str]] = {
    "lessons": lesson_modules,
    "checks": lambda lessons: authoring_names(),
    "attention-lab": lambda lessons: commands_of("attention_lab.cli", "attention-lab"),
    "nbjudge": lambda lessons: commands_of("nbjudge.cli", "nbjudge"),
    "settings": lambda lessons: settings(),
}


def reference_pages(lessons: Sequence[Assignment]) -> dict[str, str]:
    """Markdown for Sphinx, by the path of its file; the first page is `reference/index.md`.

    Raises CourseError where the help of a command cannot be had.
    """
    pages = {f"{FOLDER}/index.md": _frame("index").template}
    for name, content_of in PAGES.items():
        pages[f"{FOLDER}/{name}.md"] = _frame(name).substitute(content=content_of(lessons))
    return pages


def _frame(name: str) -> Template:
    return Template(Path(__file__).with_name(f"{name}.md").read_text(encoding="utf-8"))
