"""Callbacks on references: when a value is there, and when nobody holds an object any more."""

from __future__ import annotations

import asyncio
import queue
import threading
from typing import Any

import numpy as np
import pytest
from eagleray._private.internal_api import add_object_out_of_scope_callback, free

PATIENCE_S = 30.0


class Gate:
    """An actor whose value comes when it is told to."""

    def __init__(self) -> None:
        self.event = threading.Event()

    def value(self, x: Any) -> Any:
        self.event.wait(60)
        if isinstance(x, Exception):
            raise x
        return x

    def open(self) -> None:
        self.event.set()


@pytest.fixture
def gate(ray: Any) -> Any:
    return ray.remote(num_cpus=0, max_concurrency=3)(Gate).remote()


def test_a_callback_gets_the_value_on_a_thread_that_is_not_the_callers(ray: Any, gate: Any) -> None:
    got: queue.SimpleQueue[Any] = queue.SimpleQueue()
    ref = gate.value.remote("value")
    assert ref._on_completed(lambda value: got.put((value, threading.current_thread().name))) is ref
    assert got.empty()
    gate.open.remote()
    value, thread = got.get(timeout=PATIENCE_S)
    assert value == "value" and thread != threading.current_thread().name


def test_a_value_that_is_there_is_given_although_the_caller_holds_a_lock(ray: Any) -> None:
    lock = threading.Lock()
    got: queue.SimpleQueue[Any] = queue.SimpleQueue()

    def callback(value: Any) -> None:
        with lock:
            got.put(value)

    ref = ray.put([1, 2])
    ray.get(ref)
    with lock:
        ref._on_completed(callback)
    assert got.get(timeout=PATIENCE_S) == [1, 2]


def test_a_callback_gets_the_error_of_the_call(ray: Any, gate: Any) -> None:
    got: queue.SimpleQueue[Any] = queue.SimpleQueue()
    gate.value.remote(KeyError("told"))._on_completed(got.put)
    gate.open.remote()
    error = got.get(timeout=PATIENCE_S)
    assert isinstance(error, ray.exceptions.RayTaskError) and isinstance(error.cause, KeyError)


def test_a_callback_that_raises_is_told_of_and_stops_no_other(ray: Any, capfd: Any) -> None:
    got: queue.SimpleQueue[Any] = queue.SimpleQueue()

    def bad(value: Any) -> None:
        raise ValueError(f"callback of {value}")

    ray.put("a")._on_completed(bad)
    ray.put("b")._on_completed(got.put)
    assert got.get(timeout=PATIENCE_S) == "b"
    assert "ValueError: callback of a" in capfd.readouterr().err


def test_a_callback_keeps_the_value_and_may_wait_for_others(ray: Any, gate: Any) -> None:
    got: queue.SimpleQueue[Any] = queue.SimpleQueue()
    other = gate.value.remote(2)
    ref = gate.value.remote(1)
    ref._on_completed(lambda value: got.put((value, ray.get(other, timeout=PATIENCE_S))))
    del ref
    gate.open.remote()
    assert got.get(timeout=PATIENCE_S) == (1, 2)


def test_many_callbacks_each_once(ray: Any) -> None:
    @ray.remote
    def same(x: int) -> int:
        return x

    got: queue.SimpleQueue[int] = queue.SimpleQueue()
    for number in range(300):
        same.remote(number)._on_completed(got.put)
    assert sorted(got.get(timeout=PATIENCE_S) for _ in range(300)) == list(range(300)) and got.empty()


def test_readiness_is_told_without_the_value(ray: Any, gate: Any) -> None:
    got: queue.SimpleQueue[Any] = queue.SimpleQueue()
    failing = gate.value.remote(KeyError("not told"))
    cancel = failing._on_ready(got.put)
    ended = gate.value.remote(1)
    ended._on_ready(got.put)()
    cancelled = got.get(timeout=PATIENCE_S)
    assert isinstance(cancelled, ray.exceptions.RaySystemError) and "was cancelled" in str(cancelled)
    gate.open.remote()
    assert got.get(timeout=PATIENCE_S) is None
    assert ray.get(ended, timeout=PATIENCE_S) == 1
    cancel()  # after the end it does nothing
    ray.put(1)._on_completed(got.put)
    assert got.get(timeout=PATIENCE_S) == 1

    async def wait() -> Any:
        ref = ray.put("awaited")
        return await ref._ready() == ref

    assert asyncio.run(wait())


