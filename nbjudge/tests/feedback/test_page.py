"""The page of a graded notebook: the table, the verdicts, what was written, and what is not shown."""

import re

import marked_cells
import nbformat
import pytest
from feedback_pages import ALL, FRAME, Seen
from traitlets.config import Config

from nbjudge.cell_metadata import Origin, mark_origin
from nbjudge.feedback.feedback_exporter import NAME, TEMPLATES, FeedbackExporter
from nbjudge.feedback.page import LONGEST_TEXT
from nbjudge.judge.verdict import Finding, GroupVerdict, Verdict
from nbjudge.record.graded_cell import Status, write_cell_status, write_verdict

SECRET = "okapi"
ABOUT = {"notebook": "tiny", "assignment": "01_tiny", "student": "ada", "late_penalty": 0.0}


def text(source, **marks):
    cell = nbformat.v4.new_markdown_cell(source)
    return marked_cells.marked(cell, marks.pop("name"), **marks) if marks else cell


def code(source, *outputs, is_own=False, name="", **marks):
    cell = marked_cells.code(source, name, **marks)
    cell.outputs = list(outputs)
    if is_own:
        mark_origin(cell, Origin.STUDENT)
    return cell


def printed(content):
    return nbformat.v4.new_output("stream", name="stdout", text=content)


def answer(name, source="def f(): pass", *outputs, **marks):
    return code(source, *outputs, name=name, solution=True, **marks)


def judged(verdict, *outputs, score=None):
    marks = {"points": verdict.max_points, "score": verdict.points if score is None else score}
    name = f"test_{verdict.exercise}"
    cell = code("assert visible()", *outputs, name=name, grade=True, locked=True, **marks)
    write_verdict(cell, verdict)
    return cell


def half_right(name="softmax"):
    groups = (GroupVerdict("large scores", 2, False), GroupVerdict("one row", 1, True))
    finding = Finding("`exp` overflows.", "overflow", "Called with (22, 21): yours begins [nan, nan].")
    return Verdict(name, 7, groups, (finding, Finding("Rows do not sum to 1.")))


def page(*cells, config=None, about=ABOUT, **metadata):
    """The page of these cells, as `GetGrades` would have them."""
    notebook = nbformat.v4.new_notebook(cells=list(cells), metadata=metadata)
    marks = [cell.metadata.get("nbgrader", {}) for cell in cells]
    score, max_score = (sum(mark.get(name, 0) for mark in marks) for name in ("score", "points"))
    about = {"score": score, "max_score": max_score} | about
    exporter = FeedbackExporter(config=config or Config(), preprocessors=[])
    html, _ = exporter.from_notebook_node(notebook, {"nbgrader": about, "metadata": {"path": ""}})
    assert Seen(html).harm(FRAME) == []
    return html


def sections(html):
    """The text of each panel, by the exercise that a link of the table leads to."""
    parts = html.split(' id="exercise-')[1:]
    return [Seen("<p " + part.split("</section>")[0]).text for part in parts]


def table(html):
    rows = html.split('<table class="exercises">')[1].split("</table>")[0].split("<tr")[2:]
    return [Seen("<tr" + row).text for row in rows]


def test_the_table_has_points_sentences_and_links():
    html = page(
        text("# Lesson\n\n## Exercise 1 · `softmax`"),
        answer("softmax"),
        judged(half_right()),
        judged(Verdict("score", 7, (GroupVerdict("all", 4, True),))),
    )
    assert table(html) == ["Exercise 1 · softmax 1 of 3 exp overflows.", "score 4 of 4 Right in every case."]
    seen = Seen(html)
    links = {given["href"][1:] for tag, given in seen.elements if tag == "a"} - {"top"}
    assert links == {given["id"] for _, given in seen.elements if "id" in given} - {"top"}
    assert "<title>Lesson: 5 of 7 points</title>" in html


def test_a_verdict_shows_findings_and_groups():
    (panel,) = sections(page(answer("softmax"), judged(half_right(), printed("a print of mine"))))
    assert "softmax: 1 of 3 points" in panel
    told = ("exp overflows.", "yours begins [nan, nan].", "Rows do not sum to 1.", "a print of mine")
    assert all(expected in panel for expected in told)
    assert "✗ large scores 0 of 2 ✓ one row 1 of 1" in panel and "by hand" not in panel
    assert "overflow " not in panel.replace("overflows", "")  # the mistake's own name is the grader's
    (panel,) = sections(page(judged(half_right(), score=2.5)))
    assert "softmax: 2.5 of 3 points" in panel
    assert "given by hand; by the groups alone they would be 1 of 3" in panel


