"""Waiting that must end: tasks that wait for tasks, drivers that never wait, waiters of every kind at once."""

from __future__ import annotations

import asyncio
import ctypes
import gc
import os
import threading
import time
from pathlib import Path
from typing import Any

import pytest
from processes import until

LIMIT = 60.0
pytestmark = pytest.mark.timeout(300)


def test_a_task_waits_for_one_queued_behind_it(ray: Any) -> None:
    """The tasks are of one function, so that they are pipelined to the same worker."""

    @ray.remote
    class Box:
        def __init__(self) -> None:
            self.value: Any = None

        def put(self, value: Any) -> None:
            self.value = value

        def take(self) -> Any:
            return self.value

    @ray.remote
    def step(box: Any, value: Any) -> Any:
        if value is not None:
            ray.get(box.put.remote(value))
            return value
        while (found := ray.get(box.take.remote())) is None:
            pass
        return found

    @ray.remote
    def nothing(box: Any, value: Any) -> None: ...

    box = Box.remote()
    ray.get([nothing.remote(box, i) for i in range(300)], timeout=LIMIT)
    waiters = [step.remote(box, None) for _ in range(6)]
    assert ray.get([*waiters, step.remote(box, 7)], timeout=LIMIT) == [7] * 7


@pytest.mark.parametrize("pause", [0, 0.01, 0.05])
def test_tasks_that_poll_do_not_starve_what_they_poll_for(ray: Any, pause: float) -> None:
    """They have all CPUs, and each of their waits is short."""

    @ray.remote(num_cpus=0)
    class Box:
        value = None

        def put(self, value: Any) -> None:
            self.value = value

        def take(self) -> Any:
            return self.value

    @ray.remote
    def poll(box: Any) -> Any:
        while (found := ray.get(box.take.remote())) is None:
            time.sleep(pause)
        return found

    @ray.remote
    def set(box: Any) -> None:
        ray.get(box.put.remote(7))

    for pollers in (2, 4):
        box = Box.remote()
        ray.get(box.take.remote(), timeout=LIMIT)
        refs = [poll.remote(box) for _ in range(pollers)]
        set.remote(box)
        assert ray.get(refs, timeout=LIMIT) == [7] * pollers


def test_a_task_that_sleeps_gives_those_behind_it_back(ray: Any, tmp_path: Path) -> None:
    """It does not tell the core that it waits: only that it runs for long says so."""
    sign = tmp_path / "sign"

    @ray.remote
    def step(index: int) -> int:
        if index == 300:
            until(sign.exists, LIMIT)
        if index == 301:
            sign.touch()
        return index

    assert ray.get([step.remote(i) for i in range(300)], timeout=LIMIT) == list(range(300))
    assert ray.get([step.remote(300), step.remote(301)], timeout=LIMIT) == [300, 301]


@pytest.mark.parametrize("busy", ["computes", "sleeps", "holds the interpreter"])
def test_a_chain_goes_on_while_the_driver_is_busy(ray: Any, tmp_path: Path, busy: str) -> None:
    sign = tmp_path / "sign"

    @ray.remote
    def link(index: int) -> int:
        if index == 60:
            sign.write_text(str(time.time()))
        return index + 1

    ref = ray.put(0)
    for _ in range(61):
        ref = link.remote(ref)
    if busy == "computes":
        deadline = time.monotonic() + LIMIT
        while not os.path.exists(sign):
            assert time.monotonic() < deadline, "the chain stands still"
    elif busy == "sleeps":
        until(sign.exists, LIMIT)
    else:
        # One call in C, which keeps the interpreter's lock until the chain has ended.
        wait = f"i=0; while [ ! -e '{sign}' ] && [ $i -lt {LIMIT * 50:.0f} ]; do sleep 0.02; i=$((i+1)); done"
        ctypes.PyDLL(None).system(wait.encode())
        assert sign.exists(), "the chain stood still while the driver held the interpreter's lock"
    assert ray.get(ref, timeout=LIMIT) == 61


def test_a_driver_that_never_gets(ray: Any, tmp_path: Path) -> None:
    @ray.remote
    def touch(index: int) -> None:
        (tmp_path / str(index)).touch()

    for index in range(2000):
        touch.remote(index)  # no reference is kept either
    until(lambda: len(os.listdir(tmp_path)) == 2000, LIMIT)


def test_threads_and_a_loop_wait_for_the_same(ray: Any) -> None:
    @ray.remote
    def slow(index: int) -> int:
        time.sleep(0.005)
        return index

    refs = [slow.remote(i) for i in range(60)]
    found: dict[str, int] = {}

    def wait(name: str) -> None:
        found[name] = sum(ray.get(refs, timeout=LIMIT))

    def wait_singly() -> None:
        left, total = list(refs), 0
        while left:
            ready, left = ray.wait(left, timeout=LIMIT)
            total += sum(ray.get(ready))
        found["singly"] = total

    async def gather() -> int:
        return sum(await asyncio.gather(*refs))

    threads = [threading.Thread(target=wait, args=(name,)) for name in "ab"] + [threading.Thread(target=wait_singly)]
    for thread in threads:
        thread.start()
    assert asyncio.run(asyncio.wait_for(gather(), LIMIT)) == sum(range(60))
    for thread in threads:
        thread.join(LIMIT)
    assert found == dict.fromkeys(["a", "b", "singly"], sum(range(60)))


