"""What computing again costs, keeps, cannot bring back, and outlives."""

from __future__ import annotations

import asyncio
import gc
import os
import pathlib
import signal
import time
from typing import Any

import pytest
from eagleray import exceptions
from eagleray._private.internal_api import _lose, free
from losing import BIG, Runs, lose, maker, noted, np, stored
from pace import PATIENCE_S, until


@pytest.fixture
def runs(tmp_path: pathlib.Path) -> Runs:
    return Runs(tmp_path)


@pytest.fixture
def make(ray: Any, runs: Runs) -> Any:
    return maker(ray, runs)


@pytest.mark.parametrize("retries", [0, 2])
def test_each_recomputation_costs_a_retry(ray: Any, make: Any, runs: Runs, retries: int) -> None:
    ref = make.options(max_retries=retries).remote(1)
    for n in range(retries):
        lose(ref)
        assert ray.get(ref)[0] == 1
        assert len(runs) == 2 + n
    lose(ref)
    with pytest.raises(exceptions.ObjectReconstructionFailedError) as caught:
        ray.get(ref)
    assert isinstance(caught.value, exceptions.ObjectLostError)
    reason = "RETRIES_DISABLED" if retries == 0 else "MAX_ATTEMPTS_EXCEEDED"
    assert caught.value.reason == f"OBJECT_UNRECONSTRUCTABLE_{reason}"
    assert "max_retries" in str(caught.value)
    assert len(runs) == 1 + retries


def test_what_put_made_is_lost_for_good_and_kept_for_what_needs_it(ray: Any, make: Any) -> None:
    ref = ray.put(np.full(BIG, 2, np.uint8))
    made = make.remote(1, ref)
    ray.wait([made])
    del ref
    lose(made)
    assert ray.get(made)[0] == 3
    ref = ray.put(np.full(BIG, 2, np.uint8))
    lose(ref)
    with pytest.raises(exceptions.ObjectReconstructionFailedError, match="OBJECT_UNRECONSTRUCTABLE_PUT"):
        ray.get(ref)
    with pytest.raises(exceptions.ObjectReconstructionFailedError, match="OBJECT_UNRECONSTRUCTABLE_PUT"):
        ray.get(make.remote(1, ref))


def test_large_arguments_are_there_when_the_task_runs_again(ray: Any, make: Any) -> None:
    ref = make.remote(1, np.full(BIG, 8, np.uint8))
    lose(ref)
    assert ray.get(ref)[0] == 9


def test_nested_reference_of_an_argument_is_there_when_the_task_runs_again(ray: Any, make: Any, runs: Runs) -> None:
    @ray.remote
    def inner(refs: Any) -> Any:
        return ray.get(refs[0]) + 1

    gc.collect()
    before = stored()
    ref = make.remote(1)
    out = inner.remote([ref])
    ray.wait([out])
    del ref
    until(lambda: stored() == before + 1, "its value goes when the worker has let go of it")
    lose(out)
    assert ray.get(out)[0] == 2
    assert len(runs) == 2


@pytest.mark.parametrize("way", ["argument", "nested", "captured"])
def test_what_others_own_is_not_kept_for_a_second_run(ray: Any, make: Any, way: str) -> None:
    """As with Ray. Who holds a reference gets the result again; who does not is told why not."""

    @ray.remote
    class Owner:
        def give(self) -> Any:
            return [ray.put(np.full(BIG, 5, np.uint8))]

    @ray.remote
    def first(refs: Any) -> Any:
        return np.full(BIG, ray.get(refs[0])[0] + 1, np.uint8)

    gc.collect()
    before = stored()
    owner = Owner.remote()
    (ref,) = ray.get(owner.give.remote())

    @ray.remote
    def captures(refs: Any = ref) -> Any:
        return np.full(BIG, ray.get(refs)[0] + 1, np.uint8)

    if way == "captured":
        out = captures.remote()
    else:
        out = make.remote(1, ref) if way == "argument" else first.remote([ref])
    lose(out)
    assert ray.get(out, timeout=PATIENCE_S)[0] == 6
    del ref, captures
    gc.collect()

    until(lambda: stored() == before + 1, "the owner keeps what nobody holds")
    lose(out)
    with pytest.raises(exceptions.ObjectReconstructionFailedError, match="hold one for as long as you need") as caught:
        ray.get(out, timeout=PATIENCE_S)
    assert caught.value.cause.reason == "OBJECT_UNRECONSTRUCTABLE_BORROWED"  # type: ignore[attr-defined]


