"""Actors with more than one thread, and coroutine actors."""

from __future__ import annotations

import asyncio
import threading
from typing import Any

from casebook import attempt, case


@case
def one_at_a_time(ray: Any) -> None:
    @ray.remote
    class Single:
        def __init__(self) -> None:
            self.inside = 0
            self.most = 0

        def work(self) -> None:
            self.inside += 1
            self.most = max(self.most, self.inside)
            for _ in range(1000):
                pass
            self.inside -= 1

        def read(self) -> int:
            return self.most

    single = Single.remote()
    ray.get([single.work.remote() for _ in range(20)])
    print(ray.get(single.read.remote()))


@case
def threads_meet(ray: Any) -> None:
    @ray.remote(max_concurrency=3)
    class Meeting:
        def __init__(self) -> None:
            self.barrier = threading.Barrier(3)

        def meet(self) -> str:
            self.barrier.wait(30)
            return "met"

    meeting = Meeting.remote()
    print(ray.get([meeting.meet.remote() for _ in range(6)], timeout=60))


@case
def not_more_than_allowed(ray: Any) -> None:
    @ray.remote(max_concurrency=2)
    class Limited:
        def __init__(self) -> None:
            self.lock = threading.Lock()
            self.inside = 0
            self.most = 0

        def work(self) -> None:
            with self.lock:
                self.inside += 1
                self.most = max(self.most, self.inside)
            threading.Event().wait(0.01)
            with self.lock:
                self.inside -= 1

        def read(self) -> int:
            return self.most

    limited = Limited.remote()
    ray.get([limited.work.remote() for _ in range(12)])
    print(ray.get(limited.read.remote()))


@case
def a_blocked_call_is_released_by_another(ray: Any) -> None:
    @ray.remote(max_concurrency=2)
    class Door:
        def __init__(self) -> None:
            self.event = threading.Event()

        def wait(self) -> bool:
            return self.event.wait(30)

        def open(self) -> None:
            self.event.set()

    door = Door.remote()
    waiting = door.wait.remote()
    ray.get(door.open.remote())
    print(ray.get(waiting, timeout=30))


@case
def options_of_an_actor(ray: Any) -> None:
    @ray.remote
    class Meeting:
        def __init__(self) -> None:
            self.barrier = threading.Barrier(2)

        def meet(self) -> int:
            return self.barrier.wait(30)

    meeting = Meeting.options(max_concurrency=2).remote()
    print(sorted(ray.get([meeting.meet.remote(), meeting.meet.remote()], timeout=60)))


@case
def errors_in_threads(ray: Any) -> None:
    @ray.remote(max_concurrency=4)
    class Mixed:
        def work(self, i: int) -> int:
            if i % 2:
                raise ValueError(i)
            return i

    mixed = Mixed.remote()
    for i, ref in enumerate([mixed.work.remote(i) for i in range(4)]):
        attempt(str(i), lambda ref=ref: ray.get(ref))


@case
def the_actor_calls_itself(ray: Any) -> None:
    @ray.remote(max_concurrency=2)
    class Loop:
        def outer(self) -> str:
            me = ray.get_runtime_context().current_actor
            return "outer " + ray.get(me.inner.remote())

        def inner(self) -> str:
            return "inner"

    print(ray.get(Loop.remote().outer.remote(), timeout=30))


@case
def coroutines(ray: Any) -> None:
    @ray.remote
    class Signal:
        def __init__(self) -> None:
            self.event = asyncio.Event()

        async def wait(self) -> str:
            await self.event.wait()
            return "woken"

        async def send(self) -> None:
            self.event.set()

    signal = Signal.remote()
    waiting = [signal.wait.remote() for _ in range(5)]
    ray.get(signal.send.remote())
    print(ray.get(waiting, timeout=30))


@case
def coroutines_await_references(ray: Any) -> None:
    double = ray.remote(lambda x: 2 * x)

    @ray.remote
    class Caller:
        async def one(self, x: int) -> int:
            return await double.remote(x)

        async def many(self) -> list[int]:
            return list(await asyncio.gather(*[double.remote(i) for i in range(4)]))

    caller = Caller.remote()
    print(ray.get(caller.one.remote(21)), ray.get(caller.many.remote()))


@case
def coroutine_errors(ray: Any) -> None:
    @ray.remote
    class Fails:
        async def fail(self) -> None:
            raise KeyError("async")

        async def fine(self) -> int:
            return 1

    fails = Fails.remote()
    attempt("fail", lambda: ray.get(fails.fail.remote()))
    attempt("fine", lambda: ray.get(fails.fine.remote()))


@case
def coroutines_with_a_limit(ray: Any) -> None:
    @ray.remote(max_concurrency=2)
    class Limited:
        def __init__(self) -> None:
            self.inside = 0
            self.most = 0

        async def work(self) -> None:
            self.inside += 1
            self.most = max(self.most, self.inside)
            await asyncio.sleep(0.01)
            self.inside -= 1

        async def read(self) -> int:
            return self.most

    limited = Limited.remote()
    ray.get([limited.work.remote() for _ in range(10)])
    print(ray.get(limited.read.remote()))
