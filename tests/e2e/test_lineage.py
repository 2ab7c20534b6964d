"""Objects that the store has lost are computed again, where retries allow."""

from __future__ import annotations

import pathlib
import time
from typing import Any

import pytest
from eagleray import exceptions
from losing import BIG, Runs, lose, maker, noted, np
from pace import PATIENCE_S


@pytest.fixture
def runs(tmp_path: pathlib.Path) -> Runs:
    return Runs(tmp_path)


@pytest.fixture
def make(ray: Any, runs: Runs) -> Any:
    return maker(ray, runs)


def test_lost_result_is_computed_again_once_for_all_who_want_it(ray: Any, make: Any, runs: Runs) -> None:
    @ray.remote
    def first(x: Any) -> int:
        return int(x[0])

    ref = make.remote(7)
    lose(ref)
    assert ray.get([first.remote(ref) for _ in range(10)] + [first.remote(ref)]) == [7] * 11
    assert ray.get(ref)[0] == 7
    assert len(runs) == 2


def test_wait_takes_nothing_for_ready_that_is_lost(ray: Any, make: Any, runs: Runs, tmp_path: pathlib.Path) -> None:
    gate = tmp_path / "gate"

    @ray.remote
    def gated() -> Any:
        if gate.exists():
            while gate.exists():
                time.sleep(0.005)
        return np.ones(BIG, np.uint8)

    ref, other = gated.remote(), make.remote(1)
    ray.wait([ref, other], num_returns=2)
    gate.touch()
    lose(ref)
    assert ray.wait([ref], timeout=0, fetch_local=False) == ([ref], []), "nobody asked for the value"
    assert ray.wait([ref], timeout=0) == ([], [ref])
    assert ray.wait([ref, other], timeout=10) == ([other], [ref])
    gate.unlink()
    assert ray.wait([ref, other], num_returns=2, timeout=PATIENCE_S) == ([ref, other], [])

    lose(ref, other)
    assert ray.wait([ref, other], num_returns=2, timeout=PATIENCE_S) == ([ref, other], [])
    assert len(runs) == 2, "it was there before anybody asked for the value"
    put = ray.put(np.ones(BIG, np.uint8))
    lose(put)
    assert ray.wait([put], timeout=PATIENCE_S) == ([put], []), "a get says at once that it is lost"
    with pytest.raises(exceptions.ObjectReconstructionFailedError):
        ray.get(put, timeout=0)


def test_borrowers_wait_takes_nothing_for_ready_that_is_lost(ray: Any, make: Any, runs: Runs) -> None:
    @ray.remote
    class Keeper:
        def keep(self, refs: Any) -> None:
            self.refs = refs
            ray.wait(refs)

        def ready(self) -> Any:
            return len(ray.wait(self.refs, timeout=PATIENCE_S)[0])

    keeper = Keeper.remote()
    ref = make.remote(5)
    ray.get(keeper.keep.remote([ref]))
    lose(ref)
    assert ray.get(keeper.ready.remote(), timeout=PATIENCE_S) == 1
    assert len(runs) == 2


def test_chain_is_computed_again_whether_its_links_are_held_or_not(ray: Any, make: Any, runs: Runs) -> None:
    refs = [make.remote(1)]
    for _ in range(4):
        refs.append(make.remote(1, refs[-1]))
    lose(*refs)
    assert ray.get(refs[-1])[0] == 5
    assert len(runs) == 10
    last = refs.pop()
    lose(refs[2])
    del refs[3], refs[0]  # nobody holds the third, which is there, nor the first
    lose(last)
    assert ray.get(last)[0] == 5


def test_long_chain_whose_links_nobody_holds_comes_back(ray: Any, make: Any, runs: Runs) -> None:
    ref = make.remote(0)
    for _ in range(999):
        ref = make.remote(1, ref)
    lose(ref)
    assert ray.get(ref, timeout=60)[0] == 999 % 256
    assert len(runs) == 2000


def test_hundred_lost_at_once(ray: Any, make: Any) -> None:
    refs = [make.remote(i) for i in range(100)]
    lose(*refs)
    more = [make.remote(1, ref) for ref in refs]
    assert [int(x[0]) for x in ray.get(more, timeout=60)] == list(range(1, 101))
    assert [int(x[0]) for x in ray.get(refs, timeout=60)] == list(range(100))
    del more
    others = [make.remote(i) for i in range(100)]
    lose(*others)
    assert [int(x[0]) for x in ray.get(others, timeout=60)] == list(range(100))


def test_of_several_results_only_the_lost_ones_are_replaced(ray: Any, runs: Runs) -> None:
    path = runs.path

    @ray.remote(num_returns=4)
    def four() -> Any:
        noted(path)
        n = len(path.read_text().split())
        return np.full(BIG, n), np.full(BIG, n), n, [np.full(BIG, n), ray.put(n)]

    a, b, c, d = four.remote()
    held = ray.get(d)[1]
    lose(a)
    assert (ray.get(a)[0], ray.get(b)[0], ray.get(c)) == (2, 1, 1)
    assert ray.get(held) == 1
    assert ray.get(ray.get(d)[1]) == 1
    del a
    lose(b)
    assert ray.get(b)[0] == 3


def test_references_inside_a_result_are_of_its_newest_value(ray: Any, make: Any) -> None:
    @ray.remote
    def outer() -> Any:
        return [np.ones(BIG), ray.put(np.full(BIG, 3, np.uint8)), make.remote(4)]

    ref = outer.remote()
    lose(ref)
    _, put, made = ray.get(ref)
    del ref
    assert (ray.get(put)[0], ray.get(made)[0]) == (3, 4)


def test_borrowers_get_of_a_lost_object_has_its_owner_compute_it(ray: Any, make: Any, runs: Runs) -> None:
    @ray.remote
    class Keeper:
        def keep(self, refs: Any) -> None:
            self.ref = refs[0]
            ray.wait([self.ref])

        def read(self) -> int:
            return int(ray.get(self.ref)[0])

        def argument(self, x: Any) -> int:
            return int(x[0])

    keeper = Keeper.remote()
    ref = make.remote(5)
    ray.get(keeper.keep.remote([ref]))
    lose(ref)
    assert ray.get(keeper.read.remote(), timeout=PATIENCE_S) == 5
    other = make.remote(6)
    lose(other)
    calls = [keeper.argument.remote(other), keeper.read.remote()]
    assert ray.get(calls, timeout=PATIENCE_S) == [6, 5]
    third = make.remote(8)
    ray.wait([third])
    lose(third)

    @ray.remote
    class Built:
        def __init__(self, x: Any) -> None:
            self.x = int(x[0])

        def get(self) -> int:
            return self.x

    assert ray.get(Built.remote(third).get.remote(), timeout=PATIENCE_S) == 8
    assert len(runs) == 6


def test_argument_lost_while_the_task_is_queued_does_not_hold_a_worker(ray: Any, make: Any, tmp_path: Any) -> None:
    gate = tmp_path / "gate"

    @ray.remote(num_cpus=4)
    def block() -> None:
        while not gate.exists():
            time.sleep(0.005)

    ref = make.remote(3)
    ray.wait([ref])
    blocked = block.remote()
    waiting = make.options(num_cpus=4).remote(1, ref)  # computing ref again needs a CPU of the four, too
    lose(ref)
    gate.touch()
    assert ray.get(waiting, timeout=PATIENCE_S)[0] == 4
    ray.get(blocked)