def test_a_detached_actor_computes_again_when_no_handle_is_left(ray: Any) -> None:
    @ray.remote(max_task_retries=1)
    class Counter:
        def __init__(self) -> None:
            self.n = 0

        def count(self, more: Any = None) -> Any:
            self.n += 1
            return np.full(BIG, self.n)

    counter = Counter.options(name="counter", lifetime="detached").remote()
    first = counter.count.remote()
    second = counter.count.remote(first)
    ray.wait([second])
    del counter
    gc.collect()
    lose(first, second)
    assert int(ray.get(second, timeout=PATIENCE_S)[0]) == 4
    ray.kill(ray.get_actor("counter"))


def test_actors_results_are_computed_again_if_its_tasks_may_be_retried(ray: Any, make: Any) -> None:
    @ray.remote(max_restarts=1, max_task_retries=1)
    class Counter:
        def __init__(self) -> None:
            self.n = 0

        def count(self, more: Any = None) -> Any:
            self.n += 1
            return np.full(BIG, self.n)

        def die(self) -> None:
            os._exit(1)

    counter = Counter.remote()
    first = counter.count.remote()
    second = counter.count.remote(first)
    ray.wait([second])
    lose(first, second)
    assert int(ray.get(second, timeout=PATIENCE_S)[0]) == 4  # a call of the same actor computed its argument before
    once = counter.count.options(max_task_retries=0).remote()
    lose(once)
    with pytest.raises(exceptions.ObjectReconstructionFailedError, match="RETRIES_DISABLED"):
        ray.get(once)
    left = counter.count.remote()
    lose(left)
    ray.kill(counter)
    with pytest.raises(exceptions.ActorDiedError):
        ray.get(left, timeout=PATIENCE_S)


def test_lineage_does_not_keep_an_actor_alive(ray: Any) -> None:
    @ray.remote(max_restarts=-1, max_task_retries=-1)
    class Maker:
        def make(self) -> Any:
            return np.ones(BIG)

        def pid(self) -> int:
            return os.getpid()

    maker = Maker.remote()
    pid = ray.get(maker.pid.remote())
    ref = maker.make.remote()
    ray.wait([ref])
    del maker
    until(lambda: not os.path.exists(f"/proc/{pid}"), "the actor is alive without handles")
    lose(ref)
    with pytest.raises(exceptions.ActorDiedError):
        ray.get(ref, timeout=PATIENCE_S)


def test_recomputation_that_raises_gives_the_exception(ray: Any, runs: Runs) -> None:
    path = runs.path

    @ray.remote
    def fragile() -> Any:
        noted(path)
        if len(path.read_text().split()) > 1:
            raise KeyError("the second time")
        return np.ones(BIG)

    ref = fragile.remote()
    lose(ref)
    with pytest.raises(KeyError, match="the second time"):
        ray.get(ref)
    with pytest.raises(KeyError):
        ray.get(ref)
    assert len(runs) == 2


@pytest.mark.parametrize("size", [10, 1_000_000], ids=["small", "large"])
def test_recomputation_that_raises_leaves_the_other_results_alone(ray: Any, runs: Runs, size: int) -> None:
    path = runs.path

    @ray.remote(num_returns=3)
    def fragile() -> Any:
        noted(path)
        if len(path.read_text().split()) > 1:
            raise KeyError("the second time", "x" * size)
        return [np.full(BIG, i, np.uint8) for i in range(3)]

    refs = fragile.remote()
    lose(refs[1])
    with pytest.raises(KeyError, match="the second time"):
        ray.get(refs[1])
    assert [int(ray.get(refs[i])[0]) for i in (0, 2)] == [0, 2]
    assert len(runs) == 2


def test_recomputation_survives_its_worker(ray: Any, runs: Runs) -> None:
    path = runs.path

    @ray.remote(max_retries=2)
    def dies_once_more() -> Any:
        noted(path)
        if len(path.read_text().split()) == 2:
            os.kill(os.getpid(), signal.SIGKILL)
        return np.ones(BIG)

    ref = dies_once_more.remote()
    lose(ref)
    assert ray.get(ref, timeout=PATIENCE_S)[0] == 1
    lose(ref)
    with pytest.raises(exceptions.ObjectReconstructionFailedError, match="MAX_ATTEMPTS"):
        ray.get(ref)
    assert len(runs) == 3


