"""Actors: state, order, names, concurrency, ends."""

from __future__ import annotations

import asyncio
import gc
import os
import signal
import threading
import time
from pathlib import Path
from typing import Any

import pytest
from pace import PATIENCE_S, until


def alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


class Counter:
    def __init__(self, start: int = 0) -> None:
        self.n = start

    def add(self, n: int = 1) -> int:
        self.n += n
        return self.n

    def pid(self) -> int:
        return os.getpid()

    def fail(self) -> None:
        raise KeyError("boom")

    def crash(self) -> None:
        os._exit(7)

    def leave(self) -> None:
        import eagleray

        eagleray.actor.exit_actor()

    def __len__(self) -> int:
        return self.n

    @staticmethod
    def double(x: int) -> int:
        return 2 * x

    @classmethod
    def name(cls) -> str:
        return cls.__name__


@pytest.fixture
def counters(ray: Any) -> Any:
    return ray.remote(Counter)


def test_state_order_and_methods(ray: Any, counters: Any) -> None:
    a = counters.remote(10)
    assert ray.get([a.add.remote() for _ in range(100)]) == list(range(11, 111))
    assert ray.get(a.add.remote(n=5)) == 115
    assert ray.get(a.double.remote(4)) == 8 and ray.get(a.name.remote()) == "Counter"
    assert ray.get(a.__len__.remote()) == 115
    assert ray.get(a.__ray_ready__.remote()) is True
    assert ray.get(a.__ray_call__.remote(lambda self, k: self.n + k, 1)) == 116
    assert repr(a) == f"Actor(Counter, {a._actor_id.hex()})"
    assert "add" in dir(a)


def test_arguments_of_the_constructor(ray: Any, counters: Any) -> None:
    @ray.remote
    def three() -> int:
        return 3

    a = counters.remote(three.remote())
    assert ray.get(a.add.remote(three.remote())) == 6

    @ray.remote
    def late() -> int:
        time.sleep(0.1)
        return 4

    b = counters.options(name="late").remote(late.remote())
    assert ray.get(b.add.remote(1)) == 5
    with pytest.raises(TypeError, match="too many positional"):
        counters.remote(1, 2)
    with pytest.raises(TypeError, match="unexpected keyword"):
        counters.remote(stop=1)


def test_handles_travel(ray: Any, counters: Any) -> None:
    @ray.remote
    def use(handle: Any, n: int) -> int:
        return ray.get(handle.add.remote(n))

    @ray.remote
    class Keeper:
        def keep(self, handles: list[Any]) -> None:
            self.handle = handles[0]

        def use(self) -> int:
            return ray.get(self.handle.add.remote(100))

    a = counters.remote()
    assert ray.get(use.remote(a, 1)) == 1
    assert ray.get([use.remote(a, 1) for _ in range(5)])[-1] <= 6
    keeper = Keeper.remote()
    ray.get(keeper.keep.remote([a]))
    pid = ray.get(a.pid.remote())
    del a
    gc.collect()
    assert ray.get(keeper.use.remote()) == 106, "another actor's handle keeps it alive"
    assert alive(pid)


def test_handle_as_result(ray: Any, counters: Any) -> None:
    @ray.remote
    def make() -> Any:
        handle = counters.remote(5)
        ray.get(handle.add.remote())
        return handle

    handle = ray.get(make.remote())
    assert ray.get(handle.add.remote()) == 7