def test_a_written_answer_shows_its_marking():
    scheme = "### BEGIN MARK SCHEME\n- 1 point for the reason\n### END MARK SCHEME"
    question = f"## Question · why?\n\n{scheme}\n\nSay it."
    marks = {"grade": True, "solution": True, "points": 3}
    html = page(
        text(question, name="ask", locked=True),
        text("# Because\n\nof $x^2$.", name="why", score=2, comment="Well *put*.", **marks),
        text("", name="other", score=0, needs_marking=True, **marks),
    )
    assert table(html) == [
        "Question · why? 2 of 3 Well *put*.",
        "Question · why? ? of 3 Not marked yet: a person reads this one.",
    ]
    first, second = sections(html)
    assert "Comment Well put." in first and "<math" in html
    assert "Nothing was written here." in second
    assert "1 answer is not marked yet" in Seen(html).text
    scheme = html.split('<details class="scheme">')[1].split("</details>")[0]
    assert "1 point for the reason" in scheme and html.count("1 point for the reason") == 1
    assert "MARK SCHEME" not in html


def test_penalty_and_graders_note_are_on_top():
    record = {"reason": "", "note": "The file '<b>x</b>.ipynb' was taken for it."}
    html = page(judged(half_right()), about=ABOUT | {"late_penalty": 1.5}, nbjudge=record)
    assert table(html)[-1] == "Handed in late −1.5 Taken off the sum."
    assert "From the grader: The file '<b>x</b>.ipynb' was taken for it." in Seen(html).text


def test_what_is_new_to_the_student_is_not_folded():
    """Nor is what was asked, and what stopped."""
    stopped = nbformat.v4.new_output(
        "error", ename="E", evalue="v", traceback=["\x1b[31mTraceback\x1b[0m", "E: v"]
    )
    cells = [text("# Lesson"), code("given = 1"), code("it = stops", stopped), code("mine = 1", is_own=True)]
    cells += [text("## Asked"), answer("softmax"), judged(half_right()), text("## Farewell")]
    html = page(*cells)
    folded = [Seen(part.split("</details>")[0]).text for part in html.split('<details class="section">')[1:]]
    assert [part.split()[2] for part in folded] == ["Lesson", "Farewell"]
    assert "given = 1" in folded[0] and "Farewell" in folded[1]
    for shown in ("it = stops", "mine = 1", "## Asked", "def f()"):
        assert shown not in " ".join(folded)
    assert "Traceback E: v" in Seen(html).text and "\x1b" not in html
    unfolded = Config({"FeedbackExporter": {"fold_assignment": False}})
    assert 'class="section"' not in page(*cells, config=unfolded)


DELIMITERS = {"begin_test_delimeter": "#<", "end_test_delimeter": "#>"}


@pytest.mark.parametrize(
    ("begins", "ends", "options"),
    [
        ("### BEGIN HIDDEN TESTS", "### END HIDDEN TESTS\n", {}),
        ("### BEGIN HIDDEN TESTS", "", {}),
        ("#< secret", "#>\nb = 2", {"ClearHiddenTests": DELIMITERS}),
    ],
)
def test_hidden_tests_and_their_errors_are_cut_out(begins, ends, options):
    source = f"assert seen()\n{begins}\nassert {SECRET} == 1\n{ends}"
    lines = ["Traceback", f"----> 3 assert {SECRET} == 1", "AssertionError: one was asked for"]
    failed = nbformat.v4.new_output(
        "error", ename="AssertionError", evalue="one was asked for", traceback=lines
    )
    cell = code(source, failed, name="test_x", grade=True, locked=True, points=2, score=0)
    html = page(cell, config=Config(options))
    (panel,) = sections(html)
    assert SECRET not in html and "HIDDEN" not in html and ("b = 2" in panel) == ("b = 2" in ends)
    assert "assert seen()" in panel and "AssertionError: one was asked for" in panel


GENERATED = "cell-301dfffb09af00{}"  # an id that nbgrader made
VISIBLE, HIDDEN = "assert f(1)", f"### BEGIN HIDDEN TESTS\nassert {SECRET}()\n### END HIDDEN TESTS"
BOTH = f"{VISIBLE}\n{HIDDEN}"
LONG = "This cell took too long and was stopped (limit: 30 s)."


def failing(line, name="AssertionError", words=""):
    arrow = f"\x1b[32m----> \x1b[39m\x1b[32m{line}\x1b[39m assert"
    trace = ["\x1b[31mTraceback\x1b[0m", arrow, f"{name}: {words}"]
    return nbformat.v4.new_output("error", ename=name, evalue=words, traceback=trace)


