"""Objects of many MiB: taken by task after task, and by more than the store has room for."""

from __future__ import annotations

import os
from typing import Any

import eagleray
import msgpack
import numpy as np
import pytest
from eagleray._private.state import process
from pace import until

MIB = 1 << 20


def used() -> int:
    """Bytes of the arena that objects have."""
    found: dict[str, int] = msgpack.unpackb(process.require().hot.rpc("obj_stats", b"", 5000))
    return found["used"]


def test_taken_again_and_again() -> None:
    """Workers keep what they have looked at pinned; that must neither block others nor outlive its references."""
    with eagleray.init(address="local", num_cpus=2, object_store_memory=80 * MIB, log_to_driver=False):

        @eagleray.remote(num_cpus=0)
        class Reader:
            def total(self, array: Any) -> int:
                return int(array[:: MIB // 4].sum())

        total = eagleray.remote(lambda array: int(array[:: MIB // 4].sum()))
        readers = [Reader.remote() for _ in range(2)]
        refs = [eagleray.put(np.full(16 * MIB, number, dtype=np.uint8)) for number in range(8)]
        for number in [0, 0, 1, 0, *range(8), 7, 0]:
            ref = refs[number]
            found = [total.remote(ref), *(reader.total.remote(ref) for reader in readers)]
            assert eagleray.get(found, timeout=60) == [64 * number] * 3
        del ref, refs, found
        until(lambda: used() == 0, "the store is empty")


def test_puts_in_a_row() -> None:
    """The memory of what is gone is used again at once, and only of what is gone."""
    with eagleray.init(address="local", num_cpus=1, object_store_memory=200 * MIB, log_to_driver=False):
        first = eagleray.remote(lambda array: int(array[0]))
        keep: list[Any] = []
        for number in range(60):
            ref = eagleray.put(np.full(3 * MIB + number % 3, number, dtype=np.uint8))
            if number % 5 == 1:
                assert eagleray.get(first.remote(ref)) == number
            if number % 5 == 2:
                keep.append(eagleray.get(ref))
            if number % 5 == 3:
                keep.append(eagleray.put([ref]))
            del ref
        found = [each if isinstance(each, np.ndarray) else eagleray.get(eagleray.get(each)[0]) for each in keep]
        assert [int(each[0]) for each in found] == [n for n in range(60) if n % 5 in (2, 3)]
        assert all((each == each[0]).all() for each in found)
        del found, keep
        until(lambda: used() == 0, "the store is empty")


def test_zeros_of_a_huge_object_take_no_memory() -> None:
    """What is zero is not written; it is read as zeros by everybody, and after a way over the disk."""
    size = 260 * MIB
    with eagleray.init(address="local", num_cpus=1, object_store_memory=400 * MIB, log_to_driver=False):
        look = eagleray.remote(lambda array: (int(array.sum()), int(array[100 * MIB + 5]), array.nbytes))
        first, second = (np.zeros(size, dtype=np.uint8) for _ in range(2))
        first[100 * MIB + 5] = 7
        second[-1] = 9
        refs = [eagleray.put(first), eagleray.put(second)]  # one has no room in memory beside the other
        assert eagleray.get(look.remote(refs[0])) == (7, 7, size)
        assert eagleray.get(look.remote(refs[1])) == (9, 0, size)
        assert (eagleray.get(refs[0]) == first).all()


def test_a_full_store_that_spills_nothing_waits_for_what_ended_tasks_have_looked_at() -> None:
    nothing_spilled = {"automatic_object_spilling_enabled": False}
    with eagleray.init(
        address="local", num_cpus=2, object_store_memory=100 * MIB, log_to_driver=False, _system_config=nothing_spilled
    ):
        size = eagleray.remote(lambda array: array.nbytes)
        for _ in range(30):
            assert eagleray.get(size.remote(np.zeros(10 * MIB, np.uint8))) == 10 * MIB
        held = []
        with pytest.raises(eagleray.exceptions.ObjectStoreFullError, match="nothing is spilled to disk"):
            for _ in range(20):
                held.append(eagleray.put(np.zeros(10 * MIB, np.uint8)))
        del held[0]
        held.append(eagleray.put(np.zeros(10 * MIB, np.uint8)))
        assert len(held) == 9


def test_what_objects_take_is_not_available() -> None:
    settings = {"min_spilling_size": 0}
    with eagleray.init(
        address="local", num_cpus=1, object_store_memory=500 * MIB, log_to_driver=False, _system_config=settings
    ):
        assert eagleray.available_resources()["object_store_memory"] == 500 * MIB
        reference = eagleray.put(np.zeros(150 * MIB, np.uint8))
        assert 349 * MIB <= eagleray.available_resources()["object_store_memory"] <= 350 * MIB
        assert eagleray.cluster_resources()["object_store_memory"] == 500 * MIB
        del reference


def test_what_a_task_has_put_outlives_an_actor_on_its_worker() -> None:
    with eagleray.init(address="local", num_cpus=1, object_store_memory=500 * MIB, log_to_driver=False):

        @eagleray.remote
        def make() -> Any:
            return os.getpid(), eagleray.put(np.ones(20 * MIB, np.uint8))

        @eagleray.remote(num_cpus=1)
        class Actor:
            def pid(self) -> int:
                return os.getpid()

        for wait in (True, False, True, False):
            pid, reference = eagleray.get(make.remote())
            actor = Actor.remote()
            if wait:
                assert eagleray.get(actor.pid.remote()) != pid
            eagleray.kill(actor)
            del actor
            assert int(eagleray.get(reference)[-1]) == 1
