"""The figures of the short form: CPU seconds of the session's processes for each call, task, object or actor."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Collection
from pathlib import Path
from typing import Any, NamedTuple

from calibrate import cpu_of

MANY = 500
#: Who works when a task runs, this process aside.
_TASKS = ("eagleray", "eagleray-worker")


class Figure(NamedTuple):
    """A line: what to repeat how often in a sample, whose CPU counts, and the loop it is divided by."""

    name: str
    work: Callable[[int], None]
    warm: int
    count: int
    driver: bool  # whether this process counts
    others: Collection[str]  # which of the others do
    loop: str
    loops: int  # of the loop in a sample


class Session:
    """A session of eagleray on one CPU, and the figures in it."""

    def __init__(self) -> None:
        import eagleray as ray
        from eagleray._private.state import process

        self.ray: Any = ray
        ray.init(address="local", num_cpus=1, log_to_driver=False)
        assert process.session is not None
        self._daemon: int = process.session.daemon_pid

        class Nothing:
            def call(self) -> None:
                return None

        self.nothing = ray.remote(lambda: None)
        self.same = ray.remote(lambda value: value)
        self.actor = ray.remote(num_cpus=0)(Nothing).remote()
        self.small = ray.put(7)
        ray.get(self.actor.call.remote())

    def _processes(self, names: Collection[str]) -> list[int]:
        """Those of the daemon and its descendants that are called so."""
        found: list[int] = []
        todo = [self._daemon]
        while todo:
            process = Path(f"/proc/{(pid := todo.pop())}")
            try:
                if (process / "comm").read_text().strip() in names:
                    found.append(pid)
                for file in process.glob("task/*/children"):
                    todo.extend(map(int, file.read_text().split()))
            except OSError:  # it has ended
                continue
        return found

    def sample(self, figure: Figure) -> float:
        """CPU seconds for each of what the figure counts.

        What is not there yet when it begins does not count: a worker may be on its way for later.
        """
        figure.work(figure.warm)  # leases and workers are there
        before = {pid: cpu_of(pid) for pid in self._processes(figure.others)}
        mine = time.process_time()
        figure.work(figure.count)
        used = time.process_time() - mine if figure.driver else 0.0
        for pid, then in before.items():
            try:
                used += cpu_of(pid) - then
            except OSError:  # it has ended: it had nothing to do
                continue
        return used / figure.count

    def figures(self) -> list[Figure]:
        one, many = ("trips", 200), ("batches", 3000)
        here, there, both = (True, ()), (False, _TASKS), (True, _TASKS)
        found = [
            Figure("put small", self._put, 1, 10_000, *here, "objects", 4000),
            Figure("get small", self._get, 1, 15_000, *here, "objects", 4000),
            Figure("tasks, many at once: driver", self._tasks, 500, 3000, *here, *many),
            Figure("actor calls, many at once: driver", self._calls, 500, 3000, *here, *many),
            Figure("wait, one by one", self._wait, 500, 1500, *here, *many),
            Figure("tasks, many at once: worker", self._tasks, 500, 3000, *there, *many),
            Figure("actor calls, many at once: actor", self._calls, 500, 3000, *there, *many),
            Figure("tasks with a reference", self._references, 500, 2000, *both, *many),
            Figure("tasks, one after the other", self._task, 20, 300, *both, *one),
            Figure("actor calls, one after the other", self._call, 20, 300, *both, *one),
        ]
        return found

    def _task(self, count: int) -> None:
        for _ in range(count):
            self.ray.get(self.nothing.remote())

    def _tasks(self, count: int) -> None:
        for _ in range(count // MANY):
            self.ray.get([self.nothing.remote() for _ in range(MANY)])

    def _references(self, count: int) -> None:
        for _ in range(count // MANY):
            assert self.ray.get([self.same.remote(self.small) for _ in range(MANY)]) == [7] * MANY

    def _wait(self, count: int) -> None:
        for _ in range(count // MANY):
            left = [self.nothing.remote() for _ in range(MANY)]
            while left:
                _, left = self.ray.wait(left)

    def _call(self, count: int) -> None:
        for _ in range(count):
            self.ray.get(self.actor.call.remote())

    def _calls(self, count: int) -> None:
        for _ in range(count // MANY):
            self.ray.get([self.actor.call.remote() for _ in range(MANY)])

    def _put(self, count: int) -> None:
        for _ in range(count):
            self.ray.put(0)

    def _get(self, count: int) -> None:
        for _ in range(count):
            self.ray.get(self.small)


def quiet() -> None:
    """One CPU for this process and all that it starts, and before others if that is allowed."""
    os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})
    try:
        os.nice(-18)
    except OSError:
        pass
