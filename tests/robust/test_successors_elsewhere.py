"""A worker that had a device is gone before the device is given out again, although it has work on another node."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import eagleray
import numpy as np
import pytest
from arena import BIG, settles
from eagleray.cluster_utils import Cluster
from processes import alive, until

LIMIT = 60.0
pytestmark = pytest.mark.timeout(300)


@pytest.fixture(scope="module")
def session(place: Any) -> Iterator[Any]:
    """A cluster whose first node has the device. Only the second node has the resource ``b``, and two processors."""
    cluster = Cluster(initialize_head=True, head_node_args={"num_cpus": 2, "num_gpus": 1})
    try:
        cluster.add_node(num_cpus=2, resources={"b": 1})
        cluster.wait_for_nodes()
        with eagleray.init(address=cluster.address, log_to_driver=False) as context:
            yield context
    finally:
        cluster.shutdown()


@pytest.fixture(autouse=True)
def nothing_stays(ray: Any) -> Iterator[None]:
    """After each test nothing is taken, owned or borrowed."""
    yield
    settles(objects=0, used=0, pinned=0, owned=0, borrowed=0)


def over_there(**options: Any) -> Any:
    """Decorates functions that run on the second node, up to twenty at a time."""
    return eagleray.remote(num_cpus=0.1, resources={"b": 0.05}, **options)


def node() -> str:
    return str(eagleray.get_runtime_context().get_node_id())


@eagleray.remote(num_gpus=1)
def user(before: int) -> tuple[bool, str]:
    """Uses the device, and says whether the user before is gone."""
    return not alive(before), node()


@over_there()
def plus(x: Any, y: Any = 1, seconds: float = 0) -> Any:
    time.sleep(seconds)
    return x + y


def test_tasks_over_there_go_on(ray: Any, tmp_path: Path) -> None:
    """Some run when their owner ends, some wait in its queue, and some for others of them."""

    @over_there()
    def waits(i: int) -> tuple[int, str]:
        (tmp_path / f"begun-{i}").touch()
        while not (tmp_path / "go").exists():
            time.sleep(0.01)
        return i, node()

    @ray.remote(num_gpus=1)
    def parent() -> Any:
        refs = [waits.remote(i) for i in range(50)]
        return [os.getpid(), node(), refs, plus.remote(plus.remote(1))]

    pid, home, refs, two = ray.get(parent.remote(), timeout=LIMIT)
    gone, device = ray.get(user.remote(pid), timeout=LIMIT)  # while all of them wait
    assert gone and device == home
    until(lambda: any(tmp_path.glob("begun-*")), LIMIT)
    (tmp_path / "go").touch()
    found = ray.get(refs, timeout=LIMIT)
    assert [i for i, _ in found] == list(range(50)) and home not in {where for _, where in found}
    assert len(list(tmp_path.glob("begun-*"))) == 50
    assert ray.get(two, timeout=LIMIT) == 3


def test_values_that_lie_over_there(ray: Any) -> None:
    """The owner of large results on the other node ends; a chain of tasks takes them, on both nodes."""

    @over_there()
    def make(i: int) -> Any:
        time.sleep(0.05)
        return np.full(BIG, i)

    first = ray.remote(num_cpus=1)(lambda x: int(x[-1]))

    @ray.remote(num_gpus=1)
    def parent() -> Any:
        made = [make.remote(i) for i in range(8)]
        return [os.getpid(), made, [plus.remote(x) for x in made], [first.remote(x) for x in made]]

    pid, made, more, firsts = ray.get(parent.remote(), timeout=LIMIT)
    assert ray.get(user.remote(pid), timeout=LIMIT)[0]
    assert ray.get(firsts, timeout=LIMIT) == list(range(8))
    assert [int(x[0]) for x in ray.get(more, timeout=LIMIT)] == list(range(1, 9))
    assert [int(x[0]) for x in ray.get(made, timeout=LIMIT)] == list(range(8))


def test_tasks_over_there_are_tried_again(ray: Any, tmp_path: Path) -> None:
    """The successor tries again what a crash over there ended, as often as the owner would have done."""

    @over_there(max_retries=2)
    def crashes(name: str, times: int) -> str:
        count = len(list(tmp_path.glob(f"{name}-*")))
        (tmp_path / f"{name}-{count}").touch()
        time.sleep(0.1)
        if count < times:
            os.kill(os.getpid(), signal.SIGKILL)
        return name

    @ray.remote(num_gpus=1)
    def parent() -> Any:
        return [os.getpid(), crashes.remote("a", 2), crashes.remote("b", 9)]

    pid, a, b = ray.get(parent.remote(), timeout=LIMIT)
    assert ray.get(user.remote(pid), timeout=LIMIT)[0]
    assert ray.get(a, timeout=LIMIT) == "a"
    with pytest.raises(ray.exceptions.WorkerCrashedError):
        ray.get(b, timeout=LIMIT)
    assert len(list(tmp_path.glob("a-*"))) == len(list(tmp_path.glob("b-*"))) == 3


def test_calls_of_an_actor_over_there(ray: Any) -> None:
    """Calls that were sent to an actor there, and those that wait for arguments, are made once and in order."""

    @ray.remote(num_cpus=0)
    class Counter:
        def __init__(self) -> None:
            self.value = 0

        def add(self, n: int, seconds: float = 0) -> int:
            time.sleep(seconds)
            self.value += n
            return self.value

    @over_there()
    def create() -> Any:
        return [Counter.remote()]

    @ray.remote(num_gpus=1)
    def parent(handles: list[Any]) -> Any:
        (far,) = handles
        return [
            os.getpid(),
            [far.add.remote(1, 0.3), far.add.remote(10), far.add.remote(plus.remote(99, 1, 0.3)), far.add.remote(1000)],
        ]

    handles = ray.get(create.remote(), timeout=LIMIT)
    pid, refs = ray.get(parent.remote(handles), timeout=LIMIT)
    assert ray.get(user.remote(pid), timeout=LIMIT)[0]
    assert ray.get(refs, timeout=LIMIT) == [1, 11, 111, 1111]
    assert ray.get(handles[0].add.remote(1), timeout=LIMIT) == 1112


def test_many_owners_end(ray: Any) -> None:
    """Each leaves a task behind that needs the device itself, and some over there; they end one after the other."""

    @ray.remote(num_gpus=1)
    def nest(depth: int, before: int | None) -> Any:
        gone = before is None or not alive(before)
        return [
            gone,
            nest.remote(depth - 1, os.getpid()) if depth else None,
            [plus.remote(depth, i, 0.02) for i in range(20)],
        ]

    ref = nest.remote(6, None)
    for depth in range(6, -1, -1):
        gone, ref, sums = ray.get(ref, timeout=LIMIT)
        assert gone
        assert ray.get(sums, timeout=LIMIT) == [depth + i for i in range(20)]
    assert ref is None
