"""The exercise `RMSNorm`, and the mistakes it can name."""

import torch
import torch.nn as nn

from attention_lab.authoring import FLOATS, RMS_NORM, Exercise, add_mistakes, build, case

from .layers import ModelDraw, Norm

rms_norm = Exercise(
    "RMSNorm",
    results=("output",),
    axes=(("batch", "tokens", "embedding"),),
    not_allowed=(RMS_NORM,),
    draw=ModelDraw,
)


def _case(draw, *shape, dtype=torch.float32, size=1.0, gradients=False, eps=None):
    given = {} if eps is None else {"eps": eps}
    state = {"weight": draw.normal(shape[-1], dtype=dtype)}
    norm = build(shape[-1], state=state, double=dtype == torch.float64, **given)
    return case(draw.normal(*shape, dtype=dtype) * size, build=norm, gradients=gradients)


@rms_norm.group("one weight for each number, ones at first, and nothing else in its state_dict", points=0.5)
def parameters(draw):
    *widths, length = draw.sizes(3)
    for width in widths:
        yield case(build=build(width, look=("parameters", "buffers", "state")))
    yield case(draw.normal(length, width), build=build(width))


@rms_norm.group("texts in a batch, in both dtypes", points=2)
def batches(draw):
    for dtype in (torch.float32, *FLOATS):
        yield _case(draw, *draw.sizes(3), dtype=dtype, size=256.0)  # eps is not this group's subject


@rms_norm.group("fewer and more axes, equal sizes, a width of 1", points=1)
def axes(draw):
    sizes, (size,) = draw.sizes(4), draw.sizes(1)
    for shape in (sizes[:1], sizes[:2], sizes, (size, size), (size, size, size), (size, 1), (1, 1, size)):
        yield _case(draw, *shape, size=256.0)  # nor this one's


@rms_norm.group("inputs of small size: eps, and its place", points=1.5)
def small(draw):
    for size, eps in ((2.0**-9, None), (2.0**-14, None), (2.0**-9, 1e-3), (2.0**-20, 1e-12), (2.0**-5, 0.5)):
        yield _case(draw, *draw.sizes(3), dtype=torch.float64, size=size, eps=eps)
    width, length = draw.sizes(2)
    state = {"weight": draw.normal(width, dtype=torch.float64)}
    x = draw.normal(length, width, dtype=torch.float64) * 2.0**-9
    yield case(x, build=build(width, 1e-4, state=state, double=True))


@rms_norm.group("gradients, those of a token of zeros as well", points=1)
def gradients(draw):
    for dtype in FLOATS:
        yield _case(draw, *draw.sizes(3), dtype=dtype, gradients=True)
    drawn = _case(draw, *draw.sizes(3), dtype=torch.float64, gradients=True)
    drawn.args[0][draw.integer(0, 6), draw.integer(0, 6)] = 0.0
    yield drawn


@rms_norm.accepted_alternative(
    "A mean of squares is a squared length over E. (A sketch: `Norm` does the rest.)"
)
class ByTheLength(Norm):
    def size(self, x):
        return torch.linalg.vector_norm(x, dim=-1, keepdim=True).square() / x.shape[-1]


@rms_norm.accepted_alternative
class WithAFunction(nn.Module):
    def __init__(self, embed_dim, eps=1e-5):
        super().__init__()
        self.embed_dim, self.variance_epsilon = embed_dim, eps
        self.register_parameter("weight", nn.Parameter(torch.empty(embed_dim)))
        nn.init.ones_(self.weight)

    def _norm(self, x):
        return x * torch.rsqrt((x * x).sum(dim=-1, keepdim=True) / self.embed_dim + self.variance_epsilon)

    def forward(self, x):
        return self._norm(x).type_as(x) * self.weight