def test_object_of_a_dead_owner_is_lost_with_it(ray: Any) -> None:
    @ray.remote
    class Owner:
        def give(self) -> Any:
            self.ref = ray.put(np.ones(BIG))
            return [self.ref]

    owner = Owner.remote()
    (ref,) = ray.get(owner.give.remote())
    ray.kill(owner)

    def gone() -> bool:
        try:
            ray.get(ref, timeout=60)
        except exceptions.OwnerDiedError:
            return True
        return False

    until(gone, "the object outlived its owner")


def test_lineage_outlives_the_worker_that_owned_it(ray: Any, make: Any, runs: Runs) -> None:
    @ray.remote(max_calls=1)
    def owner() -> Any:
        first = make.remote(1)
        second = make.remote(1, first)
        ray.wait([second])
        return [second], os.getpid()

    (ref,), pid = ray.get(owner.remote())
    until(lambda: not os.path.exists(f"/proc/{pid}"), "max_calls=1 did not end the worker")
    lose(ref)
    assert ray.get(ref, timeout=PATIENCE_S)[0] == 2
    assert len(runs) >= 3


def test_successor_goes_on_computing_what_its_worker_had_begun_to(ray: Any, tmp_path: pathlib.Path) -> None:
    gate, began = tmp_path / "gate", tmp_path / "began"

    @ray.remote
    def slow(number: int) -> Any:
        if began.exists():  # not the first time
            began.with_suffix(".again").touch()
            while not gate.exists():
                time.sleep(0.005)
        began.touch()
        return np.full(BIG, number, np.uint8)

    @ray.remote
    def add(x: Any) -> Any:
        return np.full(BIG, x[0] + 1, np.uint8)

    @ray.remote(max_calls=1)
    def owner() -> Any:
        first = slow.remote(1)
        second = add.remote(first)
        ray.wait([second])
        assert _lose([first, second]) == 2
        third = add.remote(second)  # its worker finds that it is lost
        until(began.with_suffix(".again").exists, "the lost object is not computed again")
        return [first, second, third], os.getpid()

    (first, second, third), pid = ray.get(owner.remote())
    until(lambda: not os.path.exists(f"/proc/{pid}"), "max_calls=1 did not end the worker")
    gate.touch()
    assert [int(x[0]) for x in ray.get([third, second, first], timeout=PATIENCE_S)] == [3, 2, 1]
    lose(second)
    assert ray.get(second, timeout=PATIENCE_S)[0] == 2


def test_event_loop_goes_on_while_a_lost_object_is_computed_again(ray: Any, tmp_path: pathlib.Path) -> None:
    gate = tmp_path / "gate"

    @ray.remote
    def slow() -> Any:
        while not gate.exists():
            time.sleep(0.005)
        return np.ones(BIG)

    ref = slow.remote()
    gate.touch()
    ray.wait([ref])
    gate.unlink()
    lose(ref)

    async def wait() -> Any:
        future = asyncio.ensure_future(asyncio.wait_for(ref, 20))  # type: ignore[arg-type]
        for _ in range(10):
            await asyncio.sleep(0.005)
        assert not future.done()
        gate.touch()
        return await future

    assert asyncio.run(wait())[0] == 1


def test_what_another_process_owned_and_freed_is_missing_when_a_task_runs_again(ray: Any, make: Any) -> None:
    @ray.remote
    class Holder:
        def hold(self, refs: Any) -> None:
            self.made = make.remote(1, refs[0])
            ray.wait([self.made])

        def lose(self) -> int:
            return _lose(self.made)

        def read(self) -> int:
            return int(ray.get(self.made)[0])

    holder = Holder.remote()
    ref = make.remote(1)
    ray.get(holder.hold.remote([ref]))
    assert ray.get(holder.lose.remote()) == 1
    assert ray.get(holder.read.remote()) == 2
    del ref
    assert ray.get(holder.lose.remote()) == 1
    with pytest.raises(exceptions.ObjectLostError):
        ray.get(holder.read.remote(), timeout=PATIENCE_S)