def test_many_threads_submit_and_get(ray: Any) -> None:
    @ray.remote
    def double(x: int) -> int:
        return 2 * x

    wrong: list[int] = []

    def work(start: int) -> None:
        for i in range(start, start + 100):
            if ray.get(double.remote(double.remote(i)), timeout=LIMIT) != 4 * i:
                wrong.append(i)

    threads = [threading.Thread(target=work, args=(1000 * n,)) for n in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(LIMIT)
        assert not thread.is_alive()
    assert wrong == []


def test_recursion_deeper_than_the_cpus(ray: Any) -> None:
    @ray.remote
    def deep(n: int) -> int:
        return 0 if n == 0 else 1 + ray.get(deep.remote(n - 1))

    @ray.remote
    def fib(n: int) -> int:
        return n if n < 2 else sum(ray.get([fib.remote(n - 1), fib.remote(n - 2)]))

    assert ray.get(deep.remote(30), timeout=LIMIT) == 30
    assert ray.get(fib.remote(7), timeout=LIMIT) == 13


def test_sockets_full_in_both_directions(ray: Any) -> None:
    """Calls and answers of 90 kB: just below what goes through the arena."""

    @ray.remote
    def echo(data: bytes) -> bytes:
        return data

    @ray.remote
    class Echo:
        def echo(self, data: bytes) -> bytes:
            return data

    data = os.urandom(90_000)
    actor = Echo.remote()
    ray.get([echo.remote(b"") for _ in range(200)], timeout=LIMIT)  # deep pipelines
    refs = [call.remote(data) for _ in range(300) for call in (echo, actor.echo)]
    assert all(value == data for value in ray.get(refs, timeout=LIMIT))


def test_values_whose_del_drops_references(ray: Any) -> None:
    class Holder:
        def __init__(self, refs: list[Any]) -> None:
            self.refs, self.me = refs, self

        def __del__(self) -> None:
            self.refs = []
            ray.put(0)  # the collector may come at any point of any call

    @ray.remote
    def one() -> int:
        return 1

    @ray.remote
    def take(holder: Any) -> int:
        return len(holder.refs)

    threshold = gc.get_threshold()
    gc.set_threshold(20)
    try:
        total = 0
        for _ in range(150):
            holder = Holder([one.remote() for _ in range(5)])
            total += ray.get(holder.refs[0], timeout=LIMIT) + ray.get(take.remote(holder), timeout=LIMIT)
    finally:
        gc.set_threshold(*threshold)
    assert total == 150 * 6


def test_an_actor_calls_its_caller_back(ray: Any) -> None:
    @ray.remote(max_concurrency=2)
    class Caller:
        """Its second thread answers while the first waits; with one only, Ray has a deadlock here, too."""

        def start(self, me: Any, other: Any, depth: int) -> int:
            return ray.get(other.back.remote(me, depth))

        def ping(self, other: Any, depth: int) -> int:
            return depth

    @ray.remote
    class Callee:
        def back(self, caller: Any, depth: int) -> int:
            return ray.get(caller.ping.remote(None, depth)) + 1

    a, b = Caller.remote(), Callee.remote()
    assert [ray.get(a.start.remote(a, b, i), timeout=LIMIT) for i in range(50)] == list(range(1, 51))


def test_two_actors_call_each_other(ray: Any) -> None:
    @ray.remote(max_concurrency=20)
    class Node:
        def hop(self, me: Any, other: Any, left: int) -> int:
            return 0 if left == 0 else 1 + ray.get(other.hop.remote(other, me, left - 1))

    a, b = Node.remote(), Node.remote()
    assert ray.get(a.hop.remote(a, b, 15), timeout=LIMIT) == 15
    assert ray.get([x.hop.remote(x, y, 3) for _ in range(4) for x, y in ((a, b), (b, a))], timeout=LIMIT) == [3] * 8


def test_a_wait_with_a_timeout_leaves_nothing_behind(ray: Any, tmp_path: Path) -> None:
    go = tmp_path / "go"

    @ray.remote
    def slow() -> int:
        until(go.exists, LIMIT)
        return 1

    refs = [slow.remote() for _ in range(4)]
    for _ in range(50):
        ray.wait(refs, num_returns=4, timeout=0.001)
        with pytest.raises(ray.exceptions.GetTimeoutError):
            ray.get(refs[3], timeout=0)
    go.touch()
    assert ray.get(refs, timeout=LIMIT) == [1] * 4