add_mistakes(
    rms_norm,
    Norm,
    WithBias=(
        "There is a `bias`, as in LayerNorm. RMSNorm has a weight only: leave it out.",
        {
            "set_up": lambda self, count: (
                Norm.set_up(self, count),
                self.register_parameter("bias", nn.Parameter(torch.zeros(count))),
            ),
            "weighted": lambda self, normalised: normalised * self.weight + self.bias,
        },
    ),
    PlainTensor=(
        "`weight` is a plain tensor: it is not trained, saved or loaded. Make it an nn.Parameter.",
        {"set_up": lambda self, count: setattr(self, "weight", torch.ones(count))},
    ),
    ZerosAtFirst=(
        "The weight begins at 0, so a new layer returns zeros. Let it begin at 1.",
        {"set_up": lambda self, count: setattr(self, "weight", nn.Parameter(torch.zeros(count)))},
    ),
    MeanSubtracted=(
        "The mean is subtracted: this is a LayerNorm without a bias. RMSNorm leaves the mean where it is.",
        {"forward": lambda self, x: Norm.forward(self, x - x.mean(-1, keepdim=True))},
    ),
    Variance=(
        "The divisor is the standard deviation, around the mean. Take the root of the mean of the squares.",
        {"size": lambda self, x: x.var(-1, correction=0, keepdim=True)},
    ),
    SampleVariance=(
        "The divisor is the standard deviation of a sample, around the mean and with E − 1. Take the root of "
        "the mean of the squares.",
        {"size": lambda self, x: x.var(-1, keepdim=True)},
    ),
    Std=(
        "The divisor is what `std` gives, with `eps` added. Take the root of the mean square and `eps`.",
        {"divisor": lambda self, x: x.std(-1, keepdim=True) + self.eps},
    ),
    EpsOutside=(
        "`eps` is added to the root, and belongs under it: to the mean of the squares.",
        {"divisor": lambda self, x: torch.sqrt(self.size(x)) + self.eps},
    ),
    EpsAsTheLeast=(
        "`eps` is a lower limit of the mean of the squares, and should be added to it.",
        {"divisor": lambda self, x: torch.sqrt(self.size(x).clamp(min=self.eps))},
    ),
    NoEps=(
        "`eps` is not used, so a token of zeros becomes NaN. Add it to the mean of the squares.",
        {"divisor": lambda self, x: torch.sqrt(self.size(x))},
    ),
    EpsIgnored=(
        "`eps` is always 1e-5, whatever is asked for. Use the argument.",
        {"__init__": lambda self, embed_dim, eps=1e-5: Norm.__init__(self, embed_dim)},
    ),
    MillionthByDefault=(
        "Without `eps`, 1e-6 is used, as in some other models. The default of this layer is 1e-5.",
        {"__init__": lambda self, embed_dim, eps=1e-6: Norm.__init__(self, embed_dim, eps)},
    ),
    EpsilonOfTheDtype=(
        "Without `eps`, a much smaller number than 1e-5 is used. The default of this layer is 1e-5.",
        {"__init__": lambda self, embed_dim, eps=1e-8: Norm.__init__(self, embed_dim, eps)},
    ),
    NoWeight=(
        "`weight` is made and not used. Multiply the normalised numbers by it.",
        {"weighted": lambda self, normalised: normalised},
    ),
    OverTheTokens=(
        "The mean is taken over tokens or texts. Take one for each token, over its E numbers: the last axis.",
        {"size": lambda self, x: x.square().mean(-2 if x.dim() > 1 else -1, keepdim=True)},
    ),
    OverEverything=(
        "One mean is taken for many tokens. Take one for each token, over the last axis only.",
        {"size": lambda self, x: x.square().mean()},
    ),
    SumOfTheSquares=(
        "The squares are added up, not averaged: every token gets length 1. Take their mean.",
        {"size": lambda self, x: x.square().sum(-1, keepdim=True)},
    ),
    NoRoot=(
        "The tokens are divided by the mean of the squares itself. Take its root.",
        {"divisor": lambda self, x: self.size(x) + self.eps},
    ),
    DivisorDetached=(
        "The numbers are right, the gradient is not: the root mean square left the graph. Leave it in.",
        {"divisor": lambda self, x: Norm.divisor(self, x).detach()},
    ),
    WritesIntoX=(
        "The result is right, but x was written into, perhaps by `/=`. Make a new tensor.",
        {"forward": lambda self, x: (lambda y: (x.data.copy_(y), y)[1])(Norm.forward(self, x))},
    ),
)
