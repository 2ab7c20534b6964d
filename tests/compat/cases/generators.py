"""Generators: results one by one, from tasks and actors, and what becomes of them when something fails."""

from __future__ import annotations

import asyncio
import os
import signal
import tempfile
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from casebook import accepts, attempt, case

LIMIT = 30


def count(n: int) -> Iterator[int]:
    # Not `yield from range(n)`: Ray calls `send`, which a range's iterator lacks.
    for i in range(n):
        yield int(i)


def drained(ray: Any, gen: Any) -> list[Any]:
    found = []
    for ref in gen:
        try:
            found.append(ray.get(ref, timeout=LIMIT))
        except Exception as error:
            found.append(type(error).__name__)
    return found


@case
def streaming_is_the_default(ray: Any) -> None:
    remote_count = ray.remote(count)
    gen = remote_count.remote(3)
    print(type(gen).__name__, isinstance(gen, ray.ObjectRefGenerator), iter(gen) is gen)
    print([type(ref).__name__ for ref in gen])
    for num_returns in (None, "streaming"):
        print(ray.get(list(remote_count.options(num_returns=num_returns).remote(3))))
    print(ray.get(remote_count.options(num_returns=1).remote(3)))
    print(ray.get(remote_count.options(num_returns=2).remote(3)))
    attempt("none for one", lambda: ray.get(remote_count.options(num_returns=1).remote(0)))


@case
def what_it_says_of_itself(ray: Any) -> None:
    gen = ray.remote(count).remote(2)
    print(ray.get(gen.completed(), timeout=LIMIT))
    print(gen.next_ready(), gen.is_finished())
    print(ray.get([next(gen), next(gen)]), gen.next_ready(), gen.is_finished())
    attempt("next", lambda: next(gen))
    attempt("again", lambda: next(gen))
    attempt("send", lambda: gen.send(1))
    attempt("throw", lambda: gen.throw(ValueError()))
    attempt("close", lambda: gen.close())


@case
def get_and_wait(ray: Any) -> None:
    gen, ref = ray.remote(count).remote(1), ray.put(1)
    print(ray.get(gen) is gen)
    accepts("get of a list", lambda: ray.get([gen]))
    ready, rest = ray.wait([gen, ref], num_returns=2, timeout=LIMIT)
    print(ready == [gen, ref], rest)
    next(gen)
    ready, rest = ray.wait([gen], timeout=LIMIT)
    print(ready == [gen], rest)
    accepts("one that is not in a list", lambda: ray.wait(gen))
    accepts("twice the same", lambda: ray.wait([gen, gen]))


@case
def it_cannot_be_passed(ray: Any) -> None:
    gen = ray.remote(count).remote(1)

    @ray.remote
    def take(x: Any) -> None: ...

    @ray.remote
    def give() -> Any:
        return ray.remote(count).remote(1)

    accepts("argument", lambda: take.remote(gen))
    accepts("inside of one", lambda: take.remote([gen]))
    accepts("put", lambda: ray.put(gen))
    attempt("result", lambda: ray.get(give.remote(), timeout=LIMIT) and None)


@case
def exceptions(ray: Any) -> None:
    @ray.remote
    def fail(after: int) -> Iterator[int]:
        yield from count(after)
        raise ValueError("stop")

    for after in (0, 2):
        gen = fail.remote(after)
        print(drained(ray, gen), gen.is_finished())
        attempt("completed", lambda gen=gen: ray.get(gen.completed(), timeout=LIMIT))

    @ray.remote
    def follow(x: Any) -> Iterator[Any]:
        yield x

    *_, last = fail.remote(1)
    gen = follow.remote(last)
    print(drained(ray, gen))
    attempt("completed", lambda: ray.get(gen.completed(), timeout=LIMIT) and None)


@case
def options_that_do_not_fit(ray: Any) -> None:
    def plain(x: int) -> list[int]:
        return [x]

    accepts("streaming", lambda: ray.remote(num_returns="streaming")(plain))
    accepts("dynamic", lambda: ray.remote(num_returns="dynamic")(plain))
    accepts("options", lambda: ray.remote(plain).options(num_returns="streaming"))
    remote_count = ray.remote(count)
    accepts("no back-pressure", lambda: remote_count.options(_generator_backpressure_num_objects=-1).remote(1))
    accepts("zero", lambda: remote_count.options(_generator_backpressure_num_objects=0).remote(1))
    accepts("text", lambda: remote_count.options(_generator_backpressure_num_objects="1").remote(1))
    accepts("per yield", lambda: remote_count.options(_num_objects_per_yield=2).remote(1))
    accepts("without a generator", lambda: ray.remote(_generator_backpressure_num_objects=1)(plain).remote(1))

    class A:
        pass

    for limit in (-1, 0, 2):
        accepts(
            f"an actor's {limit}", lambda limit=limit: ray.remote(_actor_generator_backpressure_num_objects=limit)(A)
        )


@case
def several_per_yield(ray: Any) -> None:
    @ray.remote(_num_objects_per_yield=2)
    def pairs(values: list[Any]) -> Iterator[Any]:
        yield from (value for value in values)

    print(drained(ray, pairs.remote([(1, 2), [3, 4]])))
    print(drained(ray, pairs.remote([(1, 2), 3])))
    print(drained(ray, pairs.remote([(1, 2, 3)])))


