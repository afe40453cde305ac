"""Text of a submission is plain: names, messages, prose with its formulas, and the pictures in it."""

import base64
import io
import json
import logging
import re
import traceback
from pathlib import Path

import nbformat
import pytest
from bs4 import BeautifulSoup
from hypothesis import example, given, settings
from hypothesis import strategies as st
from nbconvert.exporters import HTMLExporter
from nbconvert.filters.markdown_mistune import IPythonRenderer, MarkdownWithMath, markdown2html_mistune
from nbconvert.filters.strings import strip_files_prefix
from nbformat import NotebookNode, v4
from tiny_course import written_question

from nbjudge.cell_metadata import recorded_remarks
from nbjudge.errors import CourseError
from nbjudge.feedback import prose
from nbjudge.plain_text import (
    LONGEST_NAME,
    as_html,
    keep_plain,
    plain_line,
    plain_lines,
    shown_name,
    words_of_failure,
)
from nbjudge.submission import read_submission as pictures
from nbjudge.submission.files import Folder, read_handed_in
from nbjudge.submission.merge import (
    COMMANDS,
    DEEPEST,
    INVISIBLE_SPACE,
    LONGEST_LINE,
    LONGEST_PROSE,
    MOST_BACKWARDS,
    MOST_OPENINGS,
    MOST_PROSE,
    merge_submission,
    neutralize_markup,
    shortened_prose,
)
from nbjudge.submission.read_submission import Picture, read_submission

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


HONEST = [
    "*stressed* and **strong**, `code`, R&D, a < b > c, x[0] (y)",
    "- one\n- two\n\n1. first\n2. second\n\n> said\n\n| a | b |\n|---|---|\n| 1 | 2 |",
    "$a < b$, $\\frac{1}{2}$ and $$\\begin{aligned} x &= 1 \\\\ y &= 2 \\end{aligned}$$",
    "[web](https://example.com/a_b?c=d&e=f#g) and [letter](mailto:a@example.com)",
    "[there][1]\n\n[1]: https://example.com",
    "```python\nx = values[0](1)\n```",
]
# Comparisons and indices, and a link that leads to no page.
NO_MARKUP = ["a<b and b>c, x[0](y), [1]: first, ![0]", "[here](javascript:x)"]


@pytest.mark.parametrize("text", [*HONEST, *NO_MARKUP])
def test_honest_prose_reads_as_it_was_written(text):
    written, read = shown(text), shown(neutralize_markup(text))
    words = f"{text}\n" if text in NO_MARKUP else written.get_text().replace(INVISIBLE_SPACE, "")
    assert read.get_text().replace(INVISIBLE_SPACE, "") == words
    if text in HONEST:
        assert {each.name for each in read.find_all(True)} == {each.name for each in written.find_all(True)}


def test_long_prose_is_shown_as_it_is():
    slow = "\\\\[" * LONGEST_PROSE
    (text,) = neutralize_prose([slow])
    (block,) = shown(text).find_all("pre")
    assert block.get_text().replace("\n", "") == slow
    assert max(map(len, text.splitlines())) <= LONGEST_LINE
    pages = list(neutralize_prose(["*short*"] + ["*x* " * 4_000] * 20))
    assert shown(pages[0]).em and shown(pages[3]).em and not shown(pages[-1]).em
    assert sum(len(page) for page in pages if shown(page).em) <= MOST_PROSE


def nested(depth):
    return "$" + "x^{" * depth + "}" * depth + "$"


OPENINGS = (r"\begin{aligned}", "\\\\[", "\\\\(", r"\left(")


@pytest.mark.parametrize(
    ("honest", "slow"),
    [
        *((opening * MOST_OPENINGS, opening * (MOST_OPENINGS + 1)) for opening in OPENINGS),
        (nested(DEEPEST), nested(DEEPEST + 1)),
        ("*x*", "~" * 10 + "\n<b>\n" + "x" * LONGEST_PROSE),  # a fence does not end it
    ],
    ids=[*OPENINGS, "nested", "fence"],
)
def test_prose_that_takes_long_to_read_is_not_read(honest, slow):
    left, shortened = neutralize_prose([honest, slow])
    assert left == honest and not shown(left).pre
    assert [each.name for each in shown(shortened).find_all(True)] == ["pre", "code"]


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


def test_an_environment_that_no_formula_has_is_none():
    """nbconvert looks from each beginning to the end of the text, and there is none left."""
    (text,) = neutralize_prose([r"\begin{a}" * 2_000])
    assert r"\begin" not in text


