"""Coroutine actors: constructors that are coroutines, classes with few coroutines, loops and contexts."""

from __future__ import annotations

import asyncio
import threading
from typing import Any

from casebook import attempt, case


@case
def a_constructor_that_is_a_coroutine(ray: Any) -> None:
    @ray.remote
    class Actor:
        async def __init__(self, value: int) -> None:  # type: ignore[misc]
            await asyncio.sleep(0.01)
            self.value = value

        async def get(self) -> int:
            return self.value

    print(ray.get(Actor.remote(7).get.remote(), timeout=30))


@case
def a_coroutine_constructor_with_plain_methods(ray: Any) -> None:
    @ray.remote
    class Actor:
        async def __init__(self, value: int) -> None:  # type: ignore[misc]
            await asyncio.sleep(0)
            self.value = value

        def get(self) -> Any:
            return getattr(self, "value", "no value")

    attempt("value", lambda: ray.get(Actor.remote(7).get.remote(), timeout=30))


@case
def a_coroutine_constructor_that_raises(ray: Any) -> None:
    @ray.remote
    class Actor:
        async def __init__(self) -> None:  # type: ignore[misc]
            await asyncio.sleep(0)
            raise KeyError("constructor")

        async def get(self) -> int:
            return 1

    actor = Actor.remote()
    attempt("call", lambda: ray.get(actor.get.remote(), timeout=30))
    attempt("ready", lambda: ray.get(actor.__ray_ready__.remote(), timeout=30))


@case
def a_coroutine_constructor_awaits_references(ray: Any) -> None:
    @ray.remote
    def make() -> int:
        return 5

    @ray.remote
    class Actor:
        async def __init__(self) -> None:  # type: ignore[misc]
            self.value = await make.remote()

        async def get(self) -> int:
            return self.value

    print(ray.get(Actor.remote().get.remote(), timeout=30))


@case
def a_coroutine_constructor_is_over_before_the_first_call(ray: Any) -> None:
    @ray.remote
    class Actor:
        async def __init__(self) -> None:  # type: ignore[misc]
            self.order = ["begins"]
            await asyncio.sleep(0.3)
            self.order.append("ends")

        async def get(self) -> list[str]:
            return [*self.order, "call"]

    print(ray.get(Actor.remote().get.remote(), timeout=30))


@case
def one_coroutine_makes_the_actor_asynchronous(ray: Any) -> None:
    @ray.remote
    class Actor:
        def plain(self) -> bool:
            return asyncio.get_event_loop().is_running()

        async def coroutine(self) -> int:
            return 1

    actor = Actor.remote()
    print(ray.get(actor.plain.remote(), timeout=30), ray.get(actor.coroutine.remote(), timeout=30))


@case
def a_class_without_coroutines_has_no_loop(ray: Any) -> None:
    @ray.remote
    class Actor:
        def plain(self) -> bool:
            try:
                asyncio.get_running_loop()
                return True
            except RuntimeError:
                return False

    print(ray.get(Actor.remote().plain.remote(), timeout=30))


@case
def an_asynchronous_generator_makes_the_actor_asynchronous(ray: Any) -> None:
    @ray.remote
    class Actor:
        def plain(self) -> bool:
            return asyncio.get_event_loop().is_running()

        async def items(self) -> Any:
            for i in range(3):
                yield i
                await asyncio.sleep(0)

    actor = Actor.remote()
    print([ray.get(ref) for ref in actor.items.remote()], ray.get(actor.plain.remote(), timeout=30))


@case
def a_coroutine_of_a_base_class(ray: Any) -> None:
    class Base:
        async def coroutine(self) -> str:
            await asyncio.sleep(0)
            return "base"

    @ray.remote
    class Actor(Base):
        def plain(self) -> str:
            return "plain"

    actor = Actor.remote()
    print(ray.get([actor.coroutine.remote(), actor.plain.remote()], timeout=30))


