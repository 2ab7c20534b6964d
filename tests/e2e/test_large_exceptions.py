"""Exceptions that are larger than a message: they lie in the object store, like any other large result."""

from __future__ import annotations

import asyncio
import gc
from collections.abc import Callable, Iterator
from typing import Any

import eagleray
import pytest
from pace import until

MIB = 1 << 20
SIZE = 70 * MIB


class Heavy(Exception):
    """An exception with a large value inside, which its text does not show."""

    def __init__(self, number: int = 0, load: bytes = b"") -> None:
        super().__init__(number)
        self.load = load


def heavy(number: int = 0) -> Heavy:
    return Heavy(number, bytes(SIZE))


@pytest.fixture(scope="module")
def ray() -> Iterator[Any]:
    """A session whose store has room for some of these exceptions."""
    with eagleray.init(address="local", num_cpus=2, object_store_memory=800 * MIB, log_to_driver=False):
        yield eagleray


@pytest.fixture(autouse=True)
def nothing_stays(ray: Any) -> Iterator[None]:
    """What a test has put into the store leaves it with its last reference."""
    yield
    gc.collect()  # the frames of an exception that a test has caught refer to each other
    total = ray.cluster_resources()["object_store_memory"]
    until(lambda: ray.available_resources()["object_store_memory"] >= total - MIB, "the store is empty again")


def check(ray: Any, get: Callable[[], Any]) -> None:
    """Getting gives the exception with all that is in it."""
    with pytest.raises(Heavy) as caught:
        get()
    assert isinstance(caught.value, ray.exceptions.RayTaskError)
    assert len(caught.value.cause.load) == SIZE
    caught.value.cause.load = b""


@pytest.fixture
def runs(ray: Any) -> Any:
    @ray.remote(num_cpus=0)
    class Runs:
        def __init__(self) -> None:
            self.count = 0

        def add(self) -> int:
            self.count += 1
            return self.count

    return Runs.remote()


def test_a_task_that_raises_one_runs_once(ray: Any, runs: Any) -> None:
    @ray.remote
    def fail() -> None:
        ray.get(runs.add.remote())
        raise heavy()

    check(ray, lambda: ray.get(fail.remote()))
    assert ray.get(runs.add.remote()) == 2


def test_every_result_of_a_task_is_the_exception(ray: Any) -> None:
    @ray.remote(num_returns=2)
    def fail() -> Any:
        raise heavy()

    both = fail.remote()
    for _ in range(2):
        check(ray, lambda: ray.get(both[0]))
        del both[0]


def test_it_is_retried_as_often_as_it_may_be(ray: Any, runs: Any) -> None:
    @ray.remote(retry_exceptions=[Heavy], max_retries=2)
    def fail() -> int:
        if ray.get(runs.add.remote()) < 3:
            raise heavy()
        return 7

    assert ray.get(fail.remote()) == 7
    assert ray.get(runs.add.remote()) == 4


def test_tasks_and_methods_that_take_it_fail_with_it(ray: Any) -> None:
    @ray.remote
    def fail() -> None:
        raise heavy()

    @ray.remote
    def take(value: Any) -> Any:
        return value

    @ray.remote(num_cpus=0)
    class Taker:
        def take(self, value: Any) -> Any:
            return value

    check(ray, lambda: ray.get(take.remote(fail.remote())))
    taker = Taker.remote()
    check(ray, lambda: ray.get(taker.take.remote(fail.remote())))
    # The task that raised it has been let go of, and the one between as well.
    last = take.remote(take.remote(fail.remote()))
    check(ray, lambda: ray.get(last))
    # A worker takes what has failed because of it.
    check(ray, lambda: ray.get(take.remote([last])) and ray.get(ray.get(take.remote([last]))[0]))


def test_references_inside_are_kept_by_whatever_fails_because_of_it(ray: Any) -> None:
    @ray.remote
    def fail(size: int) -> None:
        error = Heavy(load=bytes(size))
        error.inside = ray.put("inside")  # type: ignore[attr-defined]
        raise error

    @ray.remote
    def take(value: Any) -> None:
        pass

    for size in (10, SIZE):
        last = take.remote(take.remote(fail.remote(size)))
        with pytest.raises(Heavy) as caught:
            ray.get(last)
        del last
        assert ray.get(caught.value.cause.inside) == "inside"
        del caught


def test_methods_and_coroutines_answer_with_it(ray: Any) -> None:
    @ray.remote(num_cpus=0)
    class Plain:
        def fail(self) -> None:
            raise heavy()

        def ok(self) -> int:
            return 1

    @ray.remote(num_cpus=0)
    class Loop:
        async def fail(self) -> None:
            raise heavy()

        async def ok(self) -> int:
            return 1

    for kind in (Plain, Loop):
        actor = kind.remote()
        check(ray, lambda: ray.get(actor.fail.remote()))  # noqa: B023
        assert ray.get(actor.ok.remote()) == 1


