"""The mistakes that the grader can name in the order of sums and norms in a `TransformerBlock`."""

from .transformer_block import Right, transformer_block


@transformer_block.mistake(
    "This is pre-norm: the norms come before attention and feed-forward, as in GPT-2. BERT is post-norm: "
    "compute, add, then normalise the sum."
)
class PreNorm(Right):
    def first(self, x, mask):
        return x + self.attend(self.norm1(x), mask)

    def second(self, x):
        return x + self.feed_forward(self.norm2(x))


@transformer_block.mistake(
    "The norm is applied before the sum: x + norm(attention(x)). Add first, then normalise the sum, in both "
    "halves."
)
class NormBeforeTheSum(Right):
    def first(self, x, mask):
        return x + self.norm1(self.attend(x, mask))

    def second(self, x):
        return x + self.norm2(self.feed_forward(x))


@transformer_block.mistake(
    "The first residual is missing: the attention's output replaces `x` instead of being added to it."
)
class NoFirstResidual(Right):
    def first(self, x, mask):
        return self.norm1(self.attend(x, mask))


@transformer_block.mistake(
    "The second residual is missing: the feed-forward output replaces its input instead of being added to it."
)
class NoSecondResidual(Right):
    def second(self, x):
        return self.norm2(self.feed_forward(x))


@transformer_block.mistake(
    "Both residuals are missing: each half replaces its input. Add the input to the output of the half, then "
    "normalise."
)
class NoResiduals(Right):
    def first(self, x, mask):
        return self.norm1(self.attend(x, mask))

    def second(self, x):
        return self.norm2(self.feed_forward(x))


@transformer_block.mistake(
    "The second residual adds the block's own input. It should add what the second half was given: the "
    "result of `norm1`."
)
class SecondResidualFromTheInput(Right):
    def forward(self, x, mask=None):
        return self.norm2(x + self.feed_forward(self.first(x, mask)))


@transformer_block.mistake(
    "The second residual adds the sum from before `norm1`. It should add what the second half was given: the "
    "result of `norm1`."
)
class SecondResidualFromTheSum(Right):
    def forward(self, x, mask=None):
        added = x + self.attend(x, mask)
        return self.norm2(added + self.feed_forward(self.norm1(added)))


@transformer_block.mistake(
    "The feed-forward part reads the block's input. It comes after the attention: its input is the result of "
    "`norm1`."
)
class FeedForwardBesideTheAttention(Right):
    def forward(self, x, mask=None):
        return self.norm2(self.first(x, mask) + self.feed_forward(x))


@transformer_block.mistake("The last norm is missing. Apply `norm2` to the sum after the feed-forward part.")
class NoSecondNorm(Right):
    def second(self, x):
        return x + self.feed_forward(x)


@transformer_block.mistake("The sum after the attention is not normalised. Apply `norm1` to it.")
class NoFirstNorm(Right):
    def first(self, x, mask):
        return x + self.attend(x, mask)


@transformer_block.mistake(
    "The feed-forward part comes first and the attention second. The order is attention, `norm1`, "
    "feed-forward, `norm2`."
)
class FeedForwardFirst(Right):
    def forward(self, x, mask=None):
        x = self.norm2(x + self.feed_forward(x))
        return self.norm1(x + self.attend(x, mask))


@transformer_block.mistake(
    "The feed-forward part is missing: after `norm1` come `linear1`, GELU, `linear2`, a sum and `norm2`."
)
class NoFeedForward(Right):
    def second(self, x):
        return self.norm2(x)
