"""The registry of figures: what is measured, in which unit, and what it should come to.

The code of a figure is the same for both systems; only the module that `Bench.ray` gives differs. The figures of a
group run in order in one process; most groups want a running session, those in NO_SESSION do without.
"""

from __future__ import annotations

import importlib
import os
import pkgutil
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

OURS = "eagleray"
THEIRS = "ray"
#: One session for all groups that use one: a GPU is declared, no machine needs to have it.
INIT: dict[str, Any] = {"num_cpus": len(os.sched_getaffinity(0)), "num_gpus": 1, "log_to_driver": False}
NO_SESSION = ("cold", "ends", "importing", "startup")
#: What the driver of a group imports before its session starts.
IMPORTS = {"gpus_numba": "numba"}
#: Groups that take minutes with Ray: measured in the first round only.
ONCE = ("crowd", "huge", "queued")
#: Seconds that one round of a group may take, for each form; others have DEFAULT_SECONDS.
GROUP_SECONDS = {"crowd": (600, 1800), "many": (600, 900), "queued": (600, 3000)}
DEFAULT_SECONDS = (300, 600)


class Taken(float):
    """A measured value, and what is to be told beside it.

    `bare` is what the machine did with nothing around it, in the same unit and in turns with the value. `note` says
    how much was done where that depends on the form or the system.
    """

    bare: float | None
    note: str

    def __new__(cls, value: float, bare: float | None = None, note: str = "") -> Taken:
        taken = super().__new__(cls, value)
        taken.bare = bare
        taken.note = note
        return taken


@dataclass
class Bench:
    """What a figure works with: the system under test, how long to repeat a short call, and which form this is."""

    module: str
    seconds: float
    long: bool = False

    @cached_property
    def ray(self) -> Any:
        return importlib.import_module(self.module)

    @property
    def ours(self) -> bool:
        return self.module == OURS

    def rate(self, call: Callable[[], object], count: int = 1) -> float:
        """How many per second: repeats a call that does `count` of them, until the time is over."""
        call()  # the first one pays for what is made only once
        done = 0
        started = time.perf_counter()
        while (elapsed := time.perf_counter() - started) < self.seconds:
            call()
            done += count
        return done / elapsed

    def turns(self, ours: Callable[[], float], bare: Callable[[], float]) -> tuple[list[float], list[float]]:
        """What two measurements gave that take turns until the time is over, each at least five times."""
        ours(), bare()
        taken: tuple[list[float], list[float]] = ([], [])
        started = time.perf_counter()
        while time.perf_counter() - started < 2 * self.seconds or len(taken[0]) < 5:
            taken[0].append(ours())
            taken[1].append(bare())
        return taken


@dataclass(frozen=True)
class Aim:
    """One thing that was asked of a figure, and whether it is so."""

    text: str
    met: bool


@dataclass(frozen=True)
class Figure:
    """One line of the table.

    `limit` is the most that Eagle Ray may take, `floor` the least that it should reach, `times` its least gain over
    Ray; `share` is the least part of the bare rate that it should reach, `over` how many times the bare cost it may
    take. What Ray does not have is measured with Eagle Ray only (`alone`). `needs` names what must exist in the
    system's package for the figure to be measured. `why` has a system's name and the reason why it is the better one.
    """

    name: str
    group: str
    label: str
    unit: str
    func: Callable[[Bench], float]
    limit: float | None = None
    times: float | None = None
    floor: float | None = None
    share: float | None = None
    over: float | None = None
    alone: bool = False
    needs: str = ""
    why: Mapping[str, str] = field(default_factory=dict)

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

    def aims(self, ours: float, gain: float | None, of_bare: float | None) -> list[Aim]:
        """What was asked and can be judged by what was measured; `of_bare` is ours divided by the bare value."""
        found = []
        if self.limit is not None:
            found.append(Aim(f"at most {self.limit:g} {self.unit}", ours <= self.limit))
        if self.floor is not None:
            found.append(Aim(f"at least {self.floor:g} {self.unit}", ours >= self.floor))
        if self.times is not None and gain is not None:
            found.append(Aim(f"at least {self.times:g}x", gain >= self.times))
        if self.share is not None and of_bare is not None:
            found.append(Aim(f"at least {self.share:g} of bare", of_bare >= self.share))
        if self.over is not None and of_bare is not None:
            found.append(Aim(f"at most {self.over:g} times bare", of_bare <= self.over))
        return found

    def there(self, package: Any) -> bool:
        """Whether the system has what the figure needs."""
        return exists(package.__name__, self.needs)


FIGURES: dict[str, Figure] = {}


def exists(package: str, name: str) -> bool:
    """Whether `package.name` can be imported or is an attribute of the module before it."""
    if not name:
        return True
    above, _, last = f"{package}.{name}".rpartition(".")
    try:
        if hasattr(importlib.import_module(above), last):
            return True
        importlib.import_module(f"{above}.{last}")
    except ImportError:
        return False
    return True


def figure(label: str, unit: str, **aims: Any) -> Callable[[Callable[[Bench], float]], Callable[[Bench], float]]:
    """Registers a function that measures one figure once; `aims` and the rest are fields of Figure."""

    def register(func: Callable[[Bench], float]) -> Callable[[Bench], float]:
        group = func.__module__.rpartition(".")[2]
        FIGURES[func.__name__] = Figure(func.__name__, group, label, unit, func, **aims)
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


def once(system: str, group: str, long: bool) -> bool:
    """Whether a system has only one round of a group; the quick form gives rounds to where ratios are asked for."""
    if group in ONCE:
        return True
    return not long and system != OURS and (system != THEIRS or group == "speedup")


def seconds_for(group: str, long: bool) -> int:
    """How long one round of a group may take."""
    return GROUP_SECONDS.get(group, DEFAULT_SECONDS)[long]
