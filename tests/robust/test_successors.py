"""A worker that had a device is gone before the device is given out again, whatever others still want of it."""

from __future__ import annotations

import atexit
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from typing import Any

import eagleray
import numpy as np
import pytest
from arena import BIG, settles
from processes import alive, until

LIMIT = 60.0
pytestmark = pytest.mark.timeout(300)


@pytest.fixture(scope="module")
def session(place: Any) -> Iterator[Any]:
    """A session with a single device."""
    with eagleray.init(address="local", num_cpus=4, num_gpus=1, log_to_driver=False) as context:
        yield context


@pytest.fixture(autouse=True)
def nothing_stays(ray: Any) -> Iterator[None]:
    """After each test the store is empty, and so is this process's table."""
    yield
    settles(objects=0, used=0, pinned=0, owned=0, borrowed=0)


def exists(pid: int) -> bool:
    """Whether there is a process of this number, be it a zombie."""
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


@eagleray.remote(num_gpus=1)
def user(before: int | None) -> tuple[int, bool]:
    """Uses the device; also says whether the user before is gone."""
    return os.getpid(), before is None or not alive(before)


@eagleray.remote(num_cpus=1)
def plus(x: Any, y: Any = 1, seconds: float = 0) -> Any:
    time.sleep(seconds)
    return x + y


def test_ready_objects(ray: Any) -> None:
    """Small and large, nested, passed on, and only borrowed later."""

    @ray.remote(num_gpus=1)
    def make(before: int | None, tag: int) -> Any:
        gone = before is None or not alive(before)
        small, large = ray.put(np.array([tag])), ray.put(np.full(BIG, tag))
        return [os.getpid(), gone, small, ray.put([small, large])]

    @ray.remote(num_cpus=0)
    class Keeper:
        def keep(self, refs: list[Any]) -> None:
            self.refs = refs

        def read(self) -> list[int]:
            small, outer = self.refs
            return [int(ray.get(ref)[0]) for ref in (small, *ray.get(outer))]

        def give(self) -> Any:
            return self.refs

    keepers = []
    before = None
    for tag in range(6):
        before, gone, *refs = ray.get(make.remote(before, tag), timeout=LIMIT)
        assert gone
        keeper = Keeper.remote()
        keepers.append(keeper)
        ray.get(keeper.keep.remote(refs), timeout=LIMIT)
        del refs
    assert before is not None
    until(lambda: not alive(before), LIMIT, "the last worker ends")
    for tag, keeper in enumerate(keepers):
        assert ray.get(keeper.read.remote(), timeout=LIMIT) == [tag] * 3
        small, outer = ray.get(keeper.give.remote(), timeout=LIMIT)
        assert ray.wait([small, outer], num_returns=2, timeout=LIMIT)[0] == [small, outer]
        assert int(ray.get(plus.remote(small), timeout=LIMIT)[0]) == tag + 1
        assert int(ray.get(ray.get(outer, timeout=LIMIT)[1], timeout=LIMIT)[-1]) == tag


def test_a_borrower_waits_meanwhile(ray: Any) -> None:
    """Who asks before the owner has moved hears from its successor."""

    @ray.remote(num_gpus=1)
    def make() -> Any:
        return [plus.remote(i, seconds=0.2) for i in range(4)]

    @ray.remote(num_cpus=0)
    def total(refs: list[Any]) -> int:
        return sum(ray.get(refs))

    refs = ray.get(make.remote(), timeout=LIMIT)
    totals = [total.remote(refs) for _ in range(3)]
    assert ray.get(totals, timeout=LIMIT) == [10, 10, 10]
    assert ray.get(refs, timeout=LIMIT) == [1, 2, 3, 4]


def test_tasks_that_need_the_device_themselves(ray: Any) -> None:
    """The worker has submitted tasks that wait for its device, directly or in a task that runs already."""

    @ray.remote
    def asks(before: int) -> Any:
        return ray.get(user.remote(before))

    @ray.remote(num_gpus=1)
    def parent() -> Any:
        me = os.getpid()
        return [me, user.remote(me), asks.remote(me), user.remote(plus.remote(me, 0, 0.2))]

    for _ in range(3):
        me, *refs = ray.get(parent.remote(), timeout=LIMIT)
        found = ray.get(refs, timeout=LIMIT)
        assert all(gone and pid != me for pid, gone in found)