@case
def a_plain_method_that_returns_a_coroutine(ray: Any) -> None:
    @ray.remote
    class Actor:
        async def inner(self) -> int:
            return 1

        def outer(self) -> Any:
            return self.inner()

    attempt("outer", lambda: ray.get(Actor.remote().outer.remote(), timeout=30))


@case
def a_plain_method_that_returns_a_reference(ray: Any) -> None:
    @ray.remote
    class Actor:
        async def coroutine(self) -> int:
            return 1

        def reference(self) -> Any:
            return ray.put(5)

    found = ray.get(Actor.remote().reference.remote(), timeout=30)
    print(type(found).__name__, ray.get(found))


@case
def a_coroutine_that_returns_a_reference(ray: Any) -> None:
    @ray.remote
    class Actor:
        async def reference(self) -> Any:
            return ray.put(5)

    found = ray.get(Actor.remote().reference.remote(), timeout=30)
    print(type(found).__name__, ray.get(found))


@case
def a_static_coroutine_and_one_of_the_class(ray: Any) -> None:
    @ray.remote
    class Actor:
        @staticmethod
        async def static(x: int) -> int:
            return x

        @classmethod
        async def of_class(cls, x: int) -> tuple[str, int]:
            return cls.__name__, x

        async def plain(self) -> int:
            return 3

    actor = Actor.remote()
    print(ray.get(actor.plain.remote(), timeout=30))
    attempt("static", lambda: ray.get(actor.static.remote(1), timeout=30))
    attempt("of the class", lambda: ray.get(actor.of_class.remote(2), timeout=30))


@case
def calls_of_plain_methods_run_on_the_loop(ray: Any) -> None:
    @ray.remote
    class Actor:
        async def coroutine(self) -> int:
            return threading.get_ident()

        def plain(self) -> int:
            return threading.get_ident()

    actor = Actor.remote()
    print(len(set(ray.get([actor.coroutine.remote(), actor.plain.remote()], timeout=30))))


@case
def the_constructor_of_an_asynchronous_actor(ray: Any) -> None:
    @ray.remote
    class Actor:
        def __init__(self) -> None:
            self.task: Any = None
            try:
                asyncio.get_running_loop()
                self.running = True
            except RuntimeError:
                self.running = False

        async def get(self) -> bool:
            return self.running

    print(ray.get(Actor.remote().get.remote(), timeout=30))


@case
def results_of_several_references(ray: Any) -> None:
    @ray.remote
    class Actor:
        @ray.method(num_returns=2)
        async def two(self) -> Any:
            return 1, 2

        async def pair(self) -> Any:
            return 3, 4

    actor = Actor.remote()
    print(ray.get(actor.two.remote(), timeout=30), ray.get(actor.pair.options(num_returns=2).remote(), timeout=30))


@case
def get_in_a_coroutine(ray: Any) -> None:
    @ray.remote
    class Actor:
        async def get(self) -> Any:
            return ray.get(ray.put(1))

        async def wait(self) -> Any:
            ready, _ = ray.wait([ray.put(1)])
            return len(ready)

    actor = Actor.remote()
    print(ray.get([actor.get.remote(), actor.wait.remote()], timeout=30))


@case
def gathered_in_the_driver(ray: Any) -> None:
    @ray.remote
    class Actor:
        async def double(self, x: int) -> int:
            return 2 * x

    actor = Actor.remote()

    async def main() -> list[int]:
        return list(await asyncio.gather(*[actor.double.remote(i) for i in range(3)]))

    print(asyncio.run(main()))


@case
def a_large_max_concurrency(ray: Any) -> None:
    @ray.remote
    class Actor:
        def __init__(self) -> None:
            self.inside = 0
            self.event = asyncio.Event()

        async def enter(self) -> None:
            self.inside += 1
            if self.inside == 300:
                self.event.set()
            await self.event.wait()

    actor = Actor.remote()
    print(len(ray.get([actor.enter.remote() for _ in range(300)], timeout=60)))