def test_handles_and_references_on_their_way(ray: Any, counters: Any) -> None:
    """Nobody but the message holds what is inside it."""

    @ray.remote
    def use(handles: list[Any]) -> int:
        return ray.get(handles[0].add.remote(5))

    @ray.remote
    def make() -> list[Any]:
        return [counters.remote(1)]

    @ray.remote
    def nest() -> list[Any]:
        return [ray.put(3), [use.remote([counters.remote()])]]

    for _ in range(5):
        assert ray.get(use.remote([counters.remote()]), timeout=PATIENCE_S) == 5
        assert ray.get(use.remote(make.remote()), timeout=PATIENCE_S) == 6
        handle = ray.get(make.remote(), timeout=PATIENCE_S)[0]
        assert ray.get(handle.add.remote(), timeout=PATIENCE_S) == 2
        value, (inner,) = ray.get(nest.remote(), timeout=PATIENCE_S)
        assert ray.get(value, timeout=PATIENCE_S) == 3 and ray.get(inner, timeout=PATIENCE_S) == 5
        stored = ray.put([ray.put("deep"), counters.remote()])
        deep, handle = ray.get(stored)
        del stored
        assert ray.get(deep) == "deep" and ray.get(handle.add.remote(), timeout=PATIENCE_S) == 1


def test_last_handle_ends_the_actor_after_its_calls(ray: Any, counters: Any) -> None:
    a = counters.remote()
    pid = ray.get(a.pid.remote())
    refs = [a.add.remote() for _ in range(50)]
    del a
    gc.collect()
    assert ray.get(refs) == list(range(1, 51))
    until(lambda: not alive(pid))
    assert ray.get(counters.remote(1).add.remote()) == 2


def test_errors_leave_the_actor_alive(ray: Any, counters: Any) -> None:
    a = counters.remote()
    with pytest.raises(KeyError) as caught:
        ray.get(a.fail.remote())
    assert "Counter.fail" in str(caught.value) and a._actor_id.hex() in str(caught.value)
    assert ray.get(a.add.remote()) == 1


@pytest.mark.parametrize("how", ["kill", "crash", "leave", "terminate", "sigkill"])
def test_ends(ray: Any, counters: Any, how: str) -> None:
    a = counters.remote()
    pid = ray.get(a.pid.remote())
    before = a.add.remote()
    if how == "crash":
        ray.get(before)  # or its answer may go down with the process
    if how == "kill":
        ray.kill(a)
        ref = a.add.remote()
    elif how == "sigkill":
        os.kill(pid, signal.SIGKILL)
        ref = a.add.remote()
    else:
        ref = a.__ray_terminate__.remote() if how == "terminate" else getattr(a, how).remote()
    if how not in ("kill", "sigkill"):
        assert ray.get(before) == 1, "what was sent before is answered"
    for failed in (ref, a.add.remote()):
        with pytest.raises(ray.exceptions.ActorDiedError, match="Counter"):
            ray.get(failed, timeout=PATIENCE_S)
    until(lambda: not alive(pid))


def test_constructor_that_fails(ray: Any) -> None:
    @ray.remote
    class Broken:
        def __init__(self, why: str) -> None:
            raise ValueError(why)

        def m(self) -> None: ...

    a = Broken.remote("no start")
    for _ in range(2):
        with pytest.raises(ray.exceptions.ActorDiedError) as caught:
            ray.get(a.m.remote(), timeout=PATIENCE_S)
        assert "no start" in str(caught.value) and "__init__" in str(caught.value)
        assert isinstance(caught.value.__cause__, ValueError)
        assert caught.value.actor_init_failed


def test_constructor_that_returns_something(ray: Any) -> None:
    @ray.remote
    class GPUActor(object):  # noqa: UP004
        def __init__(self) -> None:
            return "This actor is allowed to use GPUs"  # type: ignore[return-value]  # noqa: PLE0101

        def m(self) -> int:
            return 1

    assert ray.get(GPUActor.remote().m.remote(), timeout=PATIENCE_S) == 1


