"""Threads, event loops and dependants that wait on each other: nothing hangs."""

from __future__ import annotations

import asyncio
import concurrent.futures
import threading
import time
from pathlib import Path
from typing import Any

import pytest
from pace import PATIENCE_S, until


def test_await_and_gather(ray: Any) -> None:
    @ray.remote
    def f(x: int) -> int:
        return x

    @ray.remote
    def fail() -> None:
        raise KeyError("x")

    async def main() -> Any:
        assert await f.remote(1) == 1
        assert await asyncio.gather(*(f.remote(i) for i in range(100))) == list(range(100))
        assert await asyncio.wait_for(f.remote(2), 20) == 2
        done, pending = await asyncio.wait([asyncio.ensure_future(_wrap(f.remote(i))) for i in range(5)])
        assert {task.result() for task in done} == set(range(5)) and not pending
        with pytest.raises(KeyError):
            await fail.remote()
        return await ray.put([1])

    assert asyncio.run(main()) == [1]
    assert asyncio.run(main()) == [1], "a second loop works as well"


async def _wrap(ref: Any) -> Any:
    return await ref


def test_await_can_be_given_up(ray: Any) -> None:
    @ray.remote
    def slow() -> None:
        time.sleep(30)

    async def main() -> None:
        ref = slow.remote()
        with pytest.raises(asyncio.TimeoutError):
            await asyncio.wait_for(_wrap(ref), 0.1)
        ray.cancel(ref, force=True)
        assert await ray.put(3) == 3

    asyncio.run(main())


def test_futures(ray: Any) -> None:
    @ray.remote
    def f(x: int) -> int:
        return x

    futures = [f.remote(i).future() for i in range(20)]
    assert [future.result(PATIENCE_S) for future in futures] == list(range(20))
    done = concurrent.futures.wait([f.remote(1).future(), ray.put(2).future()], timeout=PATIENCE_S)
    assert {future.result() for future in done.done} == {1, 2}
    with pytest.raises(ZeroDivisionError):
        ray.remote(lambda: 1 / 0).remote().future().result(20)


def test_threads_and_a_loop_on_the_same_references(ray: Any) -> None:
    @ray.remote
    def f(x: int) -> int:
        time.sleep(0.002)
        return x

    refs = [f.remote(i) for i in range(200)]
    wanted = list(range(200))
    found: list[Any] = []

    def get_all() -> None:
        found.append(ray.get(refs))

    def get_each() -> None:
        found.append([ray.get(ref) for ref in refs])

    def wait_for() -> None:
        left = list(refs)
        while left:
            _, left = ray.wait(left, num_returns=min(7, len(left)))
        found.append(ray.get(refs))

    threads = [threading.Thread(target=target) for target in (get_all, get_each, wait_for)]
    for thread in threads:
        thread.start()

    async def main() -> Any:
        return list(await asyncio.gather(*refs))

    found.append(asyncio.run(main()))
    for thread in threads:
        thread.join(60)
    assert found == [wanted] * 4


def test_task_that_waits_for_one_queued_behind_it(ray: Any) -> None:
    @ray.remote
    class Box:
        def __init__(self) -> None:
            self.refs: list[Any] = []

        def put(self, refs: list[Any]) -> None:
            self.refs = refs

        def take(self) -> list[Any]:
            return self.refs

    @ray.remote(num_cpus=4)
    def first(box: Any) -> Any:
        while not (refs := ray.get(box.take.remote())):
            time.sleep(0.001)
        return ray.get(refs[0]) + 1

    @ray.remote(num_cpus=4)
    def second() -> int:
        return 1

    box = Box.options(num_cpus=0).remote()
    waits = first.remote(box)
    box.put.remote([second.remote()])
    assert ray.get(waits, timeout=60) == 2


