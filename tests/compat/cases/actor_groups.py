"""Concurrency groups of actors: declared, per method, per call, and the group that every actor has."""

from __future__ import annotations

import asyncio
import threading
from typing import Any

from casebook import accepts, attempt, case


def gate(ray: Any, **options: Any) -> Any:
    """An actor class with threads: calls of one group wait for calls of another one."""

    @ray.remote(concurrency_groups={"io": 2, "compute": 1}, **options)
    class Gate:
        def __init__(self) -> None:
            self.event = threading.Event()
            self.barrier = threading.Barrier(2)
            self.seen: list[Any] = []

        def blocks(self) -> bool:
            return self.event.wait(30)

        @ray.method(concurrency_group="io")
        def meet(self) -> str:
            self.barrier.wait(30)
            return "met"

        @ray.method(concurrency_group="compute")
        def opens(self) -> str:
            self.event.set()
            return "opened"

        @ray.method(concurrency_group="compute")
        def note(self, value: Any) -> Any:
            self.seen.append(value)
            return value

        @ray.method(concurrency_group="compute")
        def notes(self) -> list[Any]:
            return self.seen

        @ray.method(concurrency_group="io")
        def thread(self) -> int:
            self.barrier.wait(30)
            return threading.get_ident()

        def plain(self) -> str:
            return "plain"

    return Gate


@case
def a_group_runs_beside_the_default_one(ray: Any) -> None:
    actor = gate(ray).remote()
    waiting = actor.blocks.remote()
    print(ray.get(actor.opens.remote(), timeout=30), ray.get(waiting, timeout=30))


@case
def two_calls_of_a_group_meet(ray: Any) -> None:
    actor = gate(ray).remote()
    print(ray.get([actor.meet.remote() for _ in range(4)], timeout=30))


@case
def two_threads_of_a_group_differ(ray: Any) -> None:
    actor = gate(ray).remote()
    print(len(set(ray.get([actor.thread.remote(), actor.thread.remote()], timeout=30))))


@case
def the_default_group_has_one_thread(ray: Any) -> None:
    actor = gate(ray).remote()
    first, second = actor.blocks.remote(), actor.plain.remote()
    ready, rest = ray.wait([first, second], timeout=0.5, num_returns=2)
    print(len(ready), len(rest))
    actor.opens.remote()
    print(ray.get([first, second], timeout=30))


@case
def the_default_group_takes_max_concurrency(ray: Any) -> None:
    actor = gate(ray, max_concurrency=2).remote()
    first, second = actor.blocks.remote(), actor.plain.remote()
    print(ray.get(second, timeout=30))
    actor.opens.remote()
    print(ray.get(first, timeout=30))


@case
def a_call_chooses_its_group(ray: Any) -> None:
    actor = gate(ray).remote()
    waiting = actor.blocks.remote()
    print(ray.get(actor.plain.options(concurrency_group="io").remote(), timeout=30))
    actor.opens.remote()
    print(ray.get(waiting, timeout=30))


@case
def calls_of_a_group_keep_their_order(ray: Any) -> None:
    actor = gate(ray).remote()
    for i in range(50):
        actor.note.remote(i)
    print(ray.get(actor.notes.remote()) == list(range(50)))


@case
def a_group_that_was_not_declared(ray: Any) -> None:
    actor = gate(ray).remote()

    def call() -> Any:
        return ray.get(actor.plain.options(concurrency_group="nothing").remote(), timeout=30)

    attempt("call", call)
    attempt("after", lambda: ray.get(actor.plain.remote(), timeout=30))


@case
def a_method_in_a_group_that_was_not_declared(ray: Any) -> None:
    @ray.remote
    class Wrong:
        @ray.method(concurrency_group="nothing")
        def one(self) -> int:
            return 1

    attempt("call", lambda: ray.get(Wrong.remote().one.remote(), timeout=30))


@case
def a_call_that_blocks_in_the_system_group(ray: Any) -> None:
    @ray.remote
    class Busy:
        def __init__(self) -> None:
            self.event = threading.Event()

        def block(self) -> bool:
            return self.event.wait(60)

        def ping(self) -> str:
            self.event.set()
            return "pong"

    busy = Busy.remote()
    waiting = busy.block.options(concurrency_group="_ray_system").remote()
    print(ray.get(busy.ping.remote(), timeout=30), ray.get(waiting, timeout=30))


@case
def the_system_group_answers_a_busy_actor(ray: Any) -> None:
    @ray.remote(concurrency_groups={"control": 1})
    class Busy:
        def __init__(self) -> None:
            self.event = threading.Event()

        def block(self) -> bool:
            return self.event.wait(60)

        def ping(self) -> str:
            return "pong"

        @ray.method(concurrency_group="control")
        def open(self) -> None:
            self.event.set()

    busy = Busy.remote()
    waiting = busy.block.remote()
    attempt("ping", lambda: ray.get(busy.ping.options(concurrency_group="_ray_system").remote(), timeout=5))
    busy.open.remote()
    print(ray.get(waiting, timeout=30))


@case
def the_system_group_in_a_method(ray: Any) -> None:
    @ray.remote
    class Actor:
        @ray.method(concurrency_group="_ray_system")
        def ping(self) -> str:
            return "pong"

    attempt("ping", lambda: ray.get(Actor.remote().ping.remote(), timeout=30))


@case
def the_system_group_cannot_be_declared(ray: Any) -> None:
    @ray.remote(concurrency_groups={"_ray_system": 1})
    class Actor:
        def one(self) -> int:
            return 1

    attempt("declared", lambda: ray.get(Actor.remote().one.remote(), timeout=30))