@case
def back_pressure(ray: Any) -> None:
    limited = ray.remote(_generator_backpressure_num_objects=1)(count)
    print(ray.get(list(limited.remote(20)), timeout=LIMIT))

    @ray.remote
    def total(n: int) -> int:
        return sum(ray.get(ref) for ref in limited.options(num_cpus=0).remote(n))

    print(ray.get(total.remote(10), timeout=LIMIT))


@case
def dynamic(ray: Any) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        listed = ray.remote(num_returns="dynamic")(count)

        @ray.remote(num_returns="dynamic")
        def fail() -> Iterator[int]:
            yield 1
            raise ValueError("stop")

    ref = listed.remote(3)
    print(type(ref).__name__)
    found = ray.get(ref)
    print(type(found).__name__, len(found), ray.get(list(found)), len(found), list(found))

    @ray.remote
    def total(items: Any) -> int:
        return sum(ray.get(item) for item in items)

    print(ray.get(total.remote(listed.remote(4)), timeout=LIMIT))
    print(drained(ray, ray.get(fail.remote())))


@case
def methods(ray: Any) -> None:
    @ray.remote
    class A:
        def items(self, n: int) -> Iterator[int]:
            yield from count(n)

        @ray.method(num_returns="streaming", _generator_backpressure_num_objects=1)
        def slowly(self, n: int) -> Iterator[int]:
            yield from count(n)

        def fail(self) -> Iterator[int]:
            yield 1
            raise ValueError("stop")

        def plain(self) -> int:
            return 1

    a = A.remote()
    print(type(a.items.remote(1)).__name__)
    print(drained(ray, a.items.remote(3)), drained(ray, a.slowly.remote(4)), drained(ray, a.fail.remote()))
    print(drained(ray, a.items.options(num_returns="streaming").remote(2)))
    print(ray.get(a.items.options(num_returns=1).remote(2)), ray.get(a.items.options(num_returns=2).remote(2)))
    accepts("no generator", lambda: a.plain.options(num_returns="streaming"))
    ray.kill(a)
    print(drained(ray, a.items.remote(1)))


@case
def event_loops(ray: Any) -> None:
    @ray.remote
    class A:
        async def items(self, n: int) -> Any:
            for i in range(n):
                await asyncio.sleep(0.001)
                yield i

        def plain(self, n: int) -> Iterator[int]:
            yield from count(n)

        async def fail(self) -> Any:
            yield 1
            raise ValueError("stop")

    a = A.remote()
    print(drained(ray, a.items.remote(3)), drained(ray, a.plain.remote(3)), drained(ray, a.fail.remote()))

    async def read(gen: Any) -> list[Any]:
        found = []
        async for ref in gen:
            try:
                found.append(await ref)
            except ValueError as error:
                found.append(type(error).__name__)
        return found

    async def main() -> list[Any]:
        return await asyncio.gather(read(a.items.remote(4)), read(a.fail.remote()), read(ray.remote(count).remote(5)))

    print(asyncio.run(main()))


@case
def retries(ray: Any) -> None:
    folder = Path(tempfile.mkdtemp())

    def run_of(name: str) -> int:
        path = folder / name
        with path.open("a") as file:
            file.write("x")
        return path.stat().st_size

    @ray.remote(max_retries=2)
    def flaky(name: str, good: int, kill: bool) -> Iterator[Any]:
        run = run_of(name)
        yield "a", run
        yield "b", run
        if run < good:
            if kill:
                while not (folder / "taken").exists():
                    pass
                os.kill(os.getpid(), signal.SIGKILL)
            raise ValueError
        yield "c", run

    print(drained(ray, flaky.options(retry_exceptions=True).remote("all", 3, False)))
    print(drained(ray, flaky.options(retry_exceptions=[ValueError], max_retries=1).remote("some", 3, False)))
    print(drained(ray, flaky.options(retry_exceptions=[KeyError]).remote("others", 3, False)))
    for name, most in (("dies", 2), ("dies once", 0)):
        (folder / "taken").unlink(missing_ok=True)
        gen = flaky.options(max_retries=most).remote(name, 2, True)
        print(ray.get([next(gen), next(gen)]))
        (folder / "taken").touch()
        print(drained(ray, gen))


@case
def cancelling(ray: Any) -> None:
    folder = Path(tempfile.mkdtemp())

    @ray.remote
    def slow(name: str) -> Iterator[int]:
        try:
            yield 1
            (folder / name).touch()
            while True:
                pass
        finally:
            (folder / f"{name} closed").touch()

    for force in (False, True):
        name = f"{force}"
        gen = slow.remote(name)
        print(ray.get(next(gen)))
        while not (folder / name).exists():
            pass
        ray.cancel(gen, force=force)
        last = next(gen)
        attempt("last", lambda last=last: isinstance(_error(ray, last), ray.exceptions.TaskCancelledError))
        attempt("more", lambda gen=gen: next(gen))
    print(sorted(path.name for path in folder.iterdir()))


def _error(ray: Any, ref: Any) -> BaseException | None:
    try:
        ray.get(ref, timeout=LIMIT)
    except Exception as error:
        return error
    return None