@pytest.mark.parametrize("name", ["_on_completed", "_on_ready"])
def test_what_is_no_function_is_refused(ray: Any, name: str) -> None:
    with pytest.raises(TypeError, match=f"{name}\\(\\) takes a function, got int: 5"):
        getattr(ray.put(1), name)(5)
    with pytest.raises(TypeError, match="takes a function, got str"):
        add_object_out_of_scope_callback(ray.put(1), "no function")  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="takes an ObjectRef, got int"):
        add_object_out_of_scope_callback(5, print)  # type: ignore[arg-type]


def test_the_owner_hears_when_the_last_reference_is_gone(ray: Any) -> None:
    @ray.remote(num_cpus=0)
    class Holder:
        def keep(self, refs: Any) -> None:
            self.refs = refs

    holder = Holder.remote()
    got: queue.SimpleQueue[bytes] = queue.SimpleQueue()
    ref = ray.put(np.zeros(200_000))
    wanted = ref.binary()
    assert add_object_out_of_scope_callback(ref, got.put) and add_object_out_of_scope_callback(ref, got.put)
    ray.get(holder.keep.remote([ref]))
    del ref
    with pytest.raises(queue.Empty):
        got.get(timeout=0.3)
    ray.get(holder.keep.remote(None))
    assert [got.get(timeout=PATIENCE_S), got.get(timeout=PATIENCE_S)] == [wanted, wanted]


def test_the_owner_hears_of_results_and_of_values_that_are_freed(ray: Any) -> None:
    @ray.remote
    def make() -> int:
        return 1

    got: queue.SimpleQueue[bytes] = queue.SimpleQueue()
    ref = make.remote()
    wanted = ref.binary()
    assert add_object_out_of_scope_callback(ref, got.put)
    assert ray.get(ref) == 1
    del ref
    assert got.get(timeout=PATIENCE_S) == wanted
    freed = ray.put(np.zeros(200_000))
    assert add_object_out_of_scope_callback(freed, got.put)
    free([freed])
    assert got.get(timeout=PATIENCE_S) == freed.binary()


def test_who_does_not_own_an_object_is_refused(ray: Any) -> None:
    @ray.remote(num_cpus=0)
    class Owner:
        def make(self) -> Any:
            return [ray.put(1)]

    owner = Owner.remote()
    (ref,) = ray.get(owner.make.remote())
    with pytest.raises(ValueError, match="owned by another process"):
        add_object_out_of_scope_callback(ref, print)


def test_the_size_of_a_value_that_is_not_fetched(ray: Any) -> None:
    @ray.remote
    def make(size: int) -> bytes:
        return bytes(size)

    ref = make.remote(3_000_000)
    ray.wait([ref], timeout=PATIENCE_S, fetch_local=False)
    found = ray.experimental.get_local_object_locations([ref])[ref]
    assert found["object_size"] > 3_000_000 and len(found["node_ids"]) == 1
    assert ray.experimental.get_local_object_locations([]) == {}
    with pytest.raises(TypeError, match="takes a list of ObjectRefs, got one ObjectRef"):
        ray.experimental.get_local_object_locations(ref)


def test_libraries_find_them_at_the_core_worker(ray: Any) -> None:
    from eagleray._private.outside.worker import global_worker

    got: queue.SimpleQueue[bytes] = queue.SimpleQueue()
    ref = ray.put(bytes(1_000_000))
    for locate in (
        global_worker.core_worker.get_local_object_locations,
        global_worker.core_worker.get_object_locations,
    ):
        assert locate([ref])[ref]["object_size"] > 1_000_000
    assert global_worker.core_worker.add_object_out_of_scope_callback(ref, got.put)
    wanted = ref.binary()
    del ref
    assert got.get(timeout=PATIENCE_S) == wanted


def test_a_session_that_ends_calls_those_that_wait_with_an_error(script: Any) -> None:
    done = script(
        """
        import queue, eagleray as ray
        ray.init(num_cpus=1)
        got = queue.SimpleQueue()

        @ray.remote
        class Waits:
            def wait(self):
                import threading
                threading.Event().wait(60)

        actor = Waits.remote()
        actor.wait.remote()._on_completed(got.put)
        ray.shutdown()
        print(type(got.get(timeout=30)).__name__)
        """
    )
    assert done.stdout.split() == ["ValueError"]