def test_lineage_switched_off_says_so(script: Any) -> None:
    done = script(
        """
        import os
        os.environ["RAY_lineage_pinning_enabled"] = "0"
        import numpy as np
        import eagleray as ray
        from eagleray._private.internal_api import _lose
        ray.init(address="local", num_cpus=1)

        @ray.remote
        def f():
            return np.ones(200_000)

        ref = f.remote()
        ray.wait([ref])
        assert _lose(ref) == 1
        try:
            ray.get(ref)
        except ray.exceptions.ObjectReconstructionFailedError as error:
            print(error.reason)
        """
    )
    assert done.stdout.strip() == "OBJECT_UNRECONSTRUCTABLE_LINEAGE_DISABLED"


def test_freed_by_hand_is_gone_for_everybody_and_not_computed_again(ray: Any, make: Any, runs: Runs) -> None:
    @ray.remote
    def read(refs: Any) -> Any:
        return ray.get(refs[0])

    ref, put, small = make.remote(1), ray.put(np.ones(BIG)), ray.put(1)
    ray.wait([ref])
    free([ref, put])
    free(small)
    for gone in (ref, put, small):
        with pytest.raises(exceptions.ObjectFreedError):
            ray.get(gone)
        with pytest.raises(exceptions.ObjectFreedError):
            ray.get(read.remote([gone]))
    assert len(runs) == 1
    with pytest.raises(TypeError, match="ObjectRef"):
        free([1])


def test_lineage_is_bounded_and_says_so(script: Any) -> None:
    done = script(
        """
        import os
        os.environ["RAY_max_lineage_bytes"] = "20000"
        import numpy as np
        import eagleray as ray
        from eagleray._private.internal_api import _lose
        ray.init(address="local", num_cpus=2)

        @ray.remote
        def f(i):
            return np.full(200_000, i, np.uint8)

        refs = [f.remote(0)]
        ray.wait(refs)  # by itself, and so is the last one: the order in which tasks end is that of their lineage
        refs += [f.remote(i) for i in range(1, 99)]
        ray.wait(refs, num_returns=99)
        refs.append(f.remote(99))
        ray.wait(refs, num_returns=100)
        print(_lose([refs[0], refs[-1]]), ray.get(refs[-1])[0])
        try:
            ray.get(refs[0])
        except ray.exceptions.ObjectReconstructionFailedError as error:
            print(error)
        print(ray.get(refs[1])[0])
        """
    )
    lines = done.stdout.splitlines()
    assert lines[0] == "2 99"
    assert "[OBJECT_UNRECONSTRUCTABLE_LINEAGE_EVICTED]" in lines[1]
    assert "RAY_max_lineage_bytes" in lines[1]
    assert lines[2] == "1"


def test_actor_computes_again_what_its_next_call_takes(ray: Any) -> None:
    """The call waits for its argument, and those behind it for the call: only what computes it goes first."""

    @ray.remote(max_task_retries=-1)
    class Actor:
        def __init__(self) -> None:
            self.calls: list[str] = []

        def make(self) -> Any:
            self.calls.append("make")
            return np.ones(BIG, np.uint8)

        def take(self, *values: Any) -> int:
            self.calls.append("take")
            return sum(int(value.sum()) for value in values)

        def seen(self) -> list[str]:
            return self.calls

    actor = Actor.remote()
    made = [actor.make.remote() for _ in range(2)]
    lose(*made)
    taken, seen = actor.take.remote(*made), actor.seen.remote()
    assert ray.get(taken, timeout=PATIENCE_S) == 2 * BIG
    assert ray.get(seen, timeout=PATIENCE_S) == ["make"] * 4 + ["take"]


def test_actor_computes_again_what_its_next_call_is_not_sent_without(ray: Any, tmp_path: Any) -> None:
    """The loss is known when the call is submitted: it waits in the caller's queue, what computes it again passes."""
    gate = tmp_path / "gate"

    @ray.remote(max_task_retries=-1)
    class Actor:
        def make(self, value: Any) -> Any:
            until(lambda: not gate.exists(), "the gate opens")
            return value + 1

        def take(self, value: Any) -> int:
            return int(value.sum())

    actor = Actor.remote()
    first = actor.make.remote(np.zeros(BIG, np.uint8))
    second = actor.make.remote(first)
    lose(first, second)
    gate.touch()
    with pytest.raises(exceptions.GetTimeoutError):
        ray.get(second, timeout=0.05)  # it is found out
    taken = [actor.take.remote(second) for _ in range(20)]
    gate.unlink()
    assert ray.get(taken, timeout=PATIENCE_S) == [2 * BIG] * 20
