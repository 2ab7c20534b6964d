"""What happens to objects and unfinished tasks when the process that owns them ends."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from arena import BIG, settles
from halt import halted
from processes import alive, until

LIMIT = 60.0
pytestmark = pytest.mark.timeout(300)


def big(tag: int) -> Any:
    """A value for the arena."""
    return np.full(BIG, tag)


@pytest.fixture(autouse=True)
def nothing_stays(ray: Any) -> Iterator[None]:
    """After each test the store is empty, and so is this process's table."""
    yield
    settles(objects=0, used=0, pinned=0, owned=0, borrowed=0)


def test_a_pooled_worker_keeps_what_it_owns(ray: Any) -> None:
    """More workers than the pool keeps are ended, but not one whose objects are in use."""

    @ray.remote
    def nest(depth: int) -> Any:
        found = ray.get(nest.remote(depth - 1)) if depth else []
        return [*found, (os.getpid(), ray.put(big(depth)), ray.put(depth))]

    found = ray.get(nest.remote(12), timeout=LIMIT)
    pids = {pid for pid, _, _ in found}

    @ray.remote
    def busy(depth: int) -> int:
        return ray.get(busy.remote(depth - 1)) + 1 if depth else 0

    assert ray.get(busy.remote(12), timeout=LIMIT) == 12
    time.sleep(1.5)  # spare workers are given a second
    for depth, (_, large, small) in enumerate(found):
        assert int(ray.get(large, timeout=LIMIT)[0]) == ray.get(small, timeout=LIMIT) == depth
    del found, large, small
    settles(objects=0, borrowed=0)
    until(lambda: sum(map(alive, pids)) <= 2, LIMIT, "spare workers end when nobody needs them any more")


@pytest.mark.parametrize("big_value", [False, True])
def test_a_worker_that_is_used_once_keeps_what_it_owns(ray: Any, big_value: bool) -> None:
    @ray.remote(max_calls=1)
    def make(tag: int) -> Any:
        return [ray.put(big(tag) if big_value else np.array([tag])), os.getpid()]

    found = ray.get([make.remote(i) for i in range(6)], timeout=LIMIT)
    time.sleep(0.3)
    assert [int(ray.get(ref, timeout=LIMIT)[0]) for ref, _ in found] == list(range(6))
    pids = [pid for _, pid in found]
    found.clear()
    until(lambda: not any(map(alive, pids)), LIMIT, "workers that were used once end")


def test_its_resources_are_free_while_it_stays(ray: Any) -> None:
    """Who holds a reference does not hold the device up."""

    @ray.remote(resources={"slot": 2}, max_calls=1)
    def make(tag: int) -> Any:
        return [ray.put(np.array([tag]))]

    found = [ray.get(make.remote(i), timeout=LIMIT)[0] for i in range(3)]
    assert [int(ray.get(ref, timeout=LIMIT)[0]) for ref in found] == [0, 1, 2]


def test_tasks_that_a_worker_submitted_are_finished(ray: Any, tmp_path: Path) -> None:
    """It would end after its task, but what it has submitted is its own."""

    @ray.remote
    def touch(index: int) -> None:
        time.sleep(0.02)
        (tmp_path / str(index)).touch()

    @ray.remote(max_calls=1)
    def submit(start: int) -> None:
        for index in range(start, start + 10):
            touch.remote(index)

    ray.get([submit.remote(10 * i) for i in range(5)], timeout=LIMIT)
    until(lambda: len(os.listdir(tmp_path)) == 50, LIMIT)


def test_results_that_a_worker_awaits_for_others(ray: Any) -> None:
    @ray.remote
    def slow(x: int) -> int:
        time.sleep(0.5)
        return x + 1

    @ray.remote(max_calls=1)
    def delegate(x: int) -> Any:
        return [slow.remote(x)]

    refs = [ray.get(delegate.remote(i), timeout=LIMIT)[0] for i in range(4)]
    assert ray.get(refs, timeout=LIMIT) == [1, 2, 3, 4]


