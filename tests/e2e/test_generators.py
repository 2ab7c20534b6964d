"""Generators: results that come while the task runs, from tasks, actors and event loops."""

from __future__ import annotations

import asyncio
import os
import pickle
import signal
import threading
import time
from pathlib import Path
from typing import Any

import pytest
from generating import LIMIT, Diary, count, drained
from pace import until


@pytest.fixture
def diary(tmp_path: Path) -> Diary:
    return Diary(tmp_path / "diary")


def test_a_generator_streams_unless_it_says_otherwise(ray: Any) -> None:
    plain = ray.remote(count)
    gen = plain.remote(3)
    assert isinstance(gen, ray.ObjectRefGenerator) and iter(gen) is gen and gen.__aiter__() is gen
    refs = list(gen)
    assert all(isinstance(ref, ray.ObjectRef) for ref in refs) and ray.get(refs) == [0, 1, 2]
    for num_returns in ("streaming", None):
        assert ray.get(list(plain.options(num_returns=num_returns).remote(2))) == [0, 1]
    assert ray.get(list(ray.remote(num_returns="streaming")(count).remote(2))) == [0, 1]
    assert ray.get(plain.options(num_returns=1).remote(3)) == 0
    assert ray.get(plain.options(num_returns=2).remote(2)) == [0, 1]
    assert list(plain.remote(0)) == []


def test_thousands_of_items_small_and_large(ray: Any) -> None:
    @ray.remote
    def mixed(n: int) -> Any:
        for i in range(n):
            yield i if i % 100 else bytes([i % 256]) * 300_000

    seen = 0
    for i, ref in enumerate(mixed.remote(10_000)):
        value = ray.get(ref)
        assert value == i if i % 100 else (len(value) == 300_000 and value[0] == i % 256)
        seen += 1
    assert seen == 10_000


def test_items_come_while_the_task_runs(ray: Any, diary: Diary) -> None:
    @ray.remote
    def steps() -> Any:
        for i in range(3):
            yield i
            until(lambda i=i: str(i) in diary.read(), "the item was seen")

    for ref in steps.remote():
        diary.write(ray.get(ref))
    assert diary.read() == ["0", "1", "2"]


def test_what_the_object_says_of_itself(ray: Any, diary: Diary) -> None:
    @ray.remote
    def one() -> Any:
        until(diary.read, "it may begin")
        yield 1

    gen = one.remote()
    assert not gen.next_ready() and not gen.is_finished()
    assert gen._next_sync(0.01) == ray.ObjectRef.nil()
    assert ray.wait([gen], timeout=0.01) == ([], [gen])
    done = gen.completed()
    assert ray.wait([done], timeout=0)[0] == []
    diary.write("go")
    other = ray.put(1)
    assert ray.wait([gen, other], num_returns=2, timeout=LIMIT) == ([gen, other], [])
    assert gen.next_ready() and not gen.is_finished()
    assert ray.get(next(gen)) == 1
    assert ray.get(done) is None
    assert gen.is_finished() and not gen.next_ready()
    assert ray.wait([gen], timeout=LIMIT) == ([gen], [])
    for _ in range(2):
        with pytest.raises(StopIteration):
            next(gen)
    assert ray.get(gen) is gen
    with pytest.raises(TypeError):
        ray.get([gen])
    with pytest.raises(TypeError):
        ray.wait(gen)
    for name, args in (("send", (1,)), ("throw", (ValueError(),)), ("close", ())):
        with pytest.raises(NotImplementedError):
            getattr(gen, name)(*args)


def test_one_cannot_be_sent_anywhere(ray: Any) -> None:
    gen = ray.remote(count).remote(1)

    @ray.remote
    def take(*args: Any) -> None: ...

    for send in (pickle.dumps, ray.put, take.remote, lambda g: take.remote([g])):
        with pytest.raises(TypeError, match="ObjectRefGenerator"):
            send(gen)


def test_items_and_their_references_live_on_their_own(ray: Any) -> None:
    @ray.remote
    def nested() -> Any:
        for i in range(5):
            yield [ray.put(i), ray.put(bytes(200_000))]

    @ray.remote
    def total(pairs: Any, *rest: Any) -> int:
        return ray.get(pairs[0]) + len(ray.get(pairs[1])) + len(rest)

    gen = nested.remote()
    refs = list(gen)
    del gen
    assert ray.get([total.remote(ref, *refs) for ref in refs]) == [i + 200_000 + 5 for i in range(5)]


