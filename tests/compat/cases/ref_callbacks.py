"""Callbacks on references, futures outside of event loops, and where the values of references lie."""

from __future__ import annotations

import asyncio
import concurrent.futures
import importlib
import threading
from typing import Any

from casebook import accepts, attempt, case, eventually


def waits(ray: Any) -> Any:
    @ray.remote(concurrency_groups={"control": 1}, num_cpus=0)
    class Gate:
        def __init__(self) -> None:
            self.event = threading.Event()

        def value(self, x: Any) -> Any:
            self.event.wait(60)
            return x

        @ray.method(concurrency_group="control")
        def open(self) -> None:
            self.event.set()

    return Gate.remote()


def core_worker(ray: Any) -> Any:
    """The object that libraries use, in the module in which they find it."""
    return importlib.import_module(f"{ray.__name__}._private.worker").global_worker.core_worker


@case
def a_callback_gets_the_value(ray: Any) -> None:
    gate = waits(ray)
    got: list[Any] = []
    done = threading.Event()

    def callback(value: Any) -> None:
        got.append(value)
        done.set()

    ref = gate.value.remote(5)
    print(ref._on_completed(callback) is ref, got)
    gate.open.remote()
    print(done.wait(30), got)


@case
def a_callback_gets_the_error(ray: Any) -> None:
    @ray.remote
    def fails() -> None:
        raise KeyError("callback")

    got: list[Any] = []
    done = threading.Event()

    def callback(value: Any) -> None:
        got.append(value)
        done.set()

    fails.remote()._on_completed(callback)
    print(done.wait(30), type(got[0]).__name__, isinstance(got[0], ray.exceptions.RayTaskError))


@case
def several_callbacks(ray: Any) -> None:
    gate = waits(ray)
    got: list[Any] = []
    done = threading.Semaphore(0)
    ref = gate.value.remote(5)
    for i in range(3):

        def callback(value: Any, i: int = i) -> None:
            got.append((i, value))
            done.release()

        ref._on_completed(callback)
    gate.open.remote()
    print([done.acquire(timeout=30) for _ in range(3)], sorted(got))


@case
def a_callback_that_raises_stops_no_other(ray: Any) -> None:
    done = threading.Event()

    def bad(value: Any) -> None:
        raise ValueError("callback")

    gate = waits(ray)
    ref = gate.value.remote(1)
    ref._on_completed(bad)
    ref._on_completed(lambda value: done.set())
    gate.open.remote()
    print(done.wait(30), ray.get(ref))


@case
def a_callback_keeps_the_value(ray: Any) -> None:
    gate = waits(ray)
    got: list[Any] = []
    done = threading.Event()

    def callback(value: Any) -> None:
        got.append(value)
        done.set()

    ref = gate.value.remote("kept")
    ref._on_completed(callback)
    del ref
    gate.open.remote()
    print(done.wait(30), got)


@case
def a_callback_calls_get(ray: Any) -> None:
    gate = waits(ray)
    got: list[Any] = []
    done = threading.Event()
    other = ray.put(7)

    def callback(value: Any) -> None:
        got.append(ray.get(other, timeout=30))
        done.set()

    gate.value.remote(1)._on_completed(callback)
    gate.open.remote()
    print(done.wait(30), got)


@case
def a_callback_in_an_actor(ray: Any) -> None:
    @ray.remote
    def value() -> int:
        return 3

    @ray.remote
    class Actor:
        def run(self) -> Any:
            got: list[Any] = []
            done = threading.Event()

            def callback(found: Any) -> None:
                got.append(found)
                done.set()

            value.remote()._on_completed(callback)
            done.wait(30)
            return got

    print(ray.get(Actor.remote().run.remote(), timeout=60))


@case
def a_callback_when_it_is_ready(ray: Any) -> None:
    gate = waits(ray)
    got: list[Any] = []
    done = threading.Event()

    def callback(error: Any) -> None:
        got.append(error)
        done.set()

    ref = gate.value.remote("unread")
    cancel = ref._on_ready(callback)
    print(callable(cancel), got)
    gate.open.remote()
    print(done.wait(30), got)
    cancel()


@case
def a_callback_when_it_is_ready_is_cancelled(ray: Any) -> None:
    gate = waits(ray)
    got: list[Any] = []
    ref = gate.value.remote("unread")
    ref._on_ready(got.append)()
    eventually(lambda: len(got), 1)
    gate.open.remote()
    print(ray.get(ref, timeout=30), [type(error).__name__ for error in got])


@case
def a_callback_when_a_failed_call_is_ready(ray: Any) -> None:
    @ray.remote
    def fails() -> None:
        raise KeyError("callback")

    got: list[Any] = []
    done = threading.Event()

    def callback(error: Any) -> None:
        got.append(error)
        done.set()

    fails.remote()._on_ready(callback)
    print(done.wait(30), got)


