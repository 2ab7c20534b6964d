"""Generators at their edges: how items come, who may leave early, and what ends them."""

from __future__ import annotations

import asyncio
import gc
import time
from typing import Any

import numpy as np
from casebook import attempt, case


def count(n: int) -> Any:
    for i in range(n):  # Ray sends values into generators: `yield from` fails there
        yield i * 1


@case
def items_one_by_one(ray: Any) -> None:
    g = ray.remote(count).remote(3)
    print(type(next(g)).__name__, ray.get(next(g)), ray.get(next(g)))
    attempt("after the last", lambda: next(g))
    attempt("again", lambda: next(g))
    print([ray.get(r) for r in ray.remote(count).remote(0)])


@case
def items_come_before_the_end(ray: Any) -> None:
    @ray.remote
    class Gate:
        def __init__(self) -> None:
            self.open = False

        def set(self) -> None:
            self.open = True

        def get(self) -> bool:
            return self.open

    gate = Gate.remote()

    @ray.remote
    def slow(gate: Any) -> Any:
        yield 1
        while not ray.get(gate.get.remote()):
            time.sleep(0.01)
        yield 2

    g = slow.remote(gate)
    print(ray.get(next(g)))
    ray.get(gate.set.remote())
    print(ray.get(next(g)))


@case
def an_exception_in_the_middle(ray: Any) -> None:
    @ray.remote
    def fails() -> Any:
        yield 1
        raise ValueError("middle")

    g = fails.remote()
    print(ray.get(next(g)))
    bad = next(g)
    attempt("the item", lambda: ray.get(bad))
    attempt("after it", lambda: next(g))
    attempt("completed", lambda: ray.get(g.completed()))


@case
def an_exception_at_once(ray: Any) -> None:
    @ray.remote
    def fails() -> Any:
        raise KeyError("first")
        yield 1

    g = fails.remote()
    attempt("item", lambda: ray.get(next(g)))
    attempt("after it", lambda: next(g))


@case
def completed_and_finished(ray: Any) -> None:
    g = ray.remote(count).remote(2)
    ray.get(g.completed())
    print(g.is_finished())
    print([ray.get(r) for r in g], g.is_finished())
    g = ray.remote(count).remote(2)
    items = list(g)
    attempt("completed", lambda: ray.get(g.completed()))
    print(ray.get(items))


@case
def a_generator_in_wait(ray: Any) -> None:
    g = ray.remote(count).remote(2)
    ready, left = ray.wait([g])
    print(len(ready), len(left), ready[0] is g)
    mixed, _ = ray.wait([g, ray.put(1)], num_returns=2)
    print(sorted(type(x).__name__ for x in mixed))
    print([ray.get(r) for r in g])


@case
def large_items(ray: Any) -> None:
    @ray.remote
    def arrays() -> Any:
        for i in range(5):
            yield np.full(300_000, i)

    print([int(ray.get(r)[0]) for r in arrays.remote()])
    refs = list(arrays.remote())
    print([int(x.sum()) for x in ray.get(refs)], ray.get(refs[0]).flags.writeable)


@case
def left_early(ray: Any) -> None:
    @ray.remote
    def many() -> Any:
        for i in range(1000):
            yield i * 1

    g = many.remote()
    first = next(g)
    del g
    gc.collect()
    print(ray.get(first), ray.get(ray.remote(lambda: 5).remote()))
    for ref in many.remote():
        if ray.get(ref) == 3:
            break
    print("left")


@case
def items_as_arguments(ray: Any) -> None:
    double = ray.remote(lambda x: 2 * x)
    print(ray.get([double.remote(r) for r in ray.remote(count).remote(5)]))
    total = ray.remote(lambda *xs: sum(xs))
    print(ray.get(total.remote(*ray.remote(count).remote(5))))