def test_an_exception_is_the_last_item(ray: Any) -> None:
    @ray.remote
    def fails(after: int) -> Any:
        yield from range(after)
        raise KeyError("oops")

    for after in (0, 2):
        gen = fails.remote(after)
        assert ray.get([next(gen) for _ in range(after)]) == list(range(after))
        assert not gen.is_finished()
        last = next(gen)
        with pytest.raises(KeyError) as caught:
            ray.get(last)
        assert "worker_stream" not in str(caught.value), "the runtime's own frames are nobody's business"
        assert ray.get(gen.completed()) is None and gen.is_finished()
        with pytest.raises(StopIteration):
            next(gen)

    @ray.remote
    def unpicklable() -> Any:
        yield 1
        yield threading.Lock()
        yield 3

    assert drained(ray, unpicklable.remote()) == [1, "RayTaskError(TypeError)"]

    @ray.remote
    def dependent(x: Any) -> Any:
        yield x

    gen = dependent.remote(last)
    assert drained(ray, gen) == ["RayTaskError(KeyError)"]
    with pytest.raises(KeyError):
        ray.get(gen.completed())


def test_no_more_items_ahead_than_allowed(ray: Any, diary: Diary) -> None:
    def ahead(n: int) -> Any:
        for i in range(n):
            diary.write(i)
            yield i

    gen = ray.remote(ahead).options(_generator_backpressure_num_objects=2).remote(6)
    for taken in range(6):
        until(lambda taken=taken: len(diary.read()) >= min(6, taken + 2), "it is as far ahead as it may")
        time.sleep(0.02)  # for it to go too far
        assert len(diary.read()) == min(6, taken + 2)
        assert ray.get(next(gen)) == taken
    assert drained(ray, gen) == []

    @ray.remote(num_cpus=4)
    def takes_all() -> int:
        return 1

    waiting = ray.remote(count).options(num_cpus=4, _generator_backpressure_num_objects=1).remote(3)
    assert ray.get(takes_all.remote(), timeout=LIMIT) == 1, "a generator that waits lends its CPUs"
    assert drained(ray, waiting) == [0, 1, 2]


def test_bad_options(ray: Any) -> None:
    f = ray.remote(count)
    for bad in (
        lambda: f.options(_generator_backpressure_num_objects=0),
        lambda: f.options(_num_objects_per_yield=2),
        lambda: ray.remote(_num_objects_per_yield=0)(count),
        lambda: ray.remote(num_returns="streaming")(lambda: 1),
        lambda: ray.remote(lambda: 1).options(num_returns="streaming"),
        lambda: ray.remote(_actor_generator_backpressure_num_objects=0)(type("A", (), {})),
        lambda: ray.method(num_returns="streaming")(lambda self: 1),
        lambda: ray.remote(lambda: 1).options(fallback=[(count, {})]).remote(),
    ):
        with pytest.raises(ValueError):
            bad()
    for bad in (
        lambda: f.options(num_returns="some"),
        lambda: f.options(_generator_backpressure_num_objects="2"),
    ):
        with pytest.raises(TypeError):
            bad()


def test_several_items_per_yield(ray: Any) -> None:
    @ray.remote(_num_objects_per_yield=2)
    def pairs(values: list[Any]) -> Any:
        yield from values

    assert drained(ray, pairs.remote([(1, 2), [3, 4]])) == [1, 2, 3, 4]
    assert drained(ray, pairs.remote([(1, 2), 3])) == [1, 2, "RayTaskError(ValueError)"]
    assert drained(ray, pairs.remote([(1, 2, 3)])) == ["RayTaskError(ValueError)"]


def test_dynamic_returns(ray: Any) -> None:
    with pytest.warns(DeprecationWarning):
        listed = ray.remote(num_returns="dynamic")(count)
    ref = listed.remote(3)
    assert isinstance(ref, ray.ObjectRef)
    found = ray.get(ref)
    assert isinstance(found, ray.DynamicObjectRefGenerator) and len(found) == 3
    assert ray.get(list(found)) == [0, 1, 2] and len(found) == 0

    @ray.remote
    def total(items: Any) -> int:
        return sum(ray.get(item) for item in items)

    assert ray.get(total.remote(ref)) == 3
    assert ray.get(total.remote(listed.remote(2000)), timeout=LIMIT) == 1999 * 1000

    def fails() -> Any:
        yield bytes(200_000)
        raise KeyError("oops")

    with pytest.warns(DeprecationWarning):
        first, last = ray.get(ray.remote(num_returns="dynamic")(fails).remote())
    assert len(ray.get(first)) == 200_000
    with pytest.raises(KeyError):
        ray.get(last)


