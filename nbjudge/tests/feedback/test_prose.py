"""Text on a feedback page: markdown and formulas as one writes them, and nothing that runs or fetches."""

import base64

import pytest
from any_json import many
from feedback_pages import ALL, FETCHES, SCRIPTS, Seen
from hypothesis import given
from hypothesis import strategies as st

from nbjudge.feedback.prose import LONGEST_PROSE, as_html, as_mathml
from nbjudge.mathml import LONGEST_FORMULA

PIXEL = base64.b64encode(b"no picture, but bytes").decode()
FORGED = r"\text{ALL POINTS: 28 of 28}"
# As they were handed in: here no grader has put anything between a backslash and its command.
OVER_THE_PAGE = [
    rf"\raise{{20em}}{{{FORGED}}}",
    rf"\lower{{20em}}{{{FORGED}}}",
    r"a \above40em b",
    rf"\smash{{\begin{{matrix}}{FORGED} \\ {FORGED} \\ {FORGED} \\ {FORGED}\end{{matrix}}}}",
    rf"\llap{{{FORGED}}}\mathllap{{{FORGED}}}",
    r"\rule{40em}{40em}",
    rf"\hspace{{-40em}}{FORGED}\kern-40em{FORGED}",
    200 * r"\!" + FORGED,
    rf"\genfrac{{}}{{}}{{40em}}{{}}{{a}}{{b}}\color{{red}}{{{FORGED}}}",
    rf"\begin{{matrix}} a \\[-40em] {FORGED} \end{{matrix}}",
]


@pytest.mark.parametrize("attack", ALL)
def test_nothing_in_a_text_does_harm(attack):
    """It runs and fetches nothing, and takes no place of the page's own."""
    for text in (
        attack,
        f"Some words {attack} and more.",
        f"# A heading {attack}",
        f"| {attack} |\n|---|\n| x |",
    ):
        seen = Seen(as_html(text))
        assert seen.harm() == []
        assert not [given for _, given in seen.elements if {"id", "name"} & set(given)]
        assert not [given for _, given in seen.elements if given.get("class", "") == "finding"]


def test_the_net_for_harm_has_no_hole():
    for attack in (*SCRIPTS, *FETCHES):
        assert Seen(attack).harm(), attack


@many
@given(
    st.lists(
        st.sampled_from([*ALL, "$", "$$", "`", "\n\n", "|", "> ", "* ", '"', "<", "&", "\\("]), max_size=12
    )
)
def test_nor_does_any_mixture_of_them(pieces):
    assert Seen(as_html("".join(pieces))).harm() == []


def test_markdown_is_shown_as_in_the_notebook():
    seen = Seen(
        as_html(
            "## Six *of* them\n\n<details><summary>Hint</summary>\n\nUse `exp`.\n\n</details>\n\n"
            "| a | b |\n|---|---|\n| 1 | 2 |\n\n[more](https://example.org)\n\n```python\nx = 1\n```\n"
        )
    )
    tags = [tag for tag, _ in seen.elements]
    inside = tags.index("details")
    assert tags[inside : inside + 4] == ["details", "summary", "p", "code"]
    assert {"h2", "em", "table", "td"} <= set(tags)
    assert ("span", {"class": "n"}) in seen.elements  # code is coloured
    links = [given for tag, given in seen.elements if tag == "a"]
    assert [(given["href"], given["rel"]) for given in links] == [
        ("https://example.org", "noopener noreferrer")
    ]


def test_pictures_beside_the_notebook_come_along(tmp_path):
    folder = tmp_path / "lesson"
    folder.mkdir()
    (folder / "a picture.png").write_bytes(b"beside")
    (tmp_path / "secret.png").write_bytes(b"above")
    (folder / "link.png").symlink_to(tmp_path / "secret.png")
    (folder / "notes.txt").write_bytes(b"no picture")
    names = ("a%20picture.png", "../secret.png", "link.png", "notes.txt", "missing.png")
    names += (str(tmp_path / "secret.png"),)
    names += ("attachment:it.png",)
    attachments = {"it.png": {"image/png": PIXEL}}
    text = "\n".join(f"![{name}]({name})" for name in names)
    html = as_html(text, folder=str(folder), attachments=attachments)
    sources = {given["alt"]: given.get("src") for tag, given in Seen(html).elements if tag == "img"}
    shown = {names[0]: base64.b64encode(b"beside").decode(), names[-1]: PIXEL}
    assert sources == dict.fromkeys(names) | {
        name: f"data:image/png;base64,{content}" for name, content in shown.items()
    }


@pytest.mark.parametrize(
    ("tex", "parts"),
    [
        (r"\sqrt{d_k}", ["msqrt", "msub"]),
        (r"\frac{Q K^\top}{\sqrt{d_k}}", ["mfrac", "msup", "msqrt"]),
        (r"\begin{pmatrix} 1 & 0 \\ 0 & 1 \end{pmatrix}", ["mtable", "mtr", "mtd"]),
        (r"\sum_{i=1}^{d} q_i", ["munderover", "msub"]),
    ],
)
def test_formulas_are_drawn_by_the_browser(tex, parts):
    tags = [tag for tag, _ in Seen(as_html(f"Then ${tex}$ holds.\n\n$$\n{tex}\n$$\n")).elements]
    assert tags.count("math") == 2
    assert set(parts) <= set(tags)
    assert Seen(as_html(f"$$ {tex} $$")).elements[1] == ("math", {"display": "block"})


TRIPS_THE_READER = ["x" * (LONGEST_PROSE + 1), "> " * 20_000 + "x", "[" * 5_000 + "x"]
NO_FORMULAS = ["x_1_2", r"\begin{pmatrix}", "{" * 3_000, "x" * (LONGEST_FORMULA + 1), r"\def\a{\a}\a"]


@pytest.mark.parametrize("text", [*TRIPS_THE_READER, *NO_FORMULAS], ids=range(8))
def test_what_cannot_be_read_is_shown_as_written(text):
    if text in NO_FORMULAS:
        assert text in Seen(as_mathml(text)).text
    else:
        assert "x" in Seen(as_html(text)).text


@pytest.mark.parametrize("formula", OVER_THE_PAGE)
def test_a_formulas_lengths_are_small(formula):
    for tag, attributes in Seen(as_mathml(formula)).elements:
        assert tag != "mpadded"
        assert not {"voffset", "height", "depth", "style", "mathcolor"} & attributes.keys()
        assert all("40" not in value for value in attributes.values())


def test_what_honest_formulas_need_is_kept():
    mathml = as_mathml(
        r"\big( \binom{n}{k} \not= \begin{split} a &= b \end{split} \quad \displaystyle \sum x"
    )
    given = [given for _, given in Seen(mathml).elements]
    assert {"minsize": "1.2em", "maxsize": "1.2em"} in given and {"linethickness": "0"} in given
    assert {"width": "1em"} in given and {"width": "0"} in given
    assert {"displaystyle": "true", "columnspacing": "0em", "rowspacing": "3pt"} in given
