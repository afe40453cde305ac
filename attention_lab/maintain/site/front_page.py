"""The first page of the site: what the course is, its lessons in order, and how to start."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from string import Template

from attention_lab.maintain.hosts import paragraph, repository
from nbjudge.course.course import Assignment
from nbjudge.course.loading import read_notebook

TEMPLATE = Path(__file__).with_name("front_page.md")
SENTENCE_END = re.compile(r"(?<=[.!?])\s+(?=[A-Z*])")
# "At the end of this lesson you can write ...": the sentence that says what a lesson is for.
PROMISE = re.compile(r"^(?:At the end|After)(?: of)?(?: this lesson)? you can\b")
REFERENCE = "reference/index.md"
CONTENTS = "```{toctree}\n:hidden:\n\n%s\n```\n"


def front_page(lessons: Sequence[Assignment]) -> str:
    """The page in Markdown, with an entry for each lesson in the words of its own first paragraph."""
    entries = "\n".join(_entry(lesson) for lesson in lessons)
    text = Template(TEMPLATE.read_text(encoding="utf-8"))
    hosts = paragraph(repository(lessons[0].course.root))
    page = text.substitute(lessons=entries, first=_address(lessons[0]), hosts=hosts)
    return page + "\n" + CONTENTS % "\n".join([*map(_address, lessons), REFERENCE])


def _address(lesson: Assignment) -> str:
    return f"{lesson.folder}/{lesson.name}.ipynb"


def _entry(lesson: Assignment) -> str:
    title, *paragraphs = read_notebook(lesson.source_path).cells[0].source.split("\n\n")
    minutes = re.search(r"(\d+ to )?\d+ minutes", " ".join(paragraphs))
    length = f", {'' if minutes[1] else 'about '}{minutes[0]}" if minutes else ""
    # A summary box is a quotation, whose first paragraph says what one can do.
    promise = paragraphs[0].split("\n>\n")[0] if paragraphs[0].startswith(">") else " ".join(paragraphs)
    text = " ".join(re.sub(r"(?m)^> ?|\*\*", "", promise).split())
    return f"- **[{title.lstrip('# ')}]({_address(lesson)})**{length}. {_description(text)}"


def _description(text: str) -> str:
    """What you can do after the lesson; where no sentence says so, what happens in it, or how it begins."""
    sentences = SENTENCE_END.split(text)
    for telling in (PROMISE, re.compile("In this lesson")):
        for sentence in filter(telling.match, sentences):
            return PROMISE.sub("You can", sentence)
    return sentences[0]