def test_tasks_with_alternatives(ray: Any) -> None:
    """What runs in an alternative, and what has not chosen yet, goes along."""

    def second(x: int) -> str:
        time.sleep(0.1)
        return f"second {x}"

    @ray.remote(num_gpus=1, fallback=[(second, {"num_cpus": 1})])
    def first(x: int) -> str:
        time.sleep(0.1)
        return f"first {x}"

    @ray.remote
    def after(text: str) -> str:
        return text + "."

    @ray.remote(num_gpus=1)
    def parent() -> Any:
        now = first.remote(1)
        return [now, first.remote(plus.remote(1, 1, 0.2)), after.remote(now)]

    now, late, then = ray.get(ray.get(parent.remote(), timeout=LIMIT), timeout=LIMIT)
    assert now in ("first 1", "second 1") and then == now + "."
    assert late in ("first 2", "second 2")


def test_chains_of_workers_that_move(ray: Any) -> None:
    @ray.remote(num_gpus=1)
    def nest(depth: int, before: int | None) -> Any:
        gone = before is None or not alive(before)
        return [gone, nest.remote(depth - 1, os.getpid()) if depth else None, ray.put(depth)]

    ref, depths = nest.remote(8, None), []
    while ref is not None:
        gone, ref, depth = ray.get(ref, timeout=LIMIT)
        assert gone
        depths.append(ray.get(depth, timeout=LIMIT))
    assert depths == list(range(8, -1, -1))


def test_tasks_that_fail_and_are_tried_again(ray: Any, tmp_path: Any) -> None:
    """The successor tries again what a crash or an exception ended, and tells what fails for good."""

    @ray.remote(max_retries=2)
    def crashes(name: str, times: int) -> str:
        count = len(list(tmp_path.glob(f"{name}-*")))
        (tmp_path / f"{name}-{count}").touch()
        time.sleep(0.1)
        if count < times:
            os.kill(os.getpid(), signal.SIGKILL)
        return name

    @ray.remote
    def fails() -> None:
        time.sleep(0.1)
        raise KeyError("x")

    @ray.remote(num_gpus=1)
    def parent() -> Any:
        return [crashes.remote("a", 2), crashes.remote("b", 9), fails.remote(), plus.remote(fails.remote())]

    a, b, c, d = ray.get(parent.remote(), timeout=LIMIT)
    assert ray.get(a, timeout=LIMIT) == "a"
    with pytest.raises(ray.exceptions.WorkerCrashedError):
        ray.get(b, timeout=LIMIT)
    for ref in (c, d):
        with pytest.raises(KeyError):
            ray.get(ref, timeout=LIMIT)


@pytest.mark.parametrize("named", [False, True])
def test_actors_that_the_worker_made(ray: Any, named: bool) -> None:
    """They live while somebody has a handle, calls that wait are made, and they end with the last handle."""

    @ray.remote(num_cpus=0)
    class Counter:
        def __init__(self, start: int) -> None:
            self.value = start

        def add(self, n: int, seconds: float = 0) -> int:
            time.sleep(seconds)
            self.value += n
            return self.value

        def pid(self) -> int:
            return os.getpid()

    @ray.remote(num_gpus=1)
    def parent(named: bool) -> Any:
        kind = Counter.options(name="late") if named else Counter
        now, late = Counter.remote(1), kind.remote(plus.remote(10, 0, 0.3))
        refs = [now.add.remote(1, 0.2), now.add.remote(1), now.add.remote(plus.remote(1, 1, 0.3)), late.add.remote(1)]
        return [now, late, refs, os.getpid()]

    now, late, refs, pid = ray.get(parent.remote(named), timeout=LIMIT)
    assert ray.get(user.remote(pid), timeout=LIMIT)[1]
    assert ray.get(refs, timeout=LIMIT) == [2, 3, 5, 11]
    assert ray.get([now.add.remote(1), late.add.remote(1)], timeout=LIMIT) == [6, 12]
    pids = ray.get([now.pid.remote(), late.pid.remote()], timeout=LIMIT)
    del now, late, refs
    until(lambda: not any(map(alive, pids)), LIMIT, "the actors end")


@pytest.mark.parametrize("size", [1, BIG])
def test_a_detached_actor_nobody_has_a_handle_of(ray: Any, size: int) -> None:
    """Its constructor's arguments are there when it is born, though its creator and all handles have gone."""

    @ray.remote(num_cpus=0)
    class Counter:
        def __init__(self, start: Any) -> None:
            self.value = start[0]

        def get(self) -> int:
            return int(self.value)

    @ray.remote(num_gpus=1)
    def parent() -> int:
        Counter.options(name="left", lifetime="detached").remote(plus.remote(np.zeros(size), 7, 0.3))
        return os.getpid()

    pid = ray.get(parent.remote(), timeout=LIMIT)
    assert ray.get(user.remote(pid), timeout=LIMIT)[1]
    actor = ray.get_actor("left")
    assert ray.get(actor.get.remote(), timeout=LIMIT) == 7
    ray.kill(actor)