def test_awaiting_gives_it(ray: Any) -> None:
    @ray.remote
    def fail() -> None:
        raise heavy()

    async def wait() -> None:
        await fail.remote()

    check(ray, lambda: asyncio.run(wait()))
    check(ray, lambda: fail.remote().future().result())


def test_generators_end_with_it(ray: Any) -> None:
    @ray.remote(num_cpus=0)
    class Loop:
        async def items(self) -> Any:
            yield bytes(SIZE)
            raise heavy()

    @ray.remote
    def items() -> Any:
        yield bytes(SIZE)
        raise heavy()

    loop = Loop.remote()
    for made in (items.options(num_returns="streaming").remote(), loop.items.remote()):
        assert len(ray.get(next(made))) == SIZE
        check(ray, lambda: ray.get(next(made)))  # noqa: B023
        with pytest.raises(StopIteration):
            next(made)
    listed = items.options(num_returns="dynamic").remote()
    first, second = ray.get(listed)
    assert len(ray.get(first)) == SIZE
    check(ray, lambda: ray.get(second))


def test_one_that_finds_no_room_is_told_in_short(script: Any) -> None:
    source = """
    import eagleray as ray

    @ray.remote(num_returns=2)
    def fail():
        error = ValueError(12345)
        error.load = bytes(200 << 20)
        raise error

    @ray.remote
    def items():
        yield 1
        yield bytes(200 << 20)

    settings = {"automatic_object_spilling_enabled": False, "oom_grace_period_s": 0.1}
    with ray.init(address="local", num_cpus=1, object_store_memory=100 << 20, _system_config=settings):
        for reference in fail.remote():
            try:
                ray.get(reference)
            except ray.exceptions.ObjectStoreFullError as error:
                print(str(error).partition(" bytes")[0].rstrip("0123456789"), "ValueError: 12345" in str(error))
        made = items.options(num_returns="streaming").remote()
        print(ray.get(next(made)))
        try:
            ray.get(next(made))
        except ray.exceptions.ObjectStoreFullError as error:
            print(isinstance(error, ray.exceptions.RayTaskError))
    """
    told = "fail raised an exception of  True\n"
    assert script(source).stdout == told + told + "1\nTrue\n"


def test_the_text_of_one_may_be_large(ray: Any) -> None:
    @ray.remote
    def fail() -> None:
        raise ValueError("x" * (20 * MIB))

    with pytest.raises(ValueError, match="fail") as caught:
        ray.get(fail.remote())
    assert len(caught.value.cause.args[0]) == 20 * MIB < len(str(caught.value))


@pytest.mark.parametrize("detached", [False, True])
def test_a_constructor_that_raises_one_is_told_at_once(ray: Any, detached: bool) -> None:
    @ray.remote(num_cpus=0)
    class Broken:
        def __init__(self) -> None:
            raise heavy(77)

        def call(self) -> None:
            pass

    actor = Broken.options(**({"lifetime": "detached", "name": "broken"} if detached else {})).remote()

    @ray.remote
    def elsewhere(handle: Any) -> Any:
        try:
            ray.get(handle.call.remote())
        except ray.exceptions.ActorDiedError as error:
            cause = error.cause.cause
            return type(cause).__name__, cause.args, len(getattr(cause, "load", b""))

    size = 0 if detached else SIZE  # a detached actor has no owner that could keep it: it is told in short
    for _ in range(2):
        with pytest.raises(ray.exceptions.ActorDiedError, match="Heavy: 77") as caught:
            ray.get(actor.call.remote())
        cause = caught.value.cause.cause
        assert type(cause) is Heavy and cause.args == (77,) and len(getattr(cause, "load", b"")) == size
        del cause, caught
    name, args, found = ray.get(elsewhere.remote(actor))
    assert (name, args) == ("Heavy", (77,)) and found in (size, 0)


def test_dead_actors_with_large_exceptions_leave_nothing_in_the_daemon(ray: Any) -> None:
    from eagleray._private.messages import pack, unpack
    from eagleray._private.state import process

    @ray.remote(num_cpus=0)
    class Broken:
        def __init__(self) -> None:
            raise heavy()

        def call(self) -> None:
            pass

    def heap() -> int:
        found = unpack(process.require().hot.rpc("footprint", pack({"collect": True}), 10_000))
        return int(found["heap_live"])

    before = heap()
    for _ in range(3):
        actor = Broken.remote()
        with pytest.raises(ray.exceptions.ActorDiedError):
            ray.get(actor.call.remote())
        del actor
    assert heap() - before < 20 * MIB