def test_chain_while_the_driver_computes(ray: Any, tmp_path: Path) -> None:
    """Results, arguments and calls travel on without any call into the runtime."""
    told = tmp_path / "told"
    told.touch()

    @ray.remote
    def a() -> int:
        return 1

    @ray.remote
    class Seen:
        def __init__(self) -> None:
            self.n = 0

        def add(self, x: int) -> int:
            self.n += x
            told.write_text(self.n * "x")
            return self.n

        def count(self) -> int:
            return self.n

    seen = Seen.remote()
    ray.get(seen.count.remote())

    @ray.remote
    def b(x: int) -> int:
        return ray.get(seen.add.remote(x))

    refs = [b.remote(a.remote()) for _ in range(5)]
    until(lambda: sum(range(1000)) and told.stat().st_size == 5, "the chains end")
    assert ray.get(seen.count.remote()) == 5
    assert max(ray.get(refs)) == 5


def test_driver_that_never_gets(ray: Any) -> None:
    @ray.remote
    def f(x: int) -> bytes:
        return b"x" * x

    for _ in range(5000):
        f.remote(10)
    for _ in range(200):
        f.remote(150_000)
    assert ray.get(f.remote(3), timeout=60) == b"xxx"


def test_many_callers_of_one_actor(ray: Any) -> None:
    @ray.remote
    class Counter:
        def __init__(self) -> None:
            self.n = 0

        def add(self) -> int:
            self.n += 1
            return self.n

    @ray.remote
    def call(counter: Any, times: int) -> bool:
        found = ray.get([counter.add.remote() for _ in range(times)])
        return found == sorted(found)

    counter = Counter.remote()
    assert all(ray.get([call.remote(counter, 200) for _ in range(8)], timeout=60))
    assert ray.get(counter.add.remote()) == 1601


def test_tree_of_tasks_wider_than_the_machine(ray: Any) -> None:
    @ray.remote
    def node(depth: int) -> int:
        return 1 if depth == 0 else sum(ray.get([node.remote(depth - 1) for _ in range(3)]))

    assert ray.get(node.remote(3), timeout=100) == 27


def test_large_arguments_both_ways_at_once(ray: Any) -> None:
    @ray.remote
    def echo(x: bytes) -> bytes:
        return x

    refs = [echo.remote(bytes([i]) * 90_000) for i in range(200)]  # in band: fills the sockets both ways
    assert [value[0] for value in ray.get(refs, timeout=60)] == list(range(200))


def test_as_future_where_no_loop_runs(ray: Any) -> None:
    @ray.remote
    def f(x: int) -> int:
        return x

    loop = asyncio.new_event_loop()
    asyncio.set_event_loop(loop)
    try:
        first, second, there = f.remote(1).as_future(), f.remote(2).as_future(), ray.put(3).as_future()
        assert isinstance(first, asyncio.Future) and loop.run_until_complete(first) == 1

        async def rest() -> Any:
            return await asyncio.gather(second, there, f.remote(4))

        assert loop.run_until_complete(rest()) == [2, 3, 4]
    finally:
        asyncio.set_event_loop(None)
        loop.close()
    ref = f.remote(5)
    problems: list[BaseException] = []

    def elsewhere() -> None:
        try:
            ref.as_future()
        except RuntimeError as problem:
            problems.append(problem)

    thread = threading.Thread(target=elsewhere)
    thread.start()
    thread.join(20)
    assert "event loop" in str(problems[0])  # as asyncio says it: this thread has none
    assert asyncio.run(asyncio.wait_for(ref, 20)) == 5


def test_a_loop_waits_for_a_reference_without_its_value(ray: Any) -> None:
    """What ``async for`` waits for: it becomes done without a value, and giving it up before disturbs nobody."""
    from eagleray._private.values.asynchronous import ready_future

    @ray.remote
    class Gate:
        def __init__(self) -> None:
            self.opened = asyncio.Event()

        async def open(self) -> None:
            self.opened.set()

        async def wait(self) -> str:
            await self.opened.wait()
            return "open"

    gate = Gate.remote()
    problems: list[Any] = []

    async def main() -> None:
        asyncio.get_running_loop().set_exception_handler(lambda _, context: problems.append(context))
        ref = gate.wait.remote()
        kept, given_up = ready_future(ref), ready_future(ref)
        given_up.cancel()
        await gate.open.remote()
        assert await asyncio.wait_for(kept, PATIENCE_S) is None
        assert await ref == "open"
        assert await asyncio.wait_for(ready_future(ref), PATIENCE_S) is None, "it is ready already"

    asyncio.run(main())
    assert problems == []
