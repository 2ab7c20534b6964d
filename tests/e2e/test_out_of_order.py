"""allow_out_of_order_execution: calls whose arguments are late hold no later calls back."""

from __future__ import annotations

import threading
from typing import Any

import numpy as np
import pytest

PATIENCE_S = 60.0


class Notes:
    def __init__(self) -> None:
        self.seen: list[Any] = []

    def note(self, number: int, *rest: Any) -> int:
        self.seen.append(number)
        return number

    def notes(self) -> list[Any]:
        return self.seen


class Gate:
    def __init__(self) -> None:
        self.event = threading.Event()

    def value(self) -> int:
        self.event.wait(60)
        return 0

    def open(self) -> None:
        self.event.set()


@pytest.fixture
def gate(ray: Any) -> Any:
    return ray.remote(num_cpus=0, max_concurrency=2)(Gate).remote()


def test_hundreds_of_late_calls_hold_nobody_and_all_are_answered(ray: Any, gate: Any) -> None:
    actor = ray.remote(num_cpus=0, allow_out_of_order_execution=True)(Notes).remote()
    late = gate.value.remote()
    held, free = [], []
    for number in range(300):
        held.append(actor.note.remote(number, late))
        free.append(actor.note.remote(1000 + number))
    assert ray.get(free, timeout=PATIENCE_S) == list(range(1000, 1300))
    assert ray.wait(held, timeout=0)[0] == []
    gate.open.remote()
    assert ray.get(held, timeout=PATIENCE_S) == list(range(300))
    assert ray.get(actor.notes.remote()) == [*range(1000, 1300), *range(300)]


def test_large_arguments_keep_their_place(ray: Any) -> None:
    actor = ray.remote(num_cpus=0, allow_out_of_order_execution=True)(Notes).remote()
    refs = [actor.note.remote(n, np.zeros(200_000, dtype=np.uint8) if n % 3 == 0 else None) for n in range(60)]
    assert ray.get(refs, timeout=PATIENCE_S) == list(range(60))
    assert ray.get(actor.notes.remote()) == list(range(60))


def test_a_call_may_wait_for_a_later_one(ray: Any) -> None:
    """With the calls in order this program would wait for ever."""

    @ray.remote(num_cpus=0)
    def after(refs: Any) -> Any:
        return ray.get(refs[0], timeout=PATIENCE_S) + 1

    for options in ({"max_concurrency": 2}, {"allow_out_of_order_execution": True}):
        actor = ray.remote(num_cpus=0, **options)(Notes).remote()
        gate = ray.remote(num_cpus=0, max_concurrency=2)(Gate).remote()
        waiting = actor.note.remote(gate.value.remote())
        later = actor.note.remote(5)
        assert ray.get(after.remote([later]), timeout=PATIENCE_S) == 6
        gate.open.remote()
        assert ray.get(waiting, timeout=PATIENCE_S) == 0


def test_cancelled_and_failed_calls_leave_the_others(ray: Any, gate: Any) -> None:
    @ray.remote
    def fails() -> None:
        raise KeyError("argument")

    actor = ray.remote(num_cpus=0, allow_out_of_order_execution=True)(Notes).remote()
    late = gate.value.remote()
    held = [actor.note.remote(number, late) for number in range(4)]
    broken = actor.note.remote(9, fails.remote())
    ray.cancel(held[1])
    with pytest.raises(ray.exceptions.TaskCancelledError):
        ray.get(held[1], timeout=PATIENCE_S)
    with pytest.raises(KeyError, match="argument"):
        ray.get(broken, timeout=PATIENCE_S)
    gate.open.remote()
    assert ray.get([held[0], *held[2:]], timeout=PATIENCE_S) == [0, 2, 3]


def test_calls_in_a_group_are_out_of_order_too(ray: Any, gate: Any) -> None:
    grouped = ray.remote(num_cpus=0, allow_out_of_order_execution=True, concurrency_groups={"io": 1})
    actor = grouped(Notes).remote()
    note = actor.note.options(concurrency_group="io")
    held, free = note.remote(1, gate.value.remote()), note.remote(2)
    assert ray.get(free, timeout=PATIENCE_S) == 2
    gate.open.remote()
    assert ray.get(held, timeout=PATIENCE_S) == 1


def test_calls_that_run_at_the_same_time_cannot_be_kept_in_order(ray: Any) -> None:
    class Coroutines:
        async def one(self) -> int:
            return 1

    with pytest.raises(ValueError, match="Notes runs several calls at a time"):
        ray.remote(max_concurrency=2, allow_out_of_order_execution=False)(Notes).remote()
    with pytest.raises(ValueError, match="Coroutines has coroutine methods"):
        ray.remote(allow_out_of_order_execution=False)(Coroutines).remote()
