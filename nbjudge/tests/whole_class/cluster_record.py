"""Preloaded by the scheduler (`dask scheduler --preload`): writes down which worker graded a notebook."""

import os
from typing import Any

from distributed.diagnostics.plugin import SchedulerPlugin


class WhoGraded(SchedulerPlugin):
    """One line for each notebook that comes back: the worker's name."""

    def __init__(self, scheduler: Any) -> None:
        self._scheduler = scheduler

    def transition(self, key: Any, start: str, finish: str, *arguments: Any, **about: Any) -> None:
        if finish == "memory" and str(key).startswith("grade_notebook"):
            name = self._scheduler.workers[about["worker"]].name
            with open(os.environ["WHO_GRADED"], "a") as record:
                record.write(f"{name}\n")


def dask_setup(scheduler: Any) -> None:
    scheduler.add_plugin(WhoGraded(scheduler))
