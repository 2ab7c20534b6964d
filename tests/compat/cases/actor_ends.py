"""How actors end by themselves: exit_actor in every place, sys.exit, and limits of calls that wait."""

from __future__ import annotations

import asyncio
import sys
import threading
from typing import Any

from casebook import accepts, attempt, case


def gone(ray: Any, actor: Any) -> None:
    """Prints how a call of an actor that has ended fails."""
    attempt("afterwards", lambda: ray.get(actor.one.remote(), timeout=60))


@case
def in_a_plain_method(ray: Any) -> None:
    @ray.remote
    class Actor:
        def one(self) -> int:
            return 1

        def leave(self) -> None:
            ray.actor.exit_actor()

    actor = Actor.remote()
    print(ray.get(actor.one.remote(), timeout=30))
    attempt("leave", lambda: ray.get(actor.leave.remote(), timeout=30))
    gone(ray, actor)


@case
def in_a_coroutine(ray: Any) -> None:
    @ray.remote
    class Actor:
        async def one(self) -> int:
            return 1

        async def leave(self) -> None:
            await asyncio.sleep(0)
            ray.actor.exit_actor()

    actor = Actor.remote()
    print(ray.get(actor.one.remote(), timeout=30))
    attempt("leave", lambda: ray.get(actor.leave.remote(), timeout=30))
    gone(ray, actor)


@case
def in_a_plain_method_of_an_asynchronous_actor(ray: Any) -> None:
    @ray.remote
    class Actor:
        async def one(self) -> int:
            return 1

        def leave(self) -> None:
            ray.actor.exit_actor()

    actor = Actor.remote()
    attempt("leave", lambda: ray.get(actor.leave.remote(), timeout=30))
    gone(ray, actor)


@case
def in_one_of_several_threads(ray: Any) -> None:
    @ray.remote(max_concurrency=2)
    class Actor:
        def one(self) -> int:
            return 1

        def leave(self) -> None:
            ray.actor.exit_actor()

    actor = Actor.remote()
    attempt("leave", lambda: ray.get(actor.leave.remote(), timeout=30))
    gone(ray, actor)


@case
def in_a_group(ray: Any) -> None:
    @ray.remote(concurrency_groups={"io": 1})
    class Actor:
        def one(self) -> int:
            return 1

        @ray.method(concurrency_group="io")
        def leave(self) -> None:
            ray.actor.exit_actor()

    actor = Actor.remote()
    attempt("leave", lambda: ray.get(actor.leave.remote(), timeout=30))
    gone(ray, actor)


@case
def in_a_generator(ray: Any) -> None:
    @ray.remote
    class Actor:
        def one(self) -> int:
            return 1

        def items(self) -> Any:
            yield 1
            ray.actor.exit_actor()

    actor = Actor.remote()
    items = iter(actor.items.remote())
    print(ray.get(next(items), timeout=30))
    attempt("next", lambda: ray.get(next(items), timeout=30))
    gone(ray, actor)


@case
def in_the_constructor(ray: Any) -> None:
    @ray.remote
    class Actor:
        def __init__(self) -> None:
            ray.actor.exit_actor()

        def one(self) -> int:
            return 1

    actor = Actor.remote()
    gone(ray, actor)


@case
def in_the_hidden_call(ray: Any) -> None:
    @ray.remote
    class Actor:
        def one(self) -> int:
            return 1

    actor = Actor.remote()
    attempt("leave", lambda: ray.get(actor.__ray_call__.remote(lambda self: ray.actor.exit_actor()), timeout=30))
    gone(ray, actor)


@case
def in_a_try_block(ray: Any) -> None:
    @ray.remote
    class Actor:
        def one(self) -> int:
            return 1

        def leave(self) -> str:
            try:
                ray.actor.exit_actor()
            except Exception:
                return "caught"
            return "not reached"

    actor = Actor.remote()
    attempt("leave", lambda: ray.get(actor.leave.remote(), timeout=30))
    gone(ray, actor)


@case
def outside_of_actors(ray: Any) -> None:
    @ray.remote
    def task() -> None:
        ray.actor.exit_actor()

    accepts("in the driver", lambda: ray.actor.exit_actor())
    accepts("in a task", lambda: ray.get(task.remote(), timeout=30))


@case
def no_restart_after_it(ray: Any) -> None:
    @ray.remote(max_restarts=2)
    class Actor:
        def one(self) -> int:
            return 1

        def leave(self) -> None:
            ray.actor.exit_actor()

    actor = Actor.remote()
    attempt("leave", lambda: ray.get(actor.leave.remote(), timeout=30))
    gone(ray, actor)


@case
def calls_before_it_are_answered(ray: Any) -> None:
    @ray.remote
    class Actor:
        def value(self, x: int) -> int:
            return x

        def one(self) -> int:
            return 1

        def leave(self) -> None:
            ray.actor.exit_actor()

    actor = Actor.remote()
    values = [actor.value.remote(i) for i in range(20)]
    actor.leave.remote()
    print(ray.get(values, timeout=30) == list(range(20)))
    gone(ray, actor)


@case
def calls_behind_it_fail(ray: Any) -> None:
    @ray.remote
    class Actor:
        def __init__(self) -> None:
            self.event = threading.Event()

        def one(self) -> int:
            return 1

        def leave(self) -> None:
            ray.actor.exit_actor()

    actor = Actor.remote()
    ray.get(actor.one.remote(), timeout=30)
    leaving = actor.leave.remote()
    behind = [actor.one.remote() for _ in range(3)]
    attempt("leave", lambda: ray.get(leaving, timeout=30))
    for i, ref in enumerate(behind):
        attempt(f"behind {i}", lambda ref=ref: ray.get(ref, timeout=30))


@case
def sys_exit(ray: Any) -> None:
    @ray.remote
    class Actor:
        def one(self) -> int:
            return 1

        def leave(self, status: Any) -> None:
            sys.exit(status)

    for status in (0, 1):
        actor = Actor.remote()
        attempt(f"status {status}", lambda actor=actor, status=status: ray.get(actor.leave.remote(status), timeout=30))
        gone(ray, actor)


@case
def system_exit_with_restarts(ray: Any) -> None:
    @ray.remote(max_restarts=1, max_task_retries=1)
    class Actor:
        def __init__(self) -> None:
            self.x = 0

        def raise_x(self) -> int:
            self.x += 1
            return self.x

        def leave(self) -> None:
            sys.exit(0)

    actor = Actor.remote()
    print(ray.get(actor.raise_x.remote(), timeout=30))
    attempt("leave", lambda: ray.get(actor.leave.remote(), timeout=30))
    attempt("after", lambda: ray.get(actor.raise_x.remote(), timeout=30))