@pytest.mark.parametrize(
    ("source", "output", "sentence", "panel"),
    [
        (BOTH, failing(1, words="one"), "Its cell shows what happened.", "AssertionError: one"),
        (
            BOTH,
            failing(3, words="two"),
            "A test that is not shown here failed: two",
            "failed: AssertionError: two",
        ),
        (HIDDEN, failing(2), "A test that is not shown here failed.", "failed: AssertionError"),
        (BOTH, failing(1, "KeyboardInterrupt", LONG), LONG, LONG),
        (
            VISIBLE,
            nbformat.v4.new_output("stream", name="stderr", text="12 of 12"),
            "The test printed to stderr (an error or a warning), which counts as a failed test.",
            "12 of 12",
        ),
    ],
)
def test_the_reason_of_a_failed_test_is_said(source, output, sentence, panel):
    """A test of the course's own says why it lost points: hidden, too slow, or printed to stderr."""
    cell = code(source, output, name=GENERATED.format("01"), grade=True, locked=True, points=2, score=0)
    if LONG in sentence:
        write_cell_status(cell, Status.TIMED_OUT)
    html = page(text("# Week 1"), text("## 1. Means"), cell)
    assert table(html) == [f"1. Means 0 of 2 {sentence}"]
    (shown,) = sections(html)
    assert panel in shown and (sentence in shown) == (sentence != "Its cell shows what happened.")
    assert SECRET not in html and ("AssertionError: two" in shown) == ("two" in panel)


def test_generated_ids_give_way_to_headings():
    """Tests whose ids nbgrader made are named by their heading, numbered, or by their first line."""
    marks = {"grade": True, "locked": True, "points": 1, "score": 1}
    numbers = iter(range(10, 20))

    def cell(source):
        return code(source, name=GENERATED.format(next(numbers)), **marks)

    cells = [text("# Week 1"), cell("# Check `f`\nassert f()"), cell(HIDDEN), text("## 1. Means")]
    cells += [cell("assert g()"), cell("assert h()"), code("assert i()", name="by_name", **marks)]
    html = page(*cells)
    names = [row.partition(" 1 of 1")[0] for row in table(html)]
    assert names == ["Check `f`", "Week 1", "1. Means", "1. Means (2)", "by_name"]


@pytest.mark.parametrize("attack", ALL)
def test_nothing_of_a_student_becomes_markup(attack):
    """`page` itself looks for harm; here it is put wherever a student's words may come to be."""
    kinds = ("text/html", "text/latex", "text/markdown", "text/plain", "application/javascript")
    data = dict.fromkeys((*kinds, "image/svg+xml"), attack) | {"image/png": f'x" onerror="alert(1)" {attack}'}
    finding = Finding(attack, attack, attack + f"`{attack}`")
    evil = Verdict(attack, 7, (GroupVerdict(attack, 1, False),), (finding,))
    own = code(attack, printed(attack), nbformat.v4.new_output("display_data", data=data), is_own=True)
    own.outputs.append(nbformat.v4.new_output("error", ename=attack, evalue=attack, traceback=[attack]))
    own.metadata["anything"] = attack
    picture = {"width": attack, "alt": attack}
    own.outputs[1].metadata |= {"filenames": {"image/png": attack}, "image/png": picture}
    cells = [text(f"# {attack}"), own, text(attack), nbformat.v4.new_raw_cell(attack)]
    cells += [answer(attack, attack, printed(attack), comment=attack), judged(half_right()), judged(evil)]
    cells += [text(attack, name=attack, grade=True, solution=True, points=1, score=0, comment=attack)]
    about = dict.fromkeys(("notebook", "assignment", "student"), attack) | {"late_penalty": 0}
    language = {"name": attack, "pygments_lexer": attack}
    html = page(*cells, about=about, nbjudge={"note": attack}, language_info=language)
    assert "ran" in html or "stranger" in html  # it is there to read


def test_another_versions_verdict_is_passed_over():
    cell = judged(half_right())
    cell.metadata["nbjudge"]["verdict"] = {"exercise": "softmax", "groups": 7}
    assert "softmax: 1 of 3 points" in sections(page(cell))[0]


def test_long_output_and_progress_bars_are_cut():
    html = page(code("x", printed("1%\r50%\r100%\r\nthe end" + "y" * 2 * LONGEST_TEXT + "\ud800")))
    assert "100% the end" in Seen(html).text and "50%" not in Seen(html).text
    assert "more characters are left out" in html
    assert html.count("y") < 1.2 * LONGEST_TEXT


def test_every_colour_has_a_value_for_dark_pages():
    """Colours are variables with two values; pictures are on white, and code has a dark style of its own."""
    style = (TEMPLATES / NAME / "page.css").read_text()
    light, dark = (set(re.findall(r"(--[a-z]+):", line)) for line in style.splitlines()[:2])
    assert light == dark
    fixed = re.findall(r"[^\n]*#[0-9a-f]{3,6}\b[^\n]*", "\n".join(style.splitlines()[2:]))
    assert [line.split()[0] for line in fixed] == [".panel:target", ".picture", ".highlight", ".highlight"]


def test_the_page_may_load_nothing():
    html = page(judged(half_right()))
    metas = [given for tag, given in Seen(html).elements if "Security" in given.get("http-equiv", "")]
    (policy,) = [given["content"] for given in metas]
    assert policy.startswith("default-src 'none'; style-src 'sha256-")
    assert "unsafe" not in policy and "http" not in policy
    assert "<script" not in html
