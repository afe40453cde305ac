"""Parts of help as the learner reads them."""

import pytest

from nbjudge.tutor.help import markdown_part


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