@case
def a_generator_inside_a_task(ray: Any) -> None:
    gen = ray.remote(count)

    @ray.remote
    def outer() -> int:
        return sum(ray.get(r) for r in gen.remote(6))

    @ray.remote
    def passes() -> Any:
        for r in gen.remote(3):
            yield ray.get(r) + 10

    print(ray.get(outer.remote()), [ray.get(r) for r in passes.remote()])


@case
def references_as_items(ray: Any) -> None:
    @ray.remote
    def puts() -> Any:
        for i in range(3):
            yield ray.put(i)

    print([ray.get(ray.get(r)) for r in puts.remote()])


@case
def generators_of_actors(ray: Any) -> None:
    @ray.remote
    class A:
        def sync(self, n: int) -> Any:
            for i in range(n):
                yield i * 1

        async def later(self, n: int) -> Any:
            for i in range(n):
                await asyncio.sleep(0)
                yield i

        async def fails(self) -> Any:
            yield 1
            raise ValueError("x")

    @ray.remote
    class Plain:
        def sync(self, n: int) -> Any:
            for i in range(n):
                yield i * 2

        def list(self) -> Any:
            return [1, 2]

    a, plain = A.remote(), Plain.remote()
    print([ray.get(r) for r in plain.sync.remote(3)], ray.get(plain.list.remote()))
    print([ray.get(r) for r in a.later.remote(3)])
    g = a.fails.remote()
    print(ray.get(next(g)))
    attempt("fails", lambda: ray.get(next(g)))
    print([ray.get(r) for r in plain.sync.options(num_returns="streaming").remote(2)])


@case
def async_iteration(ray: Any) -> None:
    async def main() -> Any:
        found = []
        async for ref in ray.remote(count).remote(3):
            found.append(await ref)
        g = ray.remote(count).remote(1)
        found.append(await (await anext(g)))
        try:
            await anext(g)
        except StopAsyncIteration:
            found.append("end")
        return found

    print(asyncio.run(main()))


@case
def many_small_items(ray: Any) -> None:
    print(sum(ray.get(list(ray.remote(count).remote(500)))))


@case
def a_fixed_number_of_results(ray: Any) -> None:
    three = ray.remote(num_returns=3)(count)
    print(ray.get(three.remote(3)))
    attempt("fewer", lambda: ray.get(three.remote(2)))
    attempt("more", lambda: ray.get(three.remote(4)))
    attempt("one", lambda: ray.get(ray.remote(num_returns=1)(count).remote(1)))


@case
def text_and_type_of_a_generator(ray: Any) -> None:
    g = ray.remote(count).remote(1)
    print(type(g).__name__, isinstance(g, ray.ObjectRefGenerator))
    print(hasattr(g, "__next__"), hasattr(g, "__anext__"), hasattr(g, "__aiter__"), iter(g) is g)
    attempt("pickled", lambda: ray.put(g))
    attempt("argument", lambda: ray.remote(lambda x: 1).remote(g))
    list(g)


@case
def a_plain_return_of_a_generator(ray: Any) -> None:
    attempt("returned", lambda: ray.get(ray.remote(lambda: count(2)).remote()))
    attempt("told", lambda: ray.remote(num_returns="streaming")(lambda: count(2)))
    attempt("a list told", lambda: ray.remote(num_returns="streaming")(lambda: [1, 2]))
    attempt("told later", lambda: ray.remote(lambda: [1]).options(num_returns="streaming").remote())


@case
def cancelled_generators(ray: Any) -> None:
    @ray.remote
    def endless() -> Any:
        while True:
            time.sleep(0.01)
            yield 1

    g = endless.remote()
    print(ray.get(next(g)))
    ray.cancel(g)

    def drain() -> None:
        for r in g:
            ray.get(r)

    attempt("after the cancel", drain)


@case
def dynamic_results(ray: Any) -> None:
    g = ray.get(ray.remote(num_returns="dynamic")(count).remote(3))
    print(type(g).__name__, [ray.get(r) for r in g], len(list(g)))
    inside = ray.remote(lambda g: [ray.get(r) for r in g])
    print(ray.get(inside.remote(g)))
