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
from nbjudge.submission.merge import (
    COMMANDS,
    DEEPEST,
    INVISIBLE_SPACE,
    LONGEST_LINE,
    LONGEST_PROSE,
    MOST_BACKWARDS,
    MOST_OPENINGS,
    MOST_PROSE,
    neutralize_markup,
    shortened_prose,
)

ELEMENT_NAMES = """
p a em strong del code pre div span ol ul li blockquote hr br table thead tbody tr th td dl dt dd input
h1 h2 h3 h4 h5 h6
"""
ELEMENTS = set(ELEMENT_NAMES.split())
ATTRIBUTES = {"href", "title", "class", "id", "style", "type", "disabled", "checked", "start"}
ADDRESS = re.compile(r"https?://|mailto:|#")
COMMAND = re.compile(r"\\([A-Za-z]+)")
# What markup of every kind is made of.
WORDS = r"""
]( ]: ![ [a] </ <!-- --> <? <![CDATA[ ``` ~~~ $$ \\( \\[ title script in put
javascript: javascript\: &colon; &#58; http://a.b mailto:a@b.c files/ attachment:a
\begin{a} \end{a} \href{ \def\a{ \raise \in
"""
PIECES = [*"[]()<>!&#;:/\\`~*_|$\"'=-+ \n\t{}x\0\x01\r\u200b\ufeff", *WORDS.split(), "<a href="]
PIECES += [
    "img src=x onerror=y()",
    "<img src=x onerror=y()>",
    "```mermaid\n",
    "# ",
    "\n# why\n",
    "why\n===\n",
]
PIECES += ["> ", "- ", "1. ", "    ", "\n\n", "|---|---|\n", "\n: ", "[ ] "]


def neutralize_prose(texts):
    return shortened_prose(map(neutralize_markup, texts))


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
@example("`\\in`http://a.b")
@settings(max_examples=500, deadline=None)
def test_prose_of_any_pieces_is_no_more_than_text(text):
    page = shown(neutralize_markup(text))
    assert what_is_more_than_text(page) == []
    # A formula does not go across elements: `\\in` in code and "http" behind it are no command.
    assert set(COMMAND.findall(page.get_text("\n"))) <= COMMANDS
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


@pytest.mark.parametrize("text", ["a<b and b>c, x[0](y), [1]: first, ![0]", "[here](javascript:x)"])
def test_what_is_no_markup_can_be_read(text):
    """Comparisons and indices are no markup, and neither is a link that leads to no page."""
    assert shown(neutralize_markup(text)).get_text().replace(INVISIBLE_SPACE, "") == f"{text}\n"


def test_long_prose_is_shown_as_it_is():
    slow = "\\\\[" * LONGEST_PROSE
    (text,) = neutralize_prose([slow])
    (block,) = shown(text).find_all("pre")
    assert block.get_text().replace("\n", "") == slow
    assert max(map(len, text.splitlines())) <= LONGEST_LINE
    pages = list(neutralize_prose(["*short*"] + ["*x* " * 4_000] * 20))
    assert shown(pages[0]).em and shown(pages[3]).em and not shown(pages[-1]).em
    assert sum(len(page) for page in pages if shown(page).em) <= MOST_PROSE


def test_a_fence_in_long_prose_does_not_end_it():
    text = "~" * 10 + "\n<b>\n" + "x" * LONGEST_PROSE
    (page,) = neutralize_prose([text])
    assert [each.name for each in shown(page).find_all(True)] == ["pre", "code"]


@given(st.lists(st.sampled_from(PIECES), max_size=30).map("".join))
@settings(max_examples=500, deadline=None)
def test_a_sentence_stays_in_its_element(text):
    page = shown(f"<p><strong>From the grader:</strong> {as_html(text)}</p>")
    assert {each.name for each in page.find_all(True)} <= {"p", "strong", "span"}
    assert all(not each.attrs for each in page.find_all(True))
    assert len(page.find_all("p")) == 1