def test_names(ray: Any, counters: Any) -> None:
    a = counters.options(name="counter").remote(5)
    assert ray.get(ray.get_actor("counter").add.remote()) == 6
    assert ray.get_actor("counter") == a
    assert ray.util.list_named_actors() == ["counter"]
    with pytest.raises(ValueError, match="already taken"):
        counters.options(name="counter").remote()
    same = counters.options(name="counter", get_if_exists=True).remote(99)
    assert same == a and ray.get(same.add.remote()) == 7
    with pytest.raises(ValueError, match="'counter'"):
        ray.get_actor("counter", namespace="elsewhere")
    other = counters.options(name="counter", namespace="elsewhere").remote()
    assert ray.get_actor("counter", namespace="elsewhere") == other
    with pytest.raises(ValueError, match="empty"):
        counters.options(name="").remote()

    @ray.remote
    def find() -> int:
        return ray.get(ray.get_actor("counter").add.remote())

    assert ray.get(find.remote()) == 8
    ray.kill(a)
    until(lambda: "counter" not in ray.util.list_named_actors())
    again = counters.options(name="counter").remote()
    assert ray.get(again.add.remote()) == 1


def test_detached_actors_outlive_their_handles(ray: Any, counters: Any) -> None:
    counters.options(name="stays", lifetime="detached").remote(1)
    gc.collect()
    assert ray.get(ray.get_actor("stays").add.remote()) == 2
    ray.kill(ray.get_actor("stays"))


def test_number_of_results_of_methods(ray: Any) -> None:
    @ray.remote
    class Two:
        @ray.method(num_returns=2)
        def both(self) -> Any:
            return 1, 2

        def one(self) -> Any:
            return 3, 4

    a = Two.remote()
    first, second = a.both.remote()
    assert ray.get([first, second]) == [1, 2]
    assert ray.get(a.one.options(num_returns=2).remote()) == [3, 4]
    assert ray.get(a.one.remote()) == (3, 4)


def test_threads(ray: Any) -> None:
    @ray.remote(max_concurrency=4)
    class Meeting:
        def __init__(self) -> None:
            self.barrier = threading.Barrier(4)

        def arrive(self) -> int:
            self.barrier.wait(20)
            return threading.get_ident()

    a = Meeting.remote()
    assert len(set(ray.get([a.arrive.remote() for _ in range(4)], timeout=30))) == 4


def test_coroutines(ray: Any) -> None:
    @ray.remote
    class Mailbox:
        def __init__(self) -> None:
            self.arrived = asyncio.Event()

        async def take(self) -> str:
            await self.arrived.wait()
            return "mail"

        def put(self) -> None:
            self.arrived.set()

        async def ask(self, ref: list[Any]) -> int:
            return await ref[0] + 1

        async def never(self) -> None:
            await asyncio.Event().wait()

    a = Mailbox.remote()
    takes = [a.take.remote() for _ in range(10)]
    ray.get(a.put.remote())
    assert ray.get(takes) == ["mail"] * 10
    assert ray.get(a.ask.remote([ray.put(4)])) == 5
    waiting = a.never.remote()
    ray.wait([waiting], timeout=0.2)
    ray.cancel(waiting)
    with pytest.raises(ray.exceptions.TaskCancelledError):
        ray.get(waiting, timeout=PATIENCE_S)
    assert ray.get(a.take.remote()) == "mail"


def test_restarts(ray: Any) -> None:
    @ray.remote(max_restarts=1)
    class Phoenix:
        def __init__(self) -> None:
            self.n = 0

        def add(self) -> int:
            self.n += 1
            return self.n

        def crash(self) -> None:
            os._exit(1)

        def lives(self) -> bool:
            return ray.get_runtime_context().was_current_actor_reconstructed

    a = Phoenix.remote()
    assert ray.get([a.add.remote(), a.add.remote(), a.lives.remote()]) == [1, 2, False]
    with pytest.raises(ray.exceptions.RayActorError):
        ray.get(a.crash.remote(), timeout=PATIENCE_S)
    assert ray.get([a.add.remote(), a.lives.remote()], timeout=PATIENCE_S) == [1, True]
    a.crash.remote()
    with pytest.raises(ray.exceptions.ActorDiedError):
        ray.get(a.add.remote(), timeout=PATIENCE_S)


