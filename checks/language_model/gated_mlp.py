"""The exercise `GatedMLP`, and the mistakes it can name."""

import torch
import torch.nn as nn
import torch.nn.functional as F

from attention_lab.authoring import FLOATS, SUMS_OF_PRODUCTS, Exercise, add_mistakes, build, case

from .layers import MLP, ModelDraw

gated_mlp = Exercise(
    "GatedMLP",
    results=("output",),
    axes=(("batch", "tokens", "embedding"),),
    tolerance=SUMS_OF_PRODUCTS,
    draw=ModelDraw,
)


def _layer(draw, embed_dim, hidden_dim, double=False):
    state = {f"{name}.weight": draw.linear(hidden_dim, embed_dim) for name in ("gate", "up")}
    state["down.weight"] = draw.linear(embed_dim, hidden_dim)
    return build(embed_dim, hidden_dim, state=state, double=double)


def _case(draw, *shape, hidden_dim, dtype=torch.float32, size=1.0, gradients=False):
    layer = _layer(draw, shape[-1], hidden_dim, dtype == torch.float64)
    return case(draw.normal(*shape, dtype=dtype) * size, build=layer, gradients=gradients)


@gated_mlp.group("its three weights, and nothing else in its state_dict", points=0.5)
def parameters(draw):
    yield case(build=build(*draw.sizes(2), look=("parameters", "buffers")))


@gated_mlp.group("texts in a batch, in both dtypes", points=2)
def batches(draw):
    for dtype in FLOATS:
        *shape, hidden_dim = draw.sizes(4)
        yield _case(draw, *shape, hidden_dim=hidden_dim, dtype=dtype, size=2.0)


@gated_mlp.group("fewer and more axes, equal sizes, widths of 1, large numbers", points=1)
def axes(draw):
    size, *sizes, hidden_dim = draw.sizes(6)
    for shape in (sizes[:1], sizes[:2], sizes, (1, 1, sizes[0])):
        yield _case(draw, *shape, hidden_dim=hidden_dim)
    yield _case(draw, size, size, size, hidden_dim=size)
    yield _case(draw, size, size, hidden_dim=1)
    yield _case(draw, size, 1, hidden_dim=size)
    yield _case(draw, size, sizes[0], hidden_dim=hidden_dim, dtype=torch.float64, size=1024.0)


@gated_mlp.group("gradients", points=1)
def gradients(draw):
    for dtype in FLOATS:
        *shape, hidden_dim = draw.sizes(4)
        yield _case(draw, *shape, hidden_dim=hidden_dim, dtype=dtype, gradients=True)


@gated_mlp.group("with the weights it draws itself", points=0.5, fresh=True)
def own_weights(draw):
    batch, length, embed_dim, hidden_dim = draw.sizes(4)
    fresh = build(embed_dim, hidden_dim, look=("result", "state"))
    yield case(4 * draw.normal(batch, length, embed_dim), build=fresh)


@gated_mlp.accepted_alternative(
    "One product for both projections: fewer steps. (A sketch: `MLP` does the rest.)"
)
class InOneProduct(MLP):
    def forward(self, x):
        both = F.linear(x, torch.cat([self.gate.weight, self.up.weight]))
        gate, up = both.chunk(2, dim=-1)
        return F.linear(nn.SiLU()(gate).mul(up), self.down.weight)


@gated_mlp.accepted_alternative
class ByTheFormula(MLP):
    def activation(self, x):
        return x / (1 + torch.exp(-x))

    def forward(self, x):
        gate, up = x @ self.gate.weight.T, x @ self.up.weight.T
        return (up * self.activation(gate)) @ self.down.weight.T


@gated_mlp.mistake(
    "There are two projections only, as in lesson 13's block. The third one, `gate`, is multiplied with `up`."
)
class TwoProjections(nn.Module):
    def __init__(self, embed_dim, hidden_dim):
        super().__init__()
        self.up = nn.Linear(embed_dim, hidden_dim, bias=False)
        self.down = nn.Linear(hidden_dim, embed_dim, bias=False)

    def forward(self, x):
        return self.down(F.silu(self.up(x)))


add_mistakes(
    gated_mlp,
    MLP,
    WithBias=(
        "The projections have a bias, which nn.Linear adds by default. Make all three with bias=False.",
        {"with_bias": True},
    ),
    SiluOnUp=(
        "The activation is applied to `up`. It belongs to `gate`, which is then multiplied with `up`.",
        {"hidden": lambda self, gate, up: gate * F.silu(up)},
    ),
    SiluOnBoth=(
        "Both projections go through the activation. Only the gate does: `up` is multiplied as it is.",
        {"hidden": lambda self, gate, up: F.silu(gate) * F.silu(up)},
    ),
    SiluOfTheProduct=(
        "The activation is applied to the product. It belongs to the gate alone, before the product.",
        {"hidden": lambda self, gate, up: F.silu(gate * up)},
    ),
    NoActivation=(
        "There is no activation: the two projections are only multiplied. Send the gate through silu first.",
        {"hidden": lambda self, gate, up: gate * up},
    ),
    Gelu=(
        "The activation is GELU, as in BERT. These weights were trained with silu, z · sigmoid(z).",
        {"activation": lambda self, x: F.gelu(x)},
    ),
    Relu=(
        "The activation is ReLU. These weights were trained with silu, which is not 0 for negative numbers.",
        {"activation": lambda self, x: F.relu(x)},
    ),
    Sigmoid=(
        "The gate goes through a sigmoid only. silu also multiplies by the number itself.",
        {"activation": lambda self, x: torch.sigmoid(x)},
    ),
    GateIgnored=(
        "`gate` is made and not used. Multiply the activated gate with what `up` returns.",
        {"hidden": lambda self, gate, up: F.silu(up)},
    ),
    UpIgnored=(
        "`up` is made and not used. Multiply the activated gate with what `up` returns.",
        {"hidden": lambda self, gate, up: F.silu(gate)},
    ),
    Added=(
        "Gate and `up` are added. A gate multiplies: number by number.",
        {"hidden": lambda self, gate, up: F.silu(gate) + up},
    ),
    ResidualAdded=(
        "The input is added to the result. The block does that itself: return what `down` gives.",
        {"forward": lambda self, x: x + MLP.forward(self, x)},
    ),
    ExponentialsTooLarge=(
        "Large numbers give NaN: infinity is divided by infinity. Divide by 1 + exp(−z), or use F.silu.",
        {"activation": lambda self, x: x * x.exp() / (1 + x.exp())},
    ),
)
