"""wait with fetch_local=True counts a value that another node made when it is here, over two nodes."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import eagleray
import numpy as np
import pytest
from eagleray._private.internal_api import _lose
from eagleray.cluster_utils import Cluster
from eagleray.experimental import get_object_locations
from eagleray.util.scheduling_strategies import NodeAffinitySchedulingStrategy
from pace import until

pytestmark = pytest.mark.timeout(300)


@eagleray.remote(num_cpus=0)
def make(size: int) -> Any:
    return np.zeros(size, np.uint8)


@eagleray.remote(num_cpus=0)
def awaits(folder: Path) -> Any:
    until((folder / "go").exists)
    return np.zeros(1_000_000, np.uint8)


class Two:
    """The program works on the first of two nodes."""

    def __init__(self) -> None:
        self.cluster = Cluster(initialize_head=True, head_node_args={"num_cpus": 2})
        try:
            self.second = self.cluster.add_node(num_cpus=2).node_id
            self.cluster.wait_for_nodes()
            self.cluster.connect()
        except BaseException:
            self.cluster.shutdown()
            raise
        self.first = eagleray.get_runtime_context().get_node_id()
        self.there = NodeAffinitySchedulingStrategy(self.second, soft=False)

    def make(self, size: int = 1_000_000) -> Any:
        """A value that lies on the second node only."""
        ref = make.options(scheduling_strategy=self.there).remote(size)
        assert eagleray.wait([ref], fetch_local=False) == ([ref], [])
        assert self.holders(ref) == [self.second]
        return ref

    def holders(self, ref: Any) -> list[str]:
        found: list[str] = sorted(get_object_locations([ref])[ref]["node_ids"])
        return found

    def is_here(self, ref: Any) -> bool:
        return self.first in self.holders(ref)


@pytest.fixture(scope="module")
def two() -> Iterator[Two]:
    eagleray.shutdown()
    nodes = Two()
    try:
        yield nodes
    finally:
        nodes.cluster.shutdown()


def test_a_value_of_another_node_is_fetched_first(two: Two) -> None:
    refs = [two.make() for _ in range(3)]
    assert eagleray.wait(refs, num_returns=3, timeout=60) == (refs, [])
    until(lambda: all(map(two.is_here, refs)))


def test_without_fetch_local_nothing_is_fetched(two: Two) -> None:
    ref = two.make()
    assert eagleray.wait([ref], fetch_local=False, timeout=0) == ([ref], [])
    assert not two.is_here(ref)


def test_waits_without_patience_begin_to_fetch(two: Two) -> None:
    ref = two.make(30_000_000)
    until(lambda: eagleray.wait([ref], timeout=0) == ([ref], []))
    until(lambda: two.is_here(ref))


def test_what_is_here_does_not_wait_for_what_is_not(two: Two, tmp_path: Path) -> None:
    here, late = eagleray.put(np.zeros(1_000_000)), awaits.options(scheduling_strategy=two.there).remote(tmp_path)
    away = two.make()
    assert eagleray.wait([late, away, here], timeout=60)[0] in ([here], [away])  # whichever is here first
    ready, left = eagleray.wait([late, away, here], num_returns=2, timeout=60)
    assert (ready, left) == ([away, here], [late])
    until(lambda: two.is_here(away))
    assert eagleray.wait([late], timeout=0.01) == ([], [late])
    (tmp_path / "go").touch()
    assert eagleray.wait([late, away], num_returns=2, timeout=60) == ([late, away], [])
    until(lambda: two.is_here(late))


def test_a_value_that_is_lost_is_made_again(two: Two) -> None:
    ref = two.make()
    assert _lose([ref]) == 1
    assert eagleray.wait([ref], timeout=60) == ([ref], [])
    assert eagleray.get(ref, timeout=60).nbytes == 1_000_000


def test_a_borrower_fetches(two: Two) -> None:
    @eagleray.remote(num_cpus=0)
    def borrows(refs: list[Any]) -> int:
        ready, left = eagleray.wait(refs, num_returns=len(refs), timeout=60)
        return len(ready) - len(left)

    mine = eagleray.put(np.zeros(1_000_000))
    assert eagleray.get(borrows.options(scheduling_strategy=two.there).remote([mine, two.make()]), timeout=60) == 2
    until(lambda: two.second in two.holders(mine))


def test_in_an_event_loop(two: Two) -> None:
    @eagleray.remote(num_cpus=0)
    class Loop:
        async def waits(self, refs: list[Any]) -> int:
            done, left = await asyncio.wait([asyncio.wrap_future(ref.future()) for ref in refs], timeout=60)
            return len(done) - len(left)

    kind: Any = Loop
    loop = kind.options(scheduling_strategy=NodeAffinitySchedulingStrategy(two.first, soft=False)).remote()
    refs = [two.make() for _ in range(2)]
    assert eagleray.get(loop.waits.remote(refs), timeout=60) == 2
    assert all(map(two.is_here, refs))


def test_many_values(two: Two) -> None:
    refs = [make.options(scheduling_strategy=two.there).remote(200_000) for _ in range(100)]
    left = list(refs)
    while left:
        ready, left = eagleray.wait(left, timeout=60)
        assert len(ready) == 1
    until(lambda: all(map(two.is_here, refs)))
