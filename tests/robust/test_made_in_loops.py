"""Functions, options, classes and resource shapes that a program makes without end: nothing is kept of them."""

from __future__ import annotations

import gc
import os
import time
from collections.abc import Callable
from typing import Any

import pytest
from eagleray._private.calls.templates import KEPT, Template
from eagleray._private.internal_api import _lose
from pace import PATIENCE_S

np = pytest.importorskip("numpy")


def closure(ray: Any, number: int, size: int = 0) -> Any:
    @ray.remote
    def f() -> Any:
        return np.full(size, number % 256, np.uint8) if size else number

    return f


def alive() -> int:
    """How many templates this process has."""
    gc.collect()
    return sum(type(x) is Template for x in gc.get_objects())


def resident(pid: int) -> float:
    """Megabytes of memory that a process has."""
    with open(f"/proc/{pid}/statm") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE") / 1e6


def called_once(ray: Any, make: Callable[[int], Any], count: int) -> None:
    for first in range(0, count, 100):
        numbers = range(first, min(first + 100, count))
        assert ray.get([make(number).remote() for number in numbers], timeout=60) == list(numbers)


def test_few_are_kept(ray: Any) -> None:
    before = alive()

    @ray.remote
    def base(number: int) -> int:
        return number

    class Bound:
        """A call of ``base`` with its number."""

        def __init__(self, number: int, **options: Any) -> None:
            self.number, self.function = number, base.options(**options)

        def remote(self) -> Any:
            return self.function.remote(self.number)

    called_once(ray, lambda number: closure(ray, number), 600)
    called_once(ray, lambda number: Bound(number, name=f"n{number}"), 600)
    called_once(ray, lambda number: Bound(number, num_cpus=0.0001 * (1 + number % 9000)), 400)
    assert 0 < alive() - before <= KEPT + 10

    @ray.remote(num_cpus=0)
    class Counts:
        def count(self, number: int) -> int:
            return number

    actor = Counts.remote()
    for number in range(KEPT + 100):
        assert ray.get(actor.count.options(name=f"c{number}").remote(number)) == number
    assert alive() - before <= 2 * KEPT + 20


def test_what_may_still_run_is_kept(ray: Any, tmp_path: Any) -> None:
    """Tasks that wait, that are tried again, and whose results are lost run functions that are gone."""
    gate = tmp_path / "gate"

    def gated(number: int) -> Any:
        @ray.remote(max_retries=1)
        def f() -> int:
            while not gate.exists():
                time.sleep(0.005)
            if number == 0 and not (tmp_path / "died").exists():
                (tmp_path / "died").touch()
                os._exit(1)
            return number

        return f.remote()

    waiting = [gated(number) for number in range(12)]
    large = [closure(ray, number, 200_000).remote() for number in range(4)]
    gate.touch()
    called_once(ray, lambda number: closure(ray, number), KEPT + 100)
    assert ray.get(waiting, timeout=60) == list(range(12))
    ray.wait(large, num_returns=len(large), timeout=PATIENCE_S)
    gc.collect()
    assert _lose(large) == len(large)
    assert [int(value[0]) for value in ray.get(large, timeout=60)] == list(range(4))


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_memory_stays(ray: Any) -> None:
    from eagleray._private.state import process

    called_once(ray, lambda number: closure(ray, number), 2000)
    gc.collect()
    pids = os.getpid(), process.require().daemon_pid
    before = [resident(pid) for pid in pids]
    called_once(ray, lambda number: closure(ray, number), 20_000)
    gc.collect()
    grown = [resident(pid) - was for pid, was in zip(pids, before, strict=True)]
    assert max(grown) < 4, grown
