"""Generators: results that come while the task runs, from tasks, actors and event loops."""

from __future__ import annotations

import asyncio
import os
import pickle
import signal
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

LIMIT = 20.0


def until(what: str, holds: Callable[[], Any]) -> None:
    end = time.monotonic() + LIMIT
    while not holds():
        assert time.monotonic() < end, f"not within {LIMIT} s: {what}"
        time.sleep(0.005)


class Diary:
    """What a generator did, told through a file."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def write(self, line: object) -> None:
        with self.path.open("a") as file:
            file.write(f"{line}\n")

    def read(self) -> list[str]:
        return self.path.read_text().split() if self.path.exists() else []


@pytest.fixture
def diary(tmp_path: Path) -> Diary:
    return Diary(tmp_path / "diary")


def drained(ray: Any, gen: Any) -> list[Any]:
    """What a generator gives: values, and the class's name of what it fails with."""
    found = []
    for ref in gen:
        try:
            found.append(ray.get(ref, timeout=LIMIT))
        except Exception as error:
            found.append(type(error).__name__)
    return found


def count(n: int) -> Any:
    yield from range(n)


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
            until("the item was seen", lambda i=i: str(i) in diary.read())

    for ref in steps.remote():
        diary.write(ray.get(ref))
    assert diary.read() == ["0", "1", "2"]


def test_what_the_object_says_of_itself(ray: Any, diary: Diary) -> None:
    @ray.remote
    def one() -> Any:
        until("it may begin", diary.read)
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
        until("it is as far ahead as it may", lambda taken=taken: len(diary.read()) >= min(6, taken + 2))
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


def test_a_worker_that_dies_halfway_is_gone_on_from(ray: Any, diary: Diary) -> None:
    @ray.remote
    def dies(n: int, at: int) -> Any:
        diary.write("run")
        first = len(diary.read()) == 1
        for i in range(n):
            if first and i == at:
                until("what came before was taken", lambda: "taken" in diary.read())
                os.kill(os.getpid(), signal.SIGKILL)
            yield i if i % 2 else bytes([i]) * 200_000

    def check(gen: Any, n: int, at: int) -> None:
        for i in range(n):
            value = ray.get(next(gen), timeout=LIMIT)
            assert value == (i if i % 2 else bytes([i]) * 200_000)
            if i == at - 1:
                diary.write("taken")
        with pytest.raises(StopIteration):
            next(gen)

    check(dies.remote(7, 4), 7, 4)
    assert diary.read().count("run") == 2
    diary.path.unlink()
    gen = dies.options(max_retries=0).remote(7, 1)
    next(gen)
    diary.write("taken")
    assert drained(ray, gen) == ["WorkerCrashedError"]
    with pytest.raises(ray.exceptions.WorkerCrashedError):
        ray.get(gen.completed())


def test_a_second_run_that_is_shorter_ends_there(ray: Any, diary: Diary) -> None:
    @ray.remote
    def shrinks() -> Any:
        diary.write("run")
        runs = len(diary.read())
        yield from range(5 if runs == 1 else 2)
        if runs == 1:
            until("all was taken", lambda: "taken" in diary.read())
            os.kill(os.getpid(), signal.SIGKILL)

    gen = shrinks.remote()
    assert ray.get([next(gen) for _ in range(5)]) == [0, 1, 2, 3, 4]
    diary.write("taken")
    assert drained(ray, gen) == []


def test_exceptions_are_retried_when_asked(ray: Any, diary: Diary) -> None:
    @ray.remote(max_retries=2, retry_exceptions=[ValueError])
    def flaky(good: int) -> Any:
        diary.write("run")
        run = len(diary.read())
        yield ("a", run)
        yield ("b", run)
        if run < good:
            raise ValueError
        yield ("c", run)

    assert drained(ray, flaky.remote(3)) == [("a", 1), ("b", 1), ("c", 3)]
    diary.path.unlink()
    assert drained(ray, flaky.options(max_retries=1).remote(9)) == [("a", 1), ("b", 1), "RayTaskError(ValueError)"]
    assert len(diary.read()) == 2
    for options, failed in (({"max_retries": 1}, True), ({"retry_exceptions": False}, False)):
        gen = flaky.options(**options).remote(9)
        if failed:  # as with Ray: what would have been tried again has failed as a whole
            with pytest.raises(ValueError):
                ray.get(gen.completed(), timeout=LIMIT)
        else:
            assert ray.get(gen.completed(), timeout=LIMIT) is None
        assert drained(ray, gen)[-1] == "RayTaskError(ValueError)"
        assert drained(ray, gen) == []


