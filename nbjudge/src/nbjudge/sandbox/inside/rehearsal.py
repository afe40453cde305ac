"""What every notebook does first, done once before any is run.

Libraries load and build much at their first use: fonts, image formats, kernels for small matrices.
What the fork server has done, its forks need not do again, and they share the memory of it.
Nothing that a library keeps for its user (random states, open figures, settings) may be left changed.
"""

import importlib
import sys
from contextlib import suppress
from io import BytesIO


def rehearse() -> None:
    """Rehearse with the libraries that are imported already; one that fails is a slower kernel, no error."""
    for library, first_use in (
        ("matplotlib.figure", draw_a_figure),
        ("torch", compute),
        ("torch", seed_no_accelerator),
    ):
        if library in sys.modules:
            with suppress(Exception):
                first_use()


def draw_a_figure() -> None:
    """A figure as notebooks show it, drawn past pyplot, which would remember it."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    # ipykernel brings it, and shows figures with it.
    importlib.import_module("matplotlib_inline.backend_inline")
    figure = Figure(figsize=(2, 2))
    FigureCanvasAgg(figure)
    line, grid = figure.subplots(1, 2)
    line.plot([0, 1], label="$x$")
    line.legend()
    line.set_title("bold", weight="bold")
    if "seaborn" in sys.modules:
        sys.modules["seaborn"].heatmap([[0.0, 1.0], [1.0, 0.0]], annot=True, ax=grid)
    figure.savefig(BytesIO(), format="png", bbox_inches="tight")
    registry = importlib.import_module("matplotlib.backends.registry")  # since matplotlib 3.9
    registry.backend_registry.list_all()  # this reads the entry points of all packages


def compute() -> None:
    """No backward pass: torch forbids one in forks of a process that has made one."""
    import torch
    import torch._subclasses.schema_check_mode

    for kind in (torch.float32, torch.float64):
        square = torch.ones(8, 8, dtype=kind)
        product = torch.exp(square @ square / 8)
        torch.einsum("ij,kjl->kil", product, square.expand(2, 8, 8).contiguous())
        torch.nn.functional.linear(product, square).std()
        str(product)
    torch.frombuffer(bytearray(square.numpy().tobytes()), dtype=square.dtype)


def seed_no_accelerator() -> None:
    """Let `torch.manual_seed` seed the processor's generator only: the sandbox has no other device.

    For each kind of device that is not there yet, torch keeps the seed with the formatted stack of the call,
    for as long as the process lives. Seeding takes longer than drawing then.
    """
    import torch

    def manual_seed_all(seed: int) -> None:
        """Do nothing, because there is no device of this kind."""

    for name in ("cuda", "xpu", "mtia"):
        if hasattr(torch, name):
            getattr(torch, name).manual_seed_all = manual_seed_all
