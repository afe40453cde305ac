"""What grading a notebook costs: seconds by phase, and counts that are the same on every machine."""

from __future__ import annotations

import time
from collections import Counter, defaultdict
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field


def _zeros() -> dict[str, float]:
    return defaultdict(float)


@dataclass
class Costs:
    """Seconds by phase and counts, of one notebook or added up over several.

    A phase inside another one is subtracted from the outer one, so that the phases add up to the whole.
    """

    seconds: dict[str, float] = field(default_factory=_zeros)  # by phase, by the clock
    # By phase, of the processor, in the thread that grades.
    cpu_seconds: dict[str, float] = field(default_factory=_zeros)
    kernel_cpu_seconds: float = 0.0  # processor seconds of the kernels, whatever the phase
    counts: Counter[str] = field(default_factory=Counter)  # "notebooks", "kernels", "messages", "bytes sent"

    @contextmanager
    def phase(self, name: str) -> Iterator[None]:
        """Count the time of a `with` block as the phase `name`, less that of the phases inside it."""
        inner, inner_cpu = sum(self.seconds.values()), sum(self.cpu_seconds.values())
        clock, cpu = time.monotonic(), time.thread_time()
        try:
            yield
        finally:
            clock, cpu = time.monotonic() - clock, time.thread_time() - cpu
            self.seconds[name] += clock - (sum(self.seconds.values()) - inner)
            self.cpu_seconds[name] += cpu - (sum(self.cpu_seconds.values()) - inner_cpu)

    def add(self, other: Costs) -> None:
        """Add the costs of another notebook."""
        for name, seconds in other.seconds.items():
            self.seconds[name] += seconds
            self.cpu_seconds[name] += other.cpu_seconds[name]
        self.kernel_cpu_seconds += other.kernel_cpu_seconds
        self.counts.update(other.counts)
