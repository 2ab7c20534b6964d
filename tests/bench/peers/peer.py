"""What all peers have in common: something that runs for a group, and figures that are measured the same way."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Generic, TypeVar

import memory
from book import NO_SESSION, Bench
from figures.importing import over_python
from figures.pools import DOUBLED, JOBS
from figures.speedup import share

T = TypeVar("T")
Measured = Callable[[Bench], float]


class Peer(Generic[T]):
    """A peer: `start` gives what runs its calls, as soon as a first one was answered; `stop` ends that.

    Its figures are registered by group and name, the names being those of our figures. What every peer has is here:
    how long its import (of the module `imports`), its start and its end take, and what it holds while it is idle.
    """

    def __init__(self, imports: str, start: Callable[[], T], stop: Callable[[T], None]) -> None:
        self.figures: dict[str, dict[str, Measured]] = {"importing": {}, "startup": {}}
        self._start = start
        self._stop = stop
        self._running: list[T] = []
        self.figures["importing"]["import_over_python"] = lambda bench: over_python(imports)
        for measured in (self.init_to_first_result, self.idle_memory, self.idle_processes, self.shutdown):
            self.figures["startup"][measured.__name__] = measured

    @property
    def running(self) -> T:
        return self._running[0]

    @contextmanager
    def session(self, group: str, bench: Bench) -> Iterator[None]:
        """What a group's figures need, if they do not start it themselves."""
        if group not in NO_SESSION:
            self._running.append(self._start())
        yield
        if self._running:
            self._stop(self._running.pop())

    def measures(self, group: str) -> Callable[[Measured], Measured]:
        """A decorator that registers what measures a figure of the group; the function's name is the figure's."""

        def register(func: Measured) -> Measured:
            self.figures.setdefault(group, {})[func.__name__] = func
            return func

        return register

    def speeds_up(self, job: Callable[[int, int], list[int]], milliseconds: dict[str, float]) -> None:
        """Registers figures of a CPU-bound job: the length of its tasks by the figure's name."""

        def of(length: float) -> Measured:
            return lambda bench: share(bench, length, job)

        self.figures["speedup"] = {name: of(length) for name, length in milliseconds.items()}

    def init_to_first_result(self, bench: Bench) -> float:
        started = time.perf_counter()
        self._running.append(self._start())
        return (time.perf_counter() - started) * 1000

    def idle_memory(self, bench: Bench) -> float:
        return memory.settled().pss / 1e6

    def idle_processes(self, bench: Bench) -> float:
        return memory.settled().processes

    def shutdown(self, bench: Bench) -> float:
        started = time.perf_counter()
        self._stop(self._running.pop())
        return (time.perf_counter() - started) * 1000


def doubled(run: Callable[[], list[int]]) -> float:
    """Jobs per second, of the many small ones whose results `run` gives in order."""
    started = time.perf_counter()
    assert run() == DOUBLED
    return JOBS / (time.perf_counter() - started)
