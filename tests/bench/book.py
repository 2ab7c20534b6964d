"""The registry of figures: what is measured, in which unit, and what it should come to.

The code of a figure is the same for both systems; only the module that `Bench.ray` gives differs. The figures of a
group run in order in one process; most groups want a running session, `startup` and `importing` do without.
"""

from __future__ import annotations

import importlib
import os
import pkgutil
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

#: One session for all groups that use one: a GPU is declared, no machine needs to have it.
INIT: dict[str, Any] = {"num_cpus": len(os.sched_getaffinity(0)), "num_gpus": 1, "log_to_driver": False}
NO_SESSION = ("importing", "startup")
#: What the driver of a group imports before its session starts.
IMPORTS = {"gpus_numba": "numba"}


@dataclass
class Bench:
    """What a figure works with: the system under test, and how long to repeat a short call."""

    module: str
    seconds: float

    @cached_property
    def ray(self) -> Any:
        return importlib.import_module(self.module)

    def rate(self, call: Callable[[], object], count: int = 1) -> float:
        """How many per second: repeats a call that does `count` of them, until the time is over."""
        call()  # the first one pays for what is made only once
        done = 0
        started = time.perf_counter()
        while (elapsed := time.perf_counter() - started) < self.seconds:
            call()
            done += count
        return done / elapsed


@dataclass(frozen=True)
class Figure:
    """One line of the table.

    `limit` is the most that Eagle Ray may take, `floor` the least that it should reach, `times` its least gain over
    Ray. What Ray does not have is measured with Eagle Ray only (`alone`).
    """

    name: str
    group: str
    label: str
    unit: str
    func: Callable[[Bench], float]
    limit: float | None = None
    times: float | None = None
    floor: float | None = None
    alone: bool = False

    @property
    def higher_is_better(self) -> bool:
        return self.unit.endswith("/s") or self.unit in ("times", "% of bare")

    def best(self, samples: list[float]) -> float:
        return max(samples) if self.higher_is_better else min(samples)

    def gain(self, ours: float, theirs: float) -> float:
        """How many times better ours is."""
        if min(ours, theirs) <= 0:
            return float("nan")
        return ours / theirs if self.higher_is_better else theirs / ours


FIGURES: dict[str, Figure] = {}


def figure(
    label: str,
    unit: str,
    limit: float | None = None,
    times: float | None = None,
    floor: float | None = None,
    alone: bool = False,
) -> Callable[[Callable[[Bench], float]], Callable[[Bench], float]]:
    """Registers a function that measures one figure once."""

    def register(func: Callable[[Bench], float]) -> Callable[[Bench], float]:
        group = func.__module__.rpartition(".")[2]
        FIGURES[func.__name__] = Figure(func.__name__, group, label, unit, func, limit, times, floor, alone)
        return func

    return register


def load() -> dict[str, Figure]:
    """All figures, in the order of groups and of their source."""
    package = importlib.import_module("figures")
    for module in sorted(found.name for found in pkgutil.iter_modules(package.__path__)):
        importlib.import_module(f"figures.{module}")
    return FIGURES


def groups() -> dict[str, list[Figure]]:
    by_group: dict[str, list[Figure]] = {}
    for entry in load().values():
        by_group.setdefault(entry.group, []).append(entry)
    return by_group
