"""A value that was freed or lost is given to nobody, and leaves the store when nobody looks at it any more.

References to it may live on, in its owner and elsewhere: they keep no memory.
"""

from __future__ import annotations

import gc
import pathlib
from collections.abc import Iterator
from typing import Any

import pytest
from eagleray import exceptions
from eagleray._private.internal_api import free
from losing import BIG, lose, np, stored
from pace import PATIENCE_S, becomes, until


@pytest.fixture
def before(ray: Any) -> Iterator[int]:
    """How many objects the store has without those of the test; afterwards it has no more than that."""
    gc.collect()
    count = stored()
    yield count
    gc.collect()
    becomes(stored, count)


@pytest.fixture
def gate(tmp_path: pathlib.Path) -> Iterator[pathlib.Path]:
    """The file whose existence ends tasks of ``hold``, which ends them after the test at the latest."""
    path = tmp_path / "gate"
    yield path
    path.touch()


def holding(ray: Any, gate: pathlib.Path) -> Any:
    """A task that looks at its argument until the gate is there, and says that it has begun."""

    @ray.remote
    def hold(value: Any) -> int:
        gate.with_suffix(".begun").touch()
        until(gate.exists, "nobody opened the gate")
        return int(value[0])

    return hold


@pytest.mark.parametrize("size", [BIG, 4 * 2**20])
def test_lost_value_that_a_task_still_looks_at_is_given_to_nobody_else(
    ray: Any, before: int, gate: pathlib.Path, size: int
) -> None:
    ref = ray.put(np.full(size, 7, np.uint8))
    running = holding(ray, gate).remote(ref)
    until(gate.with_suffix(".begun").exists, "the task has not begun")
    lose(ref)
    with pytest.raises(exceptions.ObjectReconstructionFailedError, match="OBJECT_UNRECONSTRUCTABLE_PUT"):
        ray.get(ref, timeout=PATIENCE_S)
    gate.touch()
    assert ray.get(running, timeout=PATIENCE_S) == 7
    becomes(stored, before)  # while ref is held


def test_lost_result_that_a_task_still_looks_at_is_computed_again(
    ray: Any, before: int, gate: pathlib.Path, tmp_path: pathlib.Path
) -> None:
    runs = tmp_path / "runs"

    @ray.remote
    def make() -> Any:
        with runs.open("a") as file:
            file.write("ran\n")
        return np.full(BIG, 7, np.uint8)

    ref = make.remote()
    running = holding(ray, gate).remote(ref)
    until(gate.with_suffix(".begun").exists, "the task has not begun")
    lose(ref)
    assert ray.get(ref, timeout=PATIENCE_S)[0] == 7
    assert len(runs.read_text().split()) == 2
    gate.touch()
    assert ray.get(running, timeout=PATIENCE_S) == 7
    becomes(stored, before + 1)


@pytest.mark.parametrize("size", [BIG, 4 * 2**20])
def test_put_value_is_lost_at_once_for_the_process_that_put_it(ray: Any, before: int, size: int) -> None:
    ref = ray.put(np.full(size, 7, np.uint8))
    lose(ref)
    with pytest.raises(exceptions.ObjectReconstructionFailedError):
        ray.get(ref, timeout=PATIENCE_S)
    becomes(stored, before)


@pytest.mark.parametrize("let_go", [free, lose])
def test_reference_of_a_reader_does_not_keep_a_value_that_its_owner_let_go(ray: Any, before: int, let_go: Any) -> None:
    @ray.remote
    class Reader:
        def __init__(self, refs: Any) -> None:
            self.refs = refs
            self.sum = int(ray.get(refs[0]).sum())

        def ready(self) -> int:
            return self.sum

        def again(self) -> str:
            try:
                ray.get(self.refs[0])
            except exceptions.ObjectLostError as error:
                return type(error).__name__
            return ""

    ref = ray.put(np.ones(BIG, np.uint8))
    reader = Reader.remote([ref])
    assert ray.get(reader.ready.remote()) == BIG
    let_go(ref)
    becomes(stored, before)  # while the driver and the reader hold references
    wanted = "ObjectFreedError" if let_go is free else "ObjectReconstructionFailedError"
    assert ray.get(reader.again.remote(), timeout=PATIENCE_S) == wanted


@pytest.mark.parametrize("let_go", [free, lose])
def test_reference_of_the_driver_does_not_keep_a_value_that_its_owner_let_go(
    ray: Any, before: int, let_go: Any
) -> None:
    @ray.remote
    class Owner:
        def give(self) -> Any:
            self.ref = ray.put(np.ones(BIG, np.uint8))
            assert ray.get(self.ref)[0] == 1
            return [self.ref]

        def free(self) -> None:
            free(self.ref)

    owner = Owner.remote()
    (ref,) = ray.get(owner.give.remote())
    assert ray.get(ref)[0] == 1
    if let_go is free:
        ray.get(owner.free.remote())
    else:
        lose(ref)
    becomes(stored, before)
    with pytest.raises(exceptions.ObjectLostError):
        ray.get(ref, timeout=PATIENCE_S)


def test_array_of_a_freed_value_stays_as_it_is_until_it_goes(ray: Any, before: int) -> None:
    @ray.remote
    class Reader:
        def __init__(self, refs: Any) -> None:
            self.refs = refs
            self.array = ray.get(refs[0])

        def sum(self) -> int:
            return int(self.array.sum())

        def forget(self) -> None:
            del self.array

    ref = ray.put(np.ones(BIG, np.uint8))
    reader = Reader.remote([ref])
    ray.get(reader.sum.remote())
    free(ref)
    others = [ray.put(np.full(BIG, n, np.uint8)) for n in range(20)]
    assert ray.get(reader.sum.remote(), timeout=PATIENCE_S) == BIG
    del others
    becomes(stored, before + 1)
    ray.get(reader.forget.remote())
    becomes(stored, before)
