"""Parts of help as the learner reads them."""

import pytest

from nbjudge.authoring import Exercise, case
from nbjudge.calls import Answer
from nbjudge.tutor.help import markdown_part, show_case
from nbjudge.tutor.smallest import Difference


@pytest.mark.parametrize(
    ("markdown", "shown"),
    [
        (r"divide by $\sqrt{d_k}$, then mask with $-\infty$", "divide by √(d_k), then mask with -∞"),
        (r"$\sum_j w_j M x_j$ with one $M$", "∑_j w_j M x_j with one M"),
        (r"the score is $q \cdot k$", "the score is q · k"),
        ("`x[..., 0::2]` costs nothing", "`x[..., 0::2]` costs nothing"),
    ],
)
def test_formulas_are_unicode(markdown, shown):
    assert markdown_part(markdown, "").text == shown


def test_a_number_as_a_key_is_told_from_its_text():
    counts = Exercise("count", results=("counts",))
    given, right = (Answer("value", value={key: 2, "of all": 5}) for key in ("0", 0))
    (part,) = show_case(counts, len, Difference(case([7, 7]), given, right))
    assert part.text.endswith("# yours\n'0': 2\nof all: 5\n\n# right\n0: 2\nof all: 5")