def test_actors(ray: Any, diary: Diary) -> None:
    @ray.remote(max_restarts=1, max_task_retries=1)
    class A:
        def items(self, n: int) -> Any:
            yield from range(n)

        @ray.method(num_returns="streaming", _generator_backpressure_num_objects=1)
        def slowly(self, n: int) -> Any:
            yield from range(n)

        def dies(self, n: int) -> Any:
            diary.write("run")
            first = len(diary.read()) == 1
            for i in range(n):
                if first and i == 2:
                    until(lambda: "taken" in diary.read(), "two were taken")
                    os.kill(os.getpid(), signal.SIGKILL)
                yield i

        def plain(self) -> int:
            return 1

    a = A.remote()
    assert drained(ray, a.items.remote(3)) == [0, 1, 2]
    assert drained(ray, a.items.options(num_returns="streaming").remote(2)) == [0, 1]
    assert drained(ray, a.slowly.remote(5)) == [0, 1, 2, 3, 4]
    assert ray.get(a.items.options(num_returns=1).remote(1)) == 0
    with pytest.raises(ValueError):
        a.plain.options(num_returns="streaming")
    gen = a.dies.remote(5)
    assert ray.get([next(gen), next(gen)]) == [0, 1]
    diary.write("taken")
    assert drained(ray, gen) == [2, 3, 4]
    gen = a.items.remote(3)
    ray.kill(a)
    assert drained(ray, a.items.remote(1)) == ["ActorDiedError"]
    assert drained(ray, gen)[-1] in (2, "ActorDiedError")


def test_actors_with_threads(ray: Any) -> None:
    @ray.remote(max_concurrency=3, _actor_generator_backpressure_num_objects=2)
    class A:
        def items(self, n: int) -> Any:
            yield from range(n)

        def echo(self, x: int) -> int:
            return x

    a = A.remote()
    one, two = a.items.remote(50), a.items.remote(50)
    assert ray.get(a.echo.remote(7), timeout=LIMIT) == 7, "the others wait, this one runs"
    for i in range(50):
        assert ray.get([next(one), next(two)], timeout=LIMIT) == [i, i]
    assert drained(ray, one) + drained(ray, two) == []


def test_actors_with_an_event_loop(ray: Any, diary: Diary) -> None:
    @ray.remote
    class A:
        async def items(self, n: int) -> Any:
            try:
                for i in range(n):
                    await asyncio.sleep(0)
                    yield i
            finally:
                diary.write("closed")

        def plain(self, n: int) -> Any:
            yield from range(n)

        async def fails(self) -> Any:
            yield 1
            raise KeyError("oops")

        async def echo(self, x: int) -> int:
            return x

    a = A.remote()
    assert drained(ray, a.items.remote(3)) == [0, 1, 2]
    assert drained(ray, a.plain.remote(3)) == [0, 1, 2]
    assert drained(ray, a.fails.remote()) == [1, "RayTaskError(KeyError)"]
    limited = a.items.options(_generator_backpressure_num_objects=1)
    waiting = [limited.remote(3) for _ in range(20)]
    assert ray.get(a.echo.remote(7), timeout=LIMIT) == 7, "none of them holds the loop up"
    assert [drained(ray, gen) for gen in waiting] == [[0, 1, 2]] * 20
    diary.path.unlink()
    gen = limited.remote(1000)
    next(gen)
    ray.cancel(gen)
    assert drained(ray, gen)[-1] == "RayTaskError(TaskCancelledError)"
    until(lambda: diary.read() == ["closed"], "its finally block ran")
    gen = limited.remote(1000)
    next(gen)
    del gen
    until(lambda: diary.read() == ["closed"] * 2, "its finally block ran")


def test_async_iteration(ray: Any) -> None:
    @ray.remote
    def slowly(n: int) -> Any:
        for i in range(n):
            time.sleep(0.001)
            yield i
        if n == 3:
            raise KeyError("oops")

    async def read(n: int) -> list[Any]:
        found = []
        async for ref in slowly.remote(n):
            try:
                found.append(await ref)
            except KeyError:
                found.append("KeyError")
        return found

    async def main() -> Any:
        nothing = ray.remote(count).remote(0)
        with pytest.raises(StopAsyncIteration):
            await nothing.__anext__()
        return await asyncio.gather(*(read(n) for n in (1, 3, 20, 20)))

    assert asyncio.run(main()) == [[0], [0, 1, 2, "KeyError"], list(range(20)), list(range(20))]


def test_generators_inside_tasks(ray: Any) -> None:
    inner = ray.remote(count)

    @ray.remote
    def sums(n: int) -> Any:
        for ref in inner.options(_generator_backpressure_num_objects=2).remote(n):
            yield ray.get(ref) * 2

    assert drained(ray, sums.remote(20)) == [2 * i for i in range(20)]


def test_an_asynchronous_generator_as_a_task(ray: Any) -> None:
    @ray.remote(_generator_backpressure_num_objects=1)
    async def items(n: int) -> Any:
        for i in range(n):
            await asyncio.sleep(0)
            yield i

    assert drained(ray, items.remote(5)) == [0, 1, 2, 3, 4]
