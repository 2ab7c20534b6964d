"""``wait`` over long lists: order, what counts as twice, timeouts, several threads on the same references."""

from __future__ import annotations

import pickle
import random
import sys
import threading
import time
from typing import Any

import pytest

MANY = 300


def again(ray: Any, ref: Any) -> Any:
    """Another object for the same reference."""
    return ray.ObjectRef(ref.binary())


def test_one_by_one_gives_each_once_and_keeps_the_order(ray: Any) -> None:
    nothing = ray.remote(lambda x: x)
    refs = [nothing.remote(i) for i in range(MANY)]
    place = {ref: i for i, ref in enumerate(refs)}
    waiting, seen = refs, []
    while waiting:
        before = waiting
        ready, waiting = ray.wait(waiting)
        assert len(ready) == 1 and len(waiting) == len(before) - 1
        assert [place[ref] for ref in waiting] == sorted(place[ref] for ref in waiting)
        assert before is not waiting and len(before) == len(waiting) + 1, "the list that was given stays as it was"
        seen += ready
    assert sorted(place[ref] for ref in seen) == list(range(MANY))
    assert ray.get(seen) == [place[ref] for ref in seen]


def test_the_first_ready_ones_in_the_order_of_the_list(ray: Any) -> None:
    release = ray.remote(lambda: time.sleep(60))
    pending = [release.options(num_cpus=0).remote() for _ in range(2)]
    values = [ray.put(i) for i in range(6)]
    mixed = [pending[0], values[3], values[0], pending[1], values[5], values[1]]
    ready, rest = ray.wait(mixed, num_returns=2, timeout=0)
    assert ready == [values[3], values[0]] and rest == [pending[0], pending[1], values[5], values[1]]
    ready, rest = ray.wait(mixed, num_returns=6, timeout=0.05)
    assert ready == [values[3], values[0], values[5], values[1]] and rest == pending, "at the timeout: what there is"
    for ref in pending:
        ray.cancel(ref, force=True)


@pytest.mark.parametrize("order", ["ascending", "descending", "shuffled"])
def test_a_reference_twice_is_an_error_in_any_order(ray: Any, order: str) -> None:
    refs = [ray.put(i) for i in range(MANY)]
    if order == "descending":
        refs.reverse()
    elif order == "shuffled":
        random.Random(1).shuffle(refs)
    ready, rest = ray.wait(refs, num_returns=MANY, timeout=10)
    assert ready == refs and rest == []
    for twice in (refs[0], refs[MANY // 2], again(ray, refs[7]), pickle.loads(pickle.dumps(refs[-1]))):
        for at in (0, MANY // 3, MANY):
            with pytest.raises(ValueError, match="unique ObjectRefs"):
                ray.wait([*refs[:at], twice, *refs[at:]], timeout=0)


def test_results_of_one_task_are_told_apart(ray: Any) -> None:
    """They differ in their count and index only."""
    refs = ray.remote(num_returns=MANY)(lambda: range(MANY)).remote()
    ready, rest = ray.wait(list(refs), num_returns=MANY, timeout=30)
    assert ready == list(refs) and not rest


def test_threads_that_wait_for_the_same_references(ray: Any, tmp_path: Any) -> None:
    """An object counts for one wait by a number on it; others that wait for it at the same time must hear, too."""
    gate = tmp_path / "gate"

    @ray.remote(num_cpus=0)
    def wait_for(path: str, i: int) -> int:
        import os

        while not os.path.exists(path):
            time.sleep(0.01)
        return i

    refs = [wait_for.remote(str(gate), i) for i in range(4)]
    found: list[tuple[int, list[Any]]] = []

    def waits(need: int) -> None:
        ready, _ = ray.wait(refs, num_returns=need, timeout=60)
        found.append((need, ready))

    def gets() -> None:
        found.append((4, ray.get(refs, timeout=60)))

    threads = [threading.Thread(target=waits, args=(need,)) for need in (1, 2, 3, 4, 4)]
    threads.append(threading.Thread(target=gets))
    for thread in threads:
        thread.start()
    assert ray.wait(refs, num_returns=4, timeout=0.2) == ([], refs), "a wait that ends without the others"
    gate.touch()
    for thread in threads:
        thread.join(60)
    assert len(found) == len(threads) and all(len(ready) == need for need, ready in found)


def test_the_list_may_change_while_it_is_waited_for(ray: Any, tmp_path: Any) -> None:
    gate = tmp_path / "gate"

    @ray.remote(num_cpus=0)
    def wait_for(path: str) -> int:
        import os

        while not os.path.exists(path):
            time.sleep(0.01)
        return 1

    refs = [wait_for.remote(str(gate)) for _ in range(3)]
    kept = list(refs)

    main = threading.get_ident()

    def place() -> tuple[Any, int]:
        frame = sys._current_frames()[main]
        return frame.f_code, frame.f_lasti

    def change() -> None:
        before = place()
        while (now := place()) != before or now[0] is not ray.wait.__code__:  # until it waits in the core
            before = now
            time.sleep(0.002)
        refs.clear()
        gate.touch()

    thread = threading.Thread(target=change)
    thread.start()
    ready, rest = ray.wait(refs, num_returns=3, timeout=60)
    thread.join()
    assert ready == kept and rest == [] and ray.get(ready) == [1, 1, 1]


def test_what_is_not_a_plain_list_is_looked_at_closely(ray: Any) -> None:
    ref = ray.put(1)

    class Refs(list):  # type: ignore[type-arg]
        pass

    assert ray.wait(Refs([ref])) == ([ref], [])
    with pytest.raises(TypeError, match="a list containing <class 'int'>"):
        ray.wait([ref, 1])
    with pytest.raises(ValueError, match="Invalid number of objects to return 0"):
        ray.wait([ref], num_returns=0)
    with pytest.raises(ValueError, match="cannot be greater"):
        ray.wait([ref], num_returns=2**70)
    with pytest.raises(TypeError, match="num_returns"):
        ray.wait([ref], num_returns=1.0)
    with pytest.raises(ValueError, match="nonnegative"):
        ray.wait([ref], timeout=-1)
    assert ray.wait([], num_returns=5) == ([], [])


def test_generators_and_references_in_one_list(ray: Any) -> None:
    @ray.remote(num_returns="streaming")
    def items() -> Any:
        yield 1

    generator, value = items.remote(), ray.put(2)
    ready, rest = ray.wait([generator, value], num_returns=2, timeout=30)
    assert ready[0] is generator and ready[1] is value and rest == []
    with pytest.raises(ValueError, match="unique"):
        ray.wait([generator, value, generator])
    assert ray.get(next(generator)) == 1
