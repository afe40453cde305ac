"""A student's prose, read by what the formgrader reads markdown with, is text, emphasis and web links."""

from __future__ import annotations

import re

import pytest
from bs4 import BeautifulSoup
from hypothesis import example, given, settings
from hypothesis import strategies as st
from nbconvert.filters.markdown_mistune import markdown2html_mistune
from nbconvert.filters.strings import strip_files_prefix

from nbjudge.plain_text import as_html
from nbjudge.rebuild.student_prose import INVISIBLE_SPACE, LONGEST, MOST, neutralize_markup, neutralize_prose

ELEMENTS = {
    "p",
    "a",
    "em",
    "strong",
    "del",
    "code",
    "pre",
    "div",
    "span",
    "ol",
    "ul",
    "li",
    "blockquote",
    "hr",
}
ELEMENTS |= {"br", "table", "thead", "tbody", "tr", "th", "td", "dl", "dt", "dd", "input"}
ELEMENTS |= {f"h{level}" for level in range(1, 7)}
ATTRIBUTES = {"href", "title", "class", "id", "style", "type", "disabled", "checked", "start"}
ADDRESS = re.compile(r"https?://|mailto:|#")
COMMANDS = re.compile(
    r"\\(href|def|let|newcommand|require|mmlToken|style|class|cssId|unicode|html\w*)(?![a-zA-Z])"
)
# What markup of every kind is made of.
PIECES = list("[]()<>!&#;:/\\`~*_|$\"'=-+ \n\t{}x") + [
    "\0",
    "\x01",
    "\r",
    "\u200b",
    "\ufeff",
    "](",
    "]:",
    "![",
    "[a]",
]
PIECES += [
    "javascript:",
    "javascript\\:",
    "&colon;",
    "&#58;",
    "http://a.b",
    "mailto:a@b.c",
    "files/",
    "attachment:a",
]
PIECES += [
    "script",
    "img src=x onerror=y()",
    "<img src=x onerror=y()>",
    "<a href=",
    "</",
    "<!--",
    "-->",
    "<?",
    "<![CDATA[",
]
PIECES += [
    "```",
    "```mermaid\n",
    "~~~",
    "$$",
    "\\\\(",
    "\\\\[",
    "\\begin{a}",
    "\\end{a}",
    "\\href{",
    "\\def\\a{",
    "}",
]
PIECES += [
    "# ",
    "\n# why\n",
    "why\n===\n",
    "> ",
    "- ",
    "1. ",
    "    ",
    "\n\n",
    "|---|---|\n",
    "\n: ",
    "[ ] ",
    "title",
]


def shown(text: str) -> BeautifulSoup:
    return BeautifulSoup(strip_files_prefix(markdown2html_mistune(text)), "html.parser")


def what_is_more_than_text(page: BeautifulSoup) -> list[str]:
    found = [str(each) for each in page.find_all(True) if each.name not in ELEMENTS]
    found += [str(each) for each in page.find_all(True) if not each.attrs.keys() <= ATTRIBUTES]
    links = [str(each.get("href")) for each in page.find_all("a")]
    return found + [link for link in links if not ADDRESS.match(link)]


@given(st.lists(st.sampled_from(PIECES), max_size=30).map("".join))
@example("[x](javascript\\:alert(1))")
@example("[a]: javascript:y()\n\n[a]")
@example("[x](files/javascript:y())")
@example("![x](attachment:missing)")
@example("```mermaid\n<img src=x onerror=y()>\n```")
@example("$\\h\0ref{javascript:y()}{x}$")
@settings(max_examples=500, deadline=None)
def test_prose_of_any_pieces_is_no_more_than_text(text):
    page = shown(neutralize_markup(text))
    assert what_is_more_than_text(page) == []
    assert not COMMANDS.search(page.get_text())
    # What the page has places of its own for keeps its name.
    assert not {"why", "test_double"} & {each.get("id") for each in page.find_all(id=True)}


@pytest.mark.parametrize(
    "text",
    [
        "*stressed* and **strong**, `code`, R&D, a < b > c, x[0] (y)",
        "- one\n- two\n\n1. first\n2. second\n\n> said\n\n| a | b |\n|---|---|\n| 1 | 2 |",
        "$a < b$, $\\frac{1}{2}$ and $$\\begin{aligned} x &= 1 \\\\ y &= 2 \\end{aligned}$$",
        "[web](https://example.com/a_b?c=d&e=f#g) and [letter](mailto:a@example.com)",
        "[there][1]\n\n[1]: https://example.com",
        "```python\nx = values[0](1)\n```",
    ],
)
def test_honest_prose_reads_as_it_was_written(text):
    written, read = shown(text), shown(neutralize_markup(text))
    assert read.get_text().replace(INVISIBLE_SPACE, "") == written.get_text().replace(INVISIBLE_SPACE, "")
    assert {each.name for each in read.find_all(True)} == {each.name for each in written.find_all(True)}


def test_comparisons_and_indices_are_no_markup():
    text = "a<b and b>c, x[0](y), [1]: first, ![0]"
    assert shown(neutralize_markup(text)).get_text().replace(INVISIBLE_SPACE, "") == f"{text}\n"


def test_what_is_no_web_link_can_still_be_read():
    assert (
        shown(neutralize_markup("[here](javascript:x)")).get_text().replace(INVISIBLE_SPACE, "")
        == "[here](javascript:x)\n"
    )


def test_long_prose_is_shown_as_it_is_and_costs_no_time():
    slow = "\\\\[" * LONGEST
    (text,) = neutralize_prose([slow])
    (block,) = shown(text).find_all("pre")
    assert block.get_text().strip() == slow
    pages = list(neutralize_prose(["*short*"] + ["*x* " * 4_000] * 20))
    assert shown(pages[0]).em and shown(pages[3]).em and not shown(pages[-1]).em
    assert sum(len(page) for page in pages if shown(page).em) <= MOST


def test_a_fence_within_long_prose_does_not_end_its_own():
    text = "~" * 10 + "\n<b>\n" + "x" * LONGEST
    (page,) = neutralize_prose([text])
    assert [each.name for each in shown(page).find_all(True)] == ["pre", "code"]


@given(st.lists(st.sampled_from(PIECES), max_size=30).map("".join))
@settings(max_examples=500, deadline=None)
def test_a_sentence_in_an_element_of_markdown_stays_in_it(text):
    page = shown(f"<p><strong>From the grader:</strong> {as_html(text)}</p>")
    assert {each.name for each in page.find_all(True)} <= {"p", "strong", "span"}
    assert all(not each.attrs for each in page.find_all(True))
    assert len(page.find_all("p")) == 1