# Formulas as people write them in notebooks.
HONEST_FORMULAS = [
    r"$\frac{Q K^\top}{\sqrt{d_k}}$, $\tfrac12$, $\dfrac{\partial L}{\partial \theta_i}$ and ${n \choose k}$",
    r"$$\operatorname{softmax}(x)_i = \frac{e^{x_i}}{\sum_{j=1}^{n} e^{x_j}} \quad \text{for all } i$$",
    r"$$\begin{aligned} a &= b \\ &= \left[ \mathbf{x} \boldsymbol{\Sigma}^{-1} y \right] \end{aligned}$$",
    r"\\[ A = \begin{pmatrix} 1 & 0 \\ \vdots & \ddots \end{pmatrix} \in \mathbb{R}^{m \times n} \\]",
    r"$$\begin{array}{c|cc} a & b & c \\ \hline 1 & 2 & 3 \end{array}$$",
    r"$$|x| = \begin{cases} x & \text{if } x \geq 0 \\[4pt] -x & \text{otherwise} \end{cases}$$",
    r"\begin{equation} \label{eq:loss} \mathcal{L} = -\log p_\theta(y \mid x) \tag{2.1} \end{equation}",
    r"\begin{align*} \exp\!\left(-\lVert x \rVert_2^2\right) &\approx \hat{y} \nonumber \end{align*}",
    r"\\( \lim_{n \to \infty} \underbrace{x_1 + \dots + x_n}_{n} \neq \overline{\vec{v}} \\)",
    r"$\int_{-\infty}^{\infty} f(t)\,dt \iff \prod_k \lambda \leq \bigl\lfloor \tfrac{\pi}{2} \bigr\rfloor$",
    r"$\xrightarrow[n]{d} \mathcal{N}(0, \sigma^2), \; \arg\max_x \{ f(x) \}, \; \bar{x} \pm \varepsilon$",
    r"$\mathrm{ReLU}(x) = \max(0, x)$, $A^{\mathsf{T}}$, $\nabla \cdot F$, $a \propto b$, $10\,\%$, $\#$",
]
# Each moves, overlaps or enlarges what it draws, defines or colours it, or names a place in the page.
FORBIDDEN = """
raise lower raisebox smash rule hspace hskip vspace kern mkern mskip mspace Space llap rlap clap mathllap
mathrlap mathclap above abovewithdelims genfrac color textcolor colorbox fcolorbox vcenter moveleft
moveright Huge huge LARGE Large large tiny sideset prescript mathchoice skew uproot leftroot shoveleft
cancel enclose rotatebox scalebox definecolor DeclareMathOperator def let newcommand href url class cssId
style data require unicode char verb bbox mmlToken toggle texttip includegraphics hfil newline
"""


@pytest.mark.parametrize("text", HONEST_FORMULAS)
def test_honest_formulas_are_left_as_they_are(text):
    assert neutralize_markup(text) == text


@pytest.mark.parametrize(
    "formula",
    [rf"\{name}{{20em}}{{x}}" for name in FORBIDDEN.split()]
    + [r"a \above40em b", r"\\raise20em\hbox{x}", r"a\\[40em]b", r"a\\[-40em]b", r"a\\*[ -3.5 em ]b"]
    + [r"a\\[{40em}]b", r"\begin{a}x\end{a}", r"\begin {a}", r"\begin{array}{p{99em}}x\end{array}"]
    + [r"\begin{alignat}", r"\begin", r"\tag{" + "x" * 21 + "}", r"\tag{$x$}", r"\label{<x>}"]
    + [r"\!" * (MOST_BACKWARDS + 1), r"\negthinspace\!" * MOST_BACKWARDS],
)
def test_no_reader_takes_another_command_for_one(formula):
    safe = neutralize_markup(f"${formula}$")
    assert re.search(rf"\\\*?{INVISIBLE_SPACE}", safe)
    assert safe.replace(INVISIBLE_SPACE, "") == f"${formula}$"
    assert set(COMMAND.findall(safe)) <= COMMANDS


@pytest.mark.parametrize("opening", [r"\begin{aligned}", "\\\\[", "\\\\(", r"\left("])
def test_many_openings_without_an_end_are_not_read(opening):
    honest, slow = neutralize_prose([opening * MOST_OPENINGS, opening * (MOST_OPENINGS + 1)])
    assert honest == opening * MOST_OPENINGS
    assert [each.name for each in shown(slow).find_all(True)] == ["pre", "code"]


def test_an_environment_that_no_formula_has_is_none():
    """nbconvert looks from each beginning to the end of the text, and there is none left."""
    (text,) = neutralize_prose([r"\begin{a}" * 2_000])
    assert r"\begin" not in text


def test_a_formula_that_is_nested_too_deep_is_not_read():
    honest, deep = neutralize_prose(
        ["$" + "x^{" * depth + "}" * depth + "$" for depth in (DEEPEST, DEEPEST + 1)]
    )
    assert shown(honest).p and not shown(deep).p


def test_long_runs_of_blanks_are_cut():
    assert neutralize_markup("a" + " " * 20_000 + "b") == "a" + " " * 100 + "b"
    assert neutralize_markup("a" + " \t" * 10_000 + "b") == "a" + " \t" * 50 + "b"
    table = f"| a |{' ' * 60}b |"
    assert neutralize_markup(table) == table