@case
def readiness_is_awaited(ray: Any) -> None:
    async def main() -> None:
        gate = waits(ray)
        ref = gate.value.remote("unread")
        waiting = asyncio.ensure_future(ref._ready())
        await asyncio.sleep(0.2)
        print(waiting.done())
        gate.open.remote()
        print(await waiting == ref, await ref)

    asyncio.run(main())


@case
def an_object_goes_out_of_scope(ray: Any) -> None:
    register = core_worker(ray).add_object_out_of_scope_callback
    got: list[Any] = []
    first, second = threading.Event(), threading.Event()

    def callback(id_bytes: bytes) -> None:
        got.append(id_bytes)
        first.set()

    ref = ray.put(1)
    wanted = ref.binary()
    print(register(ref, callback), register(ref, lambda _: second.set()))
    other = ray.put([ref])
    del ref
    print(first.wait(0.5))
    del other
    print(first.wait(30), second.wait(30), got == [wanted])


@case
def only_the_owner_hears_of_the_end(ray: Any) -> None:
    register = core_worker(ray).add_object_out_of_scope_callback

    @ray.remote
    class Owner:
        def make(self) -> Any:
            return ray.put(1)

    owner = Owner.remote()
    accepts("another's", lambda: register(ray.get(owner.make.remote()), print))


@case
def futures_for_threads(ray: Any) -> None:
    future = ray.put(4).future()
    print(isinstance(future, concurrent.futures.Future), future.result(timeout=30))


@case
def futures_for_threads_with_errors(ray: Any) -> None:
    @ray.remote
    def fails() -> None:
        raise KeyError("future")

    attempt("result", lambda: fails.remote().future().result(timeout=30))
    print(isinstance(fails.remote().future().exception(timeout=30), ray.exceptions.RayTaskError))


@case
def futures_together(ray: Any) -> None:
    futures = [ray.put(i).future() for i in range(5)]
    done, _ = concurrent.futures.wait(futures, timeout=30)
    print(sorted(future.result() for future in done))
    print(sorted(future.result() for future in concurrent.futures.as_completed(futures, timeout=30)))


@case
def futures_of_loops_outside_of_them(ray: Any) -> None:
    loop = asyncio.new_event_loop()
    asyncio.set_event_loop(loop)
    try:
        future = ray.put(6).as_future()
        print(asyncio.isfuture(future), loop.run_until_complete(future))
    finally:
        asyncio.set_event_loop(None)
        loop.close()


@case
def futures_of_loops_in_them(ray: Any) -> None:
    async def main() -> Any:
        return await asyncio.wait_for(ray.put(8).as_future(), 30)

    print(asyncio.run(main()))


@case
def awaited_twice(ray: Any) -> None:
    ref = ray.put(8)

    async def main() -> Any:
        return await ref, await ref

    print(asyncio.run(main()))


@case
def locations_of_a_large_value(ray: Any) -> None:
    ref = ray.put(b"x" * 2_000_000)
    node = ray.get_runtime_context().get_node_id()
    found = ray.experimental.get_object_locations([ref])
    print(list(found) == [ref], sorted(found[ref]))
    print(found[ref]["node_ids"] == [node], found[ref]["object_size"] > 2_000_000, found[ref]["did_spill"])


@case
def local_locations_of_a_large_value(ray: Any) -> None:
    ref = ray.put(b"x" * 2_000_000)
    node = ray.get_runtime_context().get_node_id()
    found = ray.experimental.get_local_object_locations([ref])
    print(list(found) == [ref], sorted(found[ref]))
    print(found[ref]["node_ids"] == [node], found[ref]["object_size"] > 2_000_000, found[ref]["did_spill"])


@case
def local_locations_of_results(ray: Any) -> None:
    @ray.remote
    def make() -> bytes:
        return b"x" * 3_000_000

    ref = make.remote()
    ray.wait([ref], timeout=30, fetch_local=False)
    node = ray.get_runtime_context().get_node_id()

    def look() -> Any:
        found = ray.experimental.get_local_object_locations([ref])[ref]
        return found["node_ids"] == [node], (found["object_size"] or 0) > 3_000_000

    print(eventually(look, (True, True)))


@case
def local_locations_of_what_is_not_there(ray: Any) -> None:
    gate = waits(ray)
    ref = gate.value.remote(1)
    found = ray.experimental.get_local_object_locations([ref])
    print(list(found) == [ref], sorted(found[ref]), found[ref]["node_ids"], found[ref]["object_size"])
    gate.open.remote()


@case
def local_locations_of_several(ray: Any) -> None:
    refs = [ray.put(b"x" * 1_000_000) for _ in range(3)]
    print(list(ray.experimental.get_local_object_locations(refs)) == refs)
    print(ray.experimental.get_local_object_locations([]))


@case
def references_compare_and_hash(ray: Any) -> None:
    ref, other = ray.put(1), ray.put(1)
    again = ray.ObjectRef(ref.binary())
    print(ref == again, hash(ref) == hash(again), ref == other, len({ref, again, other}), ref != "text")


@case
def wrong_callbacks(ray: Any) -> None:
    accepts("none", lambda: ray.put(1)._on_completed())