def test_pending_calls_are_limited(ray: Any, tmp_path: Path) -> None:
    @ray.remote(max_pending_calls=2)
    class Slow:
        def hold(self, end: Path) -> None:
            until(end.exists)

    a, end = Slow.remote(), tmp_path / "end"
    refs = [a.hold.remote(end), a.hold.remote(end)]
    with pytest.raises(ray.exceptions.PendingCallsLimitExceeded):
        a.hold.remote(end)
    end.touch()
    ray.get(refs)
    ray.get(a.hold.remote(end))


def test_exit_actor_outside_of_actors(ray: Any) -> None:
    @ray.remote
    def leave() -> None:
        ray.actor.exit_actor()

    with pytest.raises(TypeError, match="exit_actor"):
        ray.actor.exit_actor()
    with pytest.raises(TypeError, match="exit_actor"):
        ray.get(leave.remote())


def test_atexit_and_destructors_run_at_the_end(ray: Any, tmp_path: Any) -> None:
    @ray.remote
    class Tidy:
        def __init__(self) -> None:
            import atexit

            atexit.register(lambda: (tmp_path / "atexit").touch())

        def leave(self) -> None:
            ray.actor.exit_actor()

        def __del__(self) -> None:
            (tmp_path / "del").touch()

    a = Tidy.remote()
    with pytest.raises(ray.exceptions.ActorDiedError):
        ray.get(a.leave.remote(), timeout=PATIENCE_S)
    until(lambda: {path.name for path in tmp_path.iterdir()} == {"atexit", "del"})


def test_kill_runs_no_exit_handlers(ray: Any, tmp_path: Any) -> None:
    @ray.remote
    class Tidy:
        def __init__(self) -> None:
            import atexit

            atexit.register(lambda: (tmp_path / "atexit").touch())

        def pid(self) -> int:
            return os.getpid()

    a = Tidy.remote()
    pid = ray.get(a.pid.remote(), timeout=PATIENCE_S)
    ray.kill(a)
    with pytest.raises(ray.exceptions.ActorDiedError):
        ray.get(a.pid.remote(), timeout=PATIENCE_S)
    until(lambda: not os.path.exists(f"/proc/{pid}"))
    assert list(tmp_path.iterdir()) == []


def test_a_class_makes_more_of_itself(ray: Any) -> None:
    """An actor class that its own methods refer to has its constructor's parameters wherever it is unpickled."""

    @ray.remote(num_cpus=0)
    class Node:
        def __init__(self, depth: int, *, last: int = 7) -> None:
            self.depth, self.last = depth, last

        def leaf(self) -> int:
            return ray.get(Node.remote(self.depth - 1).leaf.remote()) if self.depth else self.last

        def wrong(self) -> None:
            Node.remote(1, 2)

    root = Node.remote(3)
    assert ray.get(root.leaf.remote(), timeout=60) == 7
    with pytest.raises(TypeError, match="too many positional arguments"):
        ray.get(root.wrong.remote(), timeout=60)


def test_a_class_that_refers_to_objects(ray: Any) -> None:
    """References inside of the class live as long as it is used, with and without references among the arguments."""

    def class_of(inside: Any) -> Any:
        class Refers:
            def __init__(self, *given: Any) -> None:
                self.given = [one if isinstance(one, str) else ray.get(one[0]) for one in given]

            def read(self) -> Any:
                return ray.get(inside), self.given

        return ray.remote(Refers)

    made = class_of(ray.put("inside"))
    handles = [made.remote(), made.remote("plain"), made.remote([ray.put("in a list")])]
    del made
    gc.collect()
    expected = [("inside", []), ("inside", ["plain"]), ("inside", ["in a list"])]
    assert ray.get([handle.read.remote() for handle in handles], timeout=PATIENCE_S) == expected