@case
def wrong_groups(ray: Any) -> None:
    class Plain:
        pass

    accepts("a list", lambda: ray.remote(concurrency_groups=["io"])(Plain))
    accepts("a text", lambda: ray.remote(concurrency_groups="io")(Plain))
    accepts("none", lambda: ray.remote(concurrency_groups=None)(Plain))
    accepts("empty", lambda: ray.remote(concurrency_groups={})(Plain))
    accepts("of a function", lambda: ray.remote(concurrency_groups={"io": 1})(lambda: 1))
    accepts("in options", lambda: ray.remote(Plain).options(concurrency_groups={"io": 1}))


@case
def the_group_of_a_call_is_no_text(ray: Any) -> None:
    actor = gate(ray).remote()
    attempt("none", lambda: ray.get(actor.plain.options(concurrency_group=None).remote(), timeout=30))
    attempt("empty", lambda: ray.get(actor.plain.options(concurrency_group="").remote(), timeout=30))
    accepts("a number", lambda: ray.get(actor.plain.options(concurrency_group=7).remote(), timeout=30))


@case
def groups_of_coroutines(ray: Any) -> None:
    @ray.remote(concurrency_groups={"io": 2})
    class Waits:
        def __init__(self) -> None:
            self.inside = 0
            self.most = 0

        @ray.method(concurrency_group="io")
        async def limited(self) -> None:
            self.inside += 1
            self.most = max(self.most, self.inside)
            await asyncio.sleep(0.02)
            self.inside -= 1

        async def result(self) -> int:
            return self.most

    actor = Waits.remote()
    ray.get([actor.limited.remote() for _ in range(10)], timeout=30)
    print(ray.get(actor.result.remote(), timeout=30))


@case
def groups_of_coroutines_per_call(ray: Any) -> None:
    @ray.remote(concurrency_groups={"one": 1})
    class Waits:
        def __init__(self) -> None:
            self.inside = 0
            self.most = 0

        async def limited(self) -> None:
            self.inside += 1
            self.most = max(self.most, self.inside)
            await asyncio.sleep(0.02)
            self.inside -= 1

        async def result(self) -> int:
            most, self.most = self.most, 0
            return most

    actor = Waits.remote()
    ray.get([actor.limited.options(concurrency_group="one").remote() for _ in range(5)], timeout=30)
    print(ray.get(actor.result.remote(), timeout=30))
    ray.get([actor.limited.remote() for _ in range(5)], timeout=30)
    print(ray.get(actor.result.remote(), timeout=30))


@case
def a_group_that_blocks_its_loop(ray: Any) -> None:
    @ray.remote(concurrency_groups={"io": 1})
    class Blocks:
        def __init__(self) -> None:
            self.event = threading.Event()

        @ray.method(concurrency_group="io")
        async def block(self) -> bool:
            return self.event.wait(30)

        async def free(self) -> str:
            self.event.set()
            return "free"

    actor = Blocks.remote()
    waiting = actor.block.remote()
    print(ray.get(actor.free.remote(), timeout=30), ray.get(waiting, timeout=30))


@case
def groups_of_a_found_actor(ray: Any) -> None:
    actor = gate(ray).options(name="gate with groups").remote()
    waiting = actor.blocks.remote()
    found = ray.get_actor("gate with groups")
    print(ray.get(found.opens.remote(), timeout=30), ray.get(waiting, timeout=30))


@case
def groups_of_a_handle_in_a_task(ray: Any) -> None:
    actor = gate(ray).remote()
    waiting = actor.blocks.remote()

    @ray.remote
    def use(handle: Any) -> Any:
        return ray.get([handle.plain.options(concurrency_group="io").remote(), handle.opens.remote()], timeout=30)

    print(ray.get(use.remote(actor), timeout=30), ray.get(waiting, timeout=30))


@case
def a_group_of_a_base_class(ray: Any) -> None:
    class Base:
        @ray.method(concurrency_group="io")
        def opens(self) -> str:
            self.event.set()  # type: ignore[attr-defined]
            return "opened"

    @ray.remote(concurrency_groups={"io": 1})
    class Derived(Base):
        def __init__(self) -> None:
            self.event = threading.Event()

        def blocks(self) -> bool:
            return self.event.wait(30)

    actor = Derived.remote()
    waiting = actor.blocks.remote()
    print(ray.get(actor.opens.remote(), timeout=30), ray.get(waiting, timeout=30))


@case
def errors_in_a_group(ray: Any) -> None:
    @ray.remote(concurrency_groups={"io": 1})
    class Fails:
        @ray.method(concurrency_group="io")
        def fail(self) -> None:
            raise KeyError("in the group")

        @ray.method(concurrency_group="io")
        def fine(self) -> int:
            return 1

    actor = Fails.remote()
    attempt("fail", lambda: ray.get(actor.fail.remote(), timeout=30))
    attempt("fine", lambda: ray.get(actor.fine.remote(), timeout=30))


@case
def a_generator_in_a_group(ray: Any) -> None:
    @ray.remote(concurrency_groups={"io": 1})
    class Streams:
        def __init__(self) -> None:
            self.event = threading.Event()

        def block(self) -> bool:
            return self.event.wait(30)

        @ray.method(concurrency_group="io")
        def items(self) -> Any:
            for i in range(3):
                yield i * 2
            self.event.set()

    actor = Streams.remote()
    waiting = actor.block.remote()
    print([ray.get(ref, timeout=30) for ref in actor.items.remote()], ray.get(waiting, timeout=30))