def test_long_runs_of_blanks_are_cut():
    assert neutralize_markup("a" + " " * 20_000 + "b") == "a" + " " * 100 + "b"
    assert neutralize_markup("a" + " \t" * 10_000 + "b") == "a" + " \t" * 50 + "b"
    table = f"| a |{' ' * 60}b |"
    assert neutralize_markup(table) == table


HOSTILE = "\x1b[2J\x1b]0;title\x07 \x9b31m \u202egnp \u2066x\u2028y \ud800 \x00\r\b"


STACKED = "e" + "\u0301\u0316\u20dd" * 30 + "!"
VIETNAMESE = "Nguye\u0302\u0303n"  # two marks on one letter


@pytest.mark.parametrize(
    ("make", "text", "expected"),
    [
        (shown_name, "tiny (1).ipynb", "'tiny (1).ipynb'"),
        (shown_name, "Zoë's 学生.ipynb", '"Zoë\'s 学生.ipynb"'),
        (plain_lines, "a\r\nb\n\tc", "a\nb\n\tc"),
        (plain_line, "a\r\nb\n\tc", "a b c"),
        # Stacked marks are left out.
        (plain_lines, STACKED, "e\u0301\u0316!"),
        (shown_name, STACKED, repr("e\u0301\u0316!")),
        (plain_lines, VIETNAMESE, VIETNAMESE),
    ],
)
def test_names_and_lines_are_shown(make, text, expected):
    assert make(text) == expected


@pytest.mark.parametrize("make", [plain_line, plain_lines, as_html, shown_name])
def test_no_control_character_is_left(make):
    """Names and lines have an end; the HTML of a text is no markup and no formula."""
    result = make(f"before {HOSTILE} after")
    assert result.isprintable() and "before" in result and "after" in result
    result.encode()
    if make in (plain_line, shown_name):
        assert len(make(f"{'x' * 10**6}\n.ipynb")) < 10 * LONGEST_NAME
    if make is as_html:
        html = make("<b>&lt; $x$ \\(y\\)\n\n*z*")
        assert "&amp;lt;" in html and not [part for part in ("<b>", "\n", "$x$", "\\(") if part in html]


def test_a_log_that_is_kept_plain_shows_text_only():
    """An error of ours is its sentence, without a traceback."""
    stream, log = io.StringIO(), logging.Logger("nbgrader")
    log.addHandler(logging.StreamHandler(stream))
    keep_plain(log)
    keep_plain(log)
    assert len(log.filters) == 1
    log.warning("%s: no 100%% of it", HOSTILE)
    for error in (ValueError(HOSTILE), CourseError("Fix the course."), ValueError("something")):
        try:
            raise error
        except Exception:
            log.error(traceback.format_exc())
    output = stream.getvalue()
    assert output.replace("\n", "").isprintable()
    assert "no 100% of it" in output and output.count("Traceback") == 2
    assert "\nFix the course.\nTraceback" in output and output.endswith("ValueError: something\n\n")
    assert words_of_failure("Traceback\n  x\nValueError: something") == "ValueError: something"


PNG = base64.b64decode(
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
)
TEXT = base64.b64encode(PNG).decode()
BIG = base64.b64encode(PNG + bytes(2000)).decode()
SHOWN = f"data:image/png;base64,{TEXT}"
SVG = base64.b64encode(b"<svg xmlns='http://www.w3.org/2000/svg'><script>x()</script>" + b" " * 99).decode()


def answer(text: str, attachments: object = None) -> NotebookNode:
    cell = written_question() | {"source": f"Because.\n\n{text} It follows."}
    return nbformat.from_dict(cell if attachments is None else cell | {"attachments": attachments})


def merged(folder: Path, *cells: NotebookNode) -> NotebookNode:
    """The notebook that is graded of one with these cells; a picture is beside it."""
    form = v4.new_notebook(cells=[written_question()])
    (folder / "p.ipynb").write_text(json.dumps({"cells": cells, "nbformat": 4, "nbformat_minor": 5}))
    (folder / "by hand").mkdir(exist_ok=True)
    (folder / "by hand/d.PNG").write_bytes(PNG)
    handed_in = read_handed_in(Folder(folder), ["p.ipynb"])
    submission = read_submission(handed_in, "p.ipynb", {"why": form.cells[0]})
    assert submission.reason == ""
    return merge_submission(form, submission.cells)


