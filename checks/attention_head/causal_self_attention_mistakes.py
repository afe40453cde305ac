"""The mistakes that the grader can name in `CausalSelfAttention`."""

import torch.nn as nn

from attention_lab.authoring import add_mistakes

from .causal_self_attention import _Layer, causal_self_attention


@causal_self_attention.mistake(
    "`mask` is a plain attribute: `buffers()` does not list it, and it stays behind when the module moves to "
    "another device. Register it as a buffer."
)
class mask_is_a_plain_attribute(_Layer):
    def keep(self, mask):
        self.mask = mask


@causal_self_attention.mistake(
    "`mask` is a parameter: an optimizer is given it, and a count of the parameters includes it. It is "
    "not to be trained: register it as a buffer."
)
class mask_is_a_parameter(_Layer):
    def keep(self, mask):
        self.mask = nn.Parameter(mask, requires_grad=False)


add_mistakes(
    causal_self_attention,
    _Layer,
    mask_of_floats=(
        "The buffer `mask` holds floats, so it follows every change of dtype and needs a comparison at each "
        "call. A mask is True or False: make it boolean before you register it.",
        {
            "table": lambda self, mask: mask.float(),
            "seen": lambda self, length: _Layer.seen(self, length) != 0,
        },
    ),
    mask_says_hidden=(
        "Results are right, but the buffer `mask` says True where a query may *not* look. In this course "
        'True means "may attend": on and below the diagonal.',
        {"table": lambda self, mask: ~mask, "seen": lambda self, length: ~_Layer.seen(self, length)},
    ),
    mask_not_sliced=(
        "A text shorter than `block_size` fails: the mask is (block_size, block_size), the scores are (T, "
        "T). Cut the mask to the first T queries and the first T keys at each call.",
        {"seen": lambda self, length: self.mask},
    ),
    mask_upside_down=(
        "`mask` is the wrong way round: the queries see the future and not the past. It should be True on "
        "and below the diagonal, and False above it.",
        {"table": lambda self, mask: mask.T.contiguous()},
    ),
    mask_never_used=(
        "Every query sees the whole text: `mask` exists, but it does not change the scores. Hide the scores "
        "before the softmax, and note that `masked_fill` returns a new tensor, which you have to use.",
        {"weigh": lambda self, scores: scores.softmax(dim=-1)},
    ),
    key_before_query=(
        "The order of the thirds is wrong: your key is made by the rows of `qkv` that belong to the query, "
        "and your query by those of the key. The order is query, key, value.",
        {"thirds": (1, 0, 2)},
    ),
    cut_along_time=(
        "The projection is cut along the tokens instead of the width: a third of the text becomes the query. "
        "Cut the last dimension, which is three times `embed_dim` wide, so that each part keeps all T "
        "tokens.",
        {"split": lambda self, projected: projected.chunk(3, dim=1)},
    ),
    thirds_interleaved=(
        "The thirds are interleaved: query, key and value each take every third number. They should be three "
        "blocks, one after the other, each `embed_dim` wide.",
        {"split": lambda self, projected: projected.unflatten(-1, (-1, 3)).unbind(dim=-1)},
    ),
    unscaled=(
        "The scores are not scaled, so the weights are too sharp. Queries and keys are `embed_dim` wide "
        "here: divide the scores by the square root of that.",
        {"power": 0},
    ),
    too_long_is_not_refused=(
        "A text longer than `block_size` is not refused: torch stops with an error about sizes, or (if the "
        "block is 1) every token sees all others. Compare T with `block_size` first, and raise a ValueError "
        "whose sentence contains both numbers.",
        {"refuse": lambda self, length: None},
    ),
    too_long_is_cut=(
        "A text longer than `block_size` is silently cut: it loses its last tokens without an error. Raise a "
        "ValueError whose sentence contains both numbers, T and `block_size`.",
        {"forward": lambda self, x: _Layer.forward(self, x[:, : len(self.mask)])},
    ),
    masked_after_the_softmax=(
        "Masked after the softmax: the future has weights of 0, but it had already taken its share, so the "
        "rows of `weights` sum to less than 1. Hide the *scores*, before the softmax.",
        {"weigh": lambda self, scores: scores.softmax(dim=-1) * self.seen(scores.shape[-1])},
    ),
    hidden_scores_are_zero=(
        "The future's scores are set to 0 (or multiplied by 0), and a score of 0 is an ordinary score: "
        "exp(0) = 1, so hidden tokens keep their weight. Only a score of minus infinity has an exponential "
        "of 0.",
        {"fill": 0.0},
    ),
    fixed_low_score=(
        "The future gets a fixed low score, such as -1e4, but a visible token may have a score that low: "
        "then they share the weight. Only minus infinity is below every score.",
        {"fill": -1e4},
    ),
)