@pytest.mark.parametrize("kind", ["task", "actor"])
def test_what_was_yielded_before_os_exit_is_not_lost(ray: Any, kind: str) -> None:
    class Leaves:
        def items(self, n: int) -> Any:
            for i in range(n):
                yield i if i % 2 else bytes(150_000)
            os._exit(3)

    task = ray.remote(max_retries=0)(lambda n: (yield from Leaves().items(n)))
    actor = ray.remote(num_cpus=0)(Leaves)
    for _ in range(6):
        found = drained(ray, task.remote(5) if kind == "task" else actor.remote().items.remote(5))
        assert found[:5] == [i if i % 2 else bytes(150_000) for i in range(5)]
        assert found[5:] == ["WorkerCrashedError" if kind == "task" else "ActorDiedError"]


def closes(diary: Diary) -> Any:
    def endless() -> Any:
        try:
            while True:
                diary.write("item")
                yield bytes(150_000)
        finally:
            diary.write("closed")

    return endless


def test_one_that_is_let_go_early_is_closed(ray: Any, diary: Diary) -> None:
    gen = ray.remote(closes(diary)).options(_generator_backpressure_num_objects=3).remote()
    next(gen)
    del gen
    until("its finally block ran", lambda: "closed" in diary.read())

    def breaks() -> None:
        for ref in ray.remote(closes(diary)).options(_generator_backpressure_num_objects=3).remote():
            ray.get(ref)
            break

    breaks()
    until("its finally block ran", lambda: diary.read().count("closed") == 2)


def test_one_of_which_nothing_was_wanted_runs_to_its_end(ray: Any, diary: Diary) -> None:
    def effects() -> Any:
        for i in range(20):
            diary.write(i)
            yield i

    limited = ray.remote(effects).options(_generator_backpressure_num_objects=2)
    limited.remote()
    until("it went on", lambda: len(diary.read()) == 20)
    done = limited.remote().completed()
    assert ray.get(done, timeout=LIMIT) is None
    assert len(diary.read()) == 40


def test_cancelling(ray: Any, diary: Diary) -> None:
    @ray.remote
    def slow() -> Any:
        try:
            yield 1
            diary.write("sleeps")
            time.sleep(60)
        finally:
            diary.write("closed")

    gen = slow.remote()
    assert ray.get(next(gen)) == 1
    until("it sleeps", diary.read)
    ray.cancel(gen)
    with pytest.raises(ray.exceptions.TaskCancelledError):
        ray.get(next(gen))
    with pytest.raises(StopIteration):
        next(gen)
    assert diary.read() == ["sleeps", "closed"]
    with pytest.raises(ray.exceptions.TaskCancelledError):
        ray.get(gen.completed())

    gen = slow.remote()
    next(gen)
    ray.cancel(gen, force=True)
    assert drained(ray, gen) == ["TaskCancelledError"]

    # One that waits for its items to be taken, and one that has not begun.
    gen = ray.remote(closes(diary)).options(_generator_backpressure_num_objects=1).remote()
    next(gen)
    ray.cancel(gen)
    assert drained(ray, gen)[-1] == "RayTaskError(TaskCancelledError)"
    late = ray.remote(count).options(resources={"slot": 2})
    holder = ray.remote(closes(diary)).options(resources={"slot": 2}, _generator_backpressure_num_objects=1).remote()
    next(holder)
    gen = late.remote(3)
    ray.cancel(gen)
    assert drained(ray, gen) == ["TaskCancelledError"]


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
                    until("two were taken", lambda: "taken" in diary.read())
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
    until("its finally block ran", lambda: diary.read() == ["closed"])
    gen = limited.remote(1000)
    next(gen)
    del gen
    until("its finally block ran", lambda: diary.read() == ["closed"] * 2)


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