def test_many_arguments(ray: Any) -> None:
    """Arguments that are too much for one message go through the store, from a successor, too."""

    @ray.remote
    def total(*parts: Any) -> int:
        return sum(int(np.sum(part)) for part in parts)

    @ray.remote(num_gpus=1)
    def parent() -> Any:
        parts = [ray.put(np.full(10_000, i)) for i in range(60)]
        return [total.remote(plus.remote(0, 0, 0.2), *parts)]

    (ref,) = ray.get(parent.remote(), timeout=LIMIT)
    assert ray.get(ref, timeout=LIMIT) == 10_000 * sum(range(60))


def test_what_nobody_waits_for(ray: Any, tmp_path: Any) -> None:
    """Tasks whose references were dropped run all the same."""

    @ray.remote
    def touch(i: int, _after: Any = None) -> None:
        (tmp_path / str(i)).touch()

    @ray.remote(num_gpus=1)
    def parent() -> None:
        for i in range(20):
            touch.remote(i, plus.remote(i, seconds=0.02))

    ray.get(parent.remote(), timeout=LIMIT)
    until(lambda: len(os.listdir(tmp_path)) == 20, LIMIT)


def test_many_at_once(ray: Any) -> None:
    """Workers with a tenth of the device each, that leave all kinds of things behind."""

    @ray.remote(num_gpus=0.1, num_cpus=0.1)
    def parent(i: int) -> Any:
        a = ray.put(np.full(BIG if i % 3 == 0 else 3, i))
        b = plus.options(num_cpus=0.1).remote(a)
        return [a, b, plus.options(num_cpus=0.1).remote(b, a), ray.put([a, b])]

    for i, ref in enumerate([parent.remote(i) for i in range(30)]):
        a, b, c, d = ray.get(ref, timeout=LIMIT)
        assert [int(ray.get(x, timeout=LIMIT)[0]) for x in (a, b, c)] == [i, i + 1, 2 * i + 1]
        assert [int(x[0]) for x in ray.get(ray.get(d, timeout=LIMIT), timeout=LIMIT)] == [i, i + 1]


def test_the_borrower_dies(ray: Any) -> None:
    """What only a dead process held is let go of; the fixture looks."""

    @ray.remote(num_gpus=1)
    def make() -> Any:
        return [ray.put(np.full(BIG, 1)), plus.remote(np.full(BIG, 1), seconds=0.3)]

    @ray.remote(num_cpus=0)
    class Keeper:
        def keep(self, refs: Any) -> int:
            self.refs = refs
            return os.getpid()

    keeper = Keeper.remote()
    pid = ray.get(keeper.keep.remote(ray.get(make.remote(), timeout=LIMIT)), timeout=LIMIT)
    os.kill(pid, signal.SIGKILL)
    until(lambda: not alive(pid), LIMIT)


@pytest.mark.parametrize("how", ["atexit", "thread", "child"])
def test_a_process_that_is_slow_to_end(ray: Any, how: str) -> None:
    """Neither handlers of exit nor threads that go on nor children make the device free too early, or never."""

    @ray.remote(num_gpus=1)
    def slow() -> int:
        if how == "atexit":
            atexit.register(time.sleep, 0.5)
        elif how == "thread":
            threading.Thread(target=time.sleep, args=(60,)).start()
        else:
            subprocess.Popen([sys.executable, "-c", "import time; time.sleep(60)"])
        return os.getpid()

    for _ in range(2):
        before = ray.get(slow.remote(), timeout=LIMIT)
        _, gone = ray.get(user.remote(before), timeout=LIMIT)
        assert gone
        assert not exists(before) or not alive(before)


def test_an_actor_that_ends(ray: Any) -> None:
    """It has no successor: what it owned is lost, as in Ray, and its device waits for its process, too."""

    @ray.remote(num_gpus=1)
    class Owner:
        def make(self) -> Any:
            atexit.register(time.sleep, 0.3)
            return [os.getpid(), ray.put(1)]

        def leave(self) -> None:
            ray.actor.exit_actor()

    owner = Owner.remote()
    pid, ref = ray.get(owner.make.remote(), timeout=LIMIT)
    owner.leave.remote()
    assert ray.get(user.remote(pid), timeout=LIMIT)[1]
    with pytest.raises(ray.exceptions.OwnerDiedError):
        ray.get(ref, timeout=LIMIT)