@pytest.mark.parametrize(
    ("text", "attachments"),
    [
        ("![the steps](attachment:a.png)", {"a.png": {"image/png": TEXT}}),
        ("![](attachment:my%20steps.png 'title')", {"my steps.png": {"image/png": [TEXT[:9], TEXT[9:]]}}),
        ('<img width="9" src="attachment:a.png"/>', {"a.png": {"image/jpeg": TEXT}}),
        ("see ![steps <b>](attachment:a) and", {"a": {"image/png": TEXT}, "b": {"image/png": 3}, "c": None}),
        (f"![image.png]({SHOWN})", None),
        (f"<IMG src='{SHOWN}'>", "nothing"),
        ("![](by%20hand/d.PNG)", {}),
    ],
    ids=["attachment", "encoded", "element", "in a sentence", "data", "data in an element", "file"],
)
def test_a_picture_in_an_answer_is_shown(tmp_path, text, attachments):
    """In the page that nbgrader's formgrader makes, too, and the sentences around it stay."""
    notebook = merged(tmp_path, answer(text, attachments))
    nbformat.validate(notebook)
    assert recorded_remarks(notebook) == [] and len(notebook.cells[0].source) < 200
    page = BeautifulSoup(HTMLExporter().from_notebook_node(notebook)[0], "html.parser").body
    html = prose.as_html(notebook.cells[0].source, notebook.cells[0].attachments)
    for each in (page, BeautifulSoup(html, "html.parser")):
        assert [picture["src"] for picture in each.find_all("img")] == [SHOWN]
        assert "Because." in each.get_text() and "It follows." in each.get_text()


@pytest.mark.parametrize(
    ("text", "attachments", "remark"),
    [
        ("![](attachment:a.svg)", {"a.svg": {"image/svg+xml": SVG}}, "'a.svg' (it is no PNG"),
        ("![](attachment:a.png)", {"a.png": {"image/png": SVG}}, "'a.png' (it is no PNG"),
        ("![](attachment:big)", {"big": {"image/png": BIG}}, "'big' (it has more than"),
        ("![](attachment:a.png)", {}, "'a.png' (no such picture"),
        (f"![](data:image/svg+xml;base64,{SVG})", {}, "data in the text (it is no PNG"),
        ("![](/etc/passwd) ![](../p.ipynb)", {}, "(no such picture"),
        ("![](https://example.com/a.png)", {}, None),
        (f"![][1]\n\n[1]: <data:image/png;base64,{'A' * 3_000_000}>", {}, None),
    ],
    ids=["svg", "another type", "large", "missing", "svg data", "elsewhere", "web", "long data"],
)
def test_a_picture_that_is_not_shown_is_named(tmp_path, monkeypatch, text, attachments, remark):
    monkeypatch.setattr(pictures, "LARGEST_PICTURE", 1000)
    notebook = merged(tmp_path, answer(text, attachments))
    assert [remark in each for each in recorded_remarks(notebook)] == [True] * bool(remark)
    source = notebook.cells[0].source
    assert source.startswith("Because.") and source.endswith("It follows.") and len(source) < 300
    assert "attachments" not in notebook.cells[0]


def test_pictures_of_one_name_in_two_cells_stay_apart(tmp_path):
    contents = [base64.b64encode(PNG + end).decode() for end in (b"1", b"2")]
    attached = [{"image.png": {"image/png": content}} for content in contents]
    notebook = merged(tmp_path, *(answer("![](attachment:image.png)", each) for each in attached))
    html = prose.as_html(notebook.cells[0].source, notebook.cells[0].attachments)
    assert [html.count(content) for content in contents] == [1, 1]


def test_all_pictures_together_have_a_limit(tmp_path, monkeypatch):
    """A file that is shown in thousands of cells would make a notebook of gigabytes."""
    monkeypatch.setattr(pictures, "ALL_PICTURES", 2 * len(PNG))
    own = [v4.new_markdown_cell("![](<by%20hand/d.PNG>)") for _ in range(3)]
    notebook = merged(tmp_path, answer("No."), *own)
    assert sum("attachments" in cell for cell in notebook.cells) == 2
    assert len(recorded_remarks(notebook)) == 1


PICTURES = [*PIECES, "![x](attachment:a)", "<img src=attachment:a>"]


@given(st.lists(st.sampled_from(PICTURES), max_size=20).map("".join))
@settings(max_examples=300, deadline=None)
def test_beside_its_picture_prose_is_no_more_than_text(text):
    picture = Picture(PNG)
    renderer = IPythonRenderer(attachments={picture.name: picture.as_attachment()}, exclude_anchor_links=True)
    source = neutralize_markup(text, {"attachment:a": picture})
    page = BeautifulSoup(MarkdownWithMath(renderer=renderer).render(source), "html.parser")
    for each in page.find_all("img"):
        assert each["src"] == SHOWN and each.attrs.keys() <= {"src", "alt"}
        each.decompose()
    assert what_is_more_than_text(page) == []