def test_ctrl_c_while_waiting_for_an_item(ray: Any, diary: Diary) -> None:
    @ray.remote
    def stuck() -> Any:
        until("it may end", diary.read)
        yield 1

    gen = stuck.remote()
    main = threading.main_thread().ident
    assert main is not None
    threading.Timer(0.2, signal.pthread_kill, (main, signal.SIGINT)).start()
    began = time.monotonic()
    with pytest.raises(KeyboardInterrupt):
        next(gen)
    assert time.monotonic() - began < 0.6
    diary.write("go")
    assert drained(ray, gen) == [1]


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


def test_lost_items_are_made_again(ray: Any, diary: Diary) -> None:
    from eagleray._private.internal_api import _lose

    @ray.remote
    def make(n: int, then: int) -> Any:
        diary.write("run")
        runs = len(diary.read())
        for i in range(n if runs == 1 else then):
            yield bytes([i]) * 300_000 if i % 2 else i

    def check(refs: list[Any], wanted: list[int]) -> None:
        assert [value if isinstance(value, int) else value[0] for value in ray.get(refs, timeout=LIMIT)] == wanted

    refs = list(make.remote(8, 1_000_000_000))
    check(refs, list(range(8)))
    _lose([refs[1], refs[5]])
    check(refs, list(range(8)))
    assert diary.read() == ["run"] * 2, "and the second run ended with the last of them"

    diary.path.unlink()
    gen = make.remote(8, 8)
    ray.get(gen.completed())
    untaken = list(gen)
    _lose(untaken[1::2])
    del refs
    check(untaken, list(range(8)))

    diary.path.unlink()
    refs = list(make.remote(8, 4))
    _lose([refs[1], refs[5]])
    check(refs[:4], [0, 1, 2, 3])
    with pytest.raises(ray.exceptions.StreamingGeneratorReplayInconsistentError):
        ray.get(refs[5], timeout=LIMIT)

    diary.path.unlink()
    with pytest.warns(DeprecationWarning):
        listed = make.options(num_returns="dynamic").remote(6, 6)
    refs = list(ray.get(listed))
    _lose([refs[3]])
    check(refs, list(range(6)))

    @ray.remote(max_restarts=1, max_task_retries=1)
    class A:
        def make(self, n: int) -> Any:
            for i in range(n):
                yield bytes([i]) * 300_000

    a = A.remote()
    refs = list(a.make.remote(4))
    _lose([refs[2]])
    check(refs, [0, 1, 2, 3])
    once = list(a.make.options(max_task_retries=0).remote(2))
    _lose([once[1]])
    with pytest.raises(ray.exceptions.ObjectLostError):
        ray.get(once[1], timeout=LIMIT)


def test_items_lost_while_others_are_to_come(ray: Any, diary: Diary, tmp_path: Path) -> None:
    """The generator runs a second time beside the first run, which goes on where it is."""
    from eagleray._private.internal_api import _lose

    gate = tmp_path / "gate"

    @ray.remote
    def make(n: int) -> Any:
        diary.write("run")
        for i in range(n):
            while i == n - 1 and not gate.exists():
                time.sleep(0.005)
            yield bytes([i]) * 300_000

    def first(ref: Any) -> int:
        value: bytes = ray.get(ref, timeout=LIMIT)
        return value[0]

    for limit in (-1, 1):
        gen = make.options(_generator_backpressure_num_objects=limit).remote(6)
        refs = [next(gen) for _ in range(4)]
        assert _lose([refs[0], refs[2]]) == 2
        assert [first(ref) for ref in refs] == [0, 1, 2, 3]
        assert _lose(refs[1]) == 1
        assert first(refs[1]) == 1
        refs.append(next(gen))
        assert not ray.wait([gen.completed()], timeout=0)[0], "the second run ended the first"
        gate.touch()
        refs += gen
        assert [first(ref) for ref in refs] == [0, 1, 2, 3, 4, 5]
        assert ray.get(gen.completed(), timeout=LIMIT) is None
        assert _lose([refs[5], refs[0]]) == 2
        assert [first(ref) for ref in refs] == [0, 1, 2, 3, 4, 5]
        assert diary.read() == ["run"] * 4
        gate.unlink()
        diary.path.unlink()

    gen = make.options(max_retries=0).remote(2)
    once = next(gen)
    _lose(once)
    with pytest.raises(ray.exceptions.ObjectReconstructionFailedError, match="max_retries=0"):
        ray.get(once, timeout=LIMIT)
    gate.touch()
    assert first(next(gen)) == 1