@pytest.mark.parametrize("where", ["driver", "task", "waiting"])
def test_the_owner_is_killed(ray: Any, where: str) -> None:
    @ray.remote(num_cpus=0)
    class Owner:
        def make(self) -> Any:
            return [os.getpid(), ray.put(big(1)), ray.put(2), never.remote()]

    @ray.remote
    def never() -> None:
        time.sleep(1000)

    @ray.remote(num_cpus=0)
    def look(refs: Any) -> list[str]:
        return outcomes(refs)

    def outcomes(refs: Any) -> list[str]:
        said = []
        for ref in refs:
            try:
                ray.get(ref, timeout=60)
                said.append("there")
            except Exception as error:
                said.append(type(error).__name__)
        return said

    owner = Owner.remote()
    pid, *refs = ray.get(owner.make.remote(), timeout=LIMIT)
    found = look.remote(refs) if where == "waiting" else None
    if found is not None:
        assert not ray.wait([found], timeout=0.5)[0]
    os.kill(pid, signal.SIGKILL)
    until(lambda: not alive(pid), LIMIT)
    if found is not None:
        assert ray.get(found, timeout=LIMIT) == ["there", "there", "OwnerDiedError"]
    elif where == "task":
        assert ray.get(look.remote(refs), timeout=LIMIT) == ["OwnerDiedError"] * 3
    else:
        assert outcomes(refs) == ["OwnerDiedError"] * 3
        with pytest.raises(ray.exceptions.OwnerDiedError):
            ray.get(ray.remote(lambda x: x).remote(refs[0]), timeout=LIMIT)
        ready, left = ray.wait(refs, num_returns=3, timeout=60)  # as in Ray, a lost object is ready: get tells
        assert len(ready) == 3 and not left


def test_the_owner_of_an_argument_ends_before_the_task_begins(ray: Any, tmp_path: Path) -> None:
    @ray.remote(num_cpus=0)
    class Owner:
        def make(self) -> Any:
            return [os.getpid(), ray.put(big(1))]

    @ray.remote
    def use(value: Any) -> int:
        return int(value[0])

    @ray.remote
    def waits() -> None:
        until((tmp_path / "go").exists, LIMIT)

    owner = Owner.remote()
    pid, ref = ray.get(owner.make.remote(), timeout=LIMIT)
    busy = [waits.remote() for _ in range(2)]
    late = use.remote(ref)
    os.kill(pid, signal.SIGKILL)
    until(lambda: not alive(pid), LIMIT)
    (tmp_path / "go").touch()
    with pytest.raises(ray.exceptions.OwnerDiedError):
        ray.get(late, timeout=LIMIT)
    ray.get(busy, timeout=LIMIT)


def test_an_actor_that_is_let_go_finishes_what_it_was_asked(ray: Any) -> None:
    @ray.remote(num_cpus=0)
    class Owner:
        def make(self, tag: int) -> Any:
            time.sleep(0.05)
            return tag

    for tag in range(5):
        assert ray.get(Owner.remote().make.remote(tag), timeout=LIMIT) == tag
    refs = [Owner.remote().make.remote(tag) for tag in range(10)]
    assert ray.get(refs, timeout=LIMIT) == list(range(10))


def test_a_stopped_owner_keeps_nobody_waiting(ray: Any) -> None:
    """Who gets references to its objects answers all the same, and they are there when it goes on."""

    @ray.remote(num_cpus=0)
    class Owner:
        def make(self) -> Any:
            return [os.getpid(), ray.put(big(1)), ray.put(2)]

    @ray.remote(num_cpus=0)
    class Keeper:
        def keep(self, refs: Any) -> int:
            self.refs = refs
            return 1

        def other(self) -> int:
            return 2

        def read(self) -> Any:
            return [len(str(value)) > 0 for value in ray.get(self.refs)]

    @ray.remote
    def passes(refs: Any) -> Any:
        return refs

    owner, keeper = Owner.remote(), Keeper.remote()
    ray.get(keeper.other.remote())
    pid, *refs = ray.get(owner.make.remote(), timeout=LIMIT)
    with halted(pid):
        assert ray.get(keeper.keep.remote(refs), timeout=LIMIT) == 1
        assert ray.get([keeper.other.remote() for _ in range(200)], timeout=LIMIT) == [2] * 200
        assert ray.get(passes.remote(refs), timeout=LIMIT) == refs
        del refs
        assert ray.get(keeper.other.remote(), timeout=LIMIT) == 2
    assert ray.get(keeper.read.remote(), timeout=LIMIT) == [True, True]
