"""`ObjectRef`: identity, text, await, futures, and travelling inside values."""

from __future__ import annotations

import asyncio
import concurrent.futures
import copy
import pickle
from typing import Any

from casebook import accepts, attempt, case


@case
def form(ray: Any) -> None:
    ref = ray.put(1)
    print(len(ref.hex()), len(ref.binary()), ref.binary().hex() == ref.hex())
    print(repr(ref) == f"ObjectRef({ref.hex()})", str(ref) == repr(ref), type(ref).__name__)
    print(isinstance(ref, ray.ObjectRef))


@case
def identity(ray: Any) -> None:
    a, b = ray.put(1), ray.put(1)
    print(a == a, a == b, a != b, hash(a) == hash(a), len({a, b, a}), {a: "x"}[a])
    print(a == 1, a == None, a in [b, a])  # noqa: E711
    print("copies are equal:", copy.copy(a) == a)


@case
def not_a_value(ray: Any) -> None:
    ref = ray.put([1])
    attempt("iterate", lambda: list(ref))
    attempt("index", lambda: ref[0])
    attempt("add", lambda: ref + 1)
    attempt("order", lambda: ref < ref)
    print("truth:", bool(ref))


@case
def the_same_inside_a_task(ray: Any) -> None:
    ref = ray.put(5)

    @ray.remote
    def look(box: list[Any]) -> tuple[str, bool, int]:
        return box[0].hex(), box[0] == box[1], len(set(box))

    print(ray.get(look.remote([ref, ref])) == (ref.hex(), True, 1))
    back = ray.get(ray.remote(lambda box: box).remote([ref]))[0]
    print(back == ref, hash(back) == hash(ref), ray.get(back))


@case
def awaiting(ray: Any) -> None:
    double = ray.remote(lambda x: 2 * x)

    async def main() -> None:
        print(await double.remote(4))
        print(await asyncio.gather(*[double.remote(i) for i in range(5)]))
        done, pending = await asyncio.wait([asyncio.ensure_future(double.remote(8))], timeout=20)
        print([task.result() for task in done], pending)
        ref = ray.put("put")
        print(await ref, await ref)

    asyncio.run(main())


@case
def awaiting_errors(ray: Any) -> None:
    @ray.remote
    def fail() -> None:
        raise ValueError("awaited")

    async def main() -> None:
        try:
            await fail.remote()
        except ValueError as error:
            print(type(error).__name__, "awaited" in str(error))
        results = await asyncio.gather(fail.remote(), ray.put(1), return_exceptions=True)
        print([type(result).__name__ for result in results])

    asyncio.run(main())


@case
def awaiting_with_a_limit(ray: Any) -> None:
    import threading

    @ray.remote(num_cpus=0, max_concurrency=2)
    class Gate:
        def __init__(self) -> None:
            self.event = threading.Event()

        def block(self) -> str:
            self.event.wait(60)
            return "open"

        def release(self) -> None:
            self.event.set()

    gate = Gate.remote()
    blocked = gate.block.remote()

    async def main() -> None:
        try:
            await asyncio.wait_for(blocked, timeout=0.05)
        except asyncio.TimeoutError:
            print("timed out")
        await gate.release.remote()
        print(await blocked)

    asyncio.run(main())


@case
def awaiting_while_others_get(ray: Any) -> None:
    import threading

    refs = [ray.remote(lambda i: i * i).remote(i) for i in range(6)]
    results: list[Any] = []
    threads = [threading.Thread(target=lambda: results.append(ray.get(refs))) for _ in range(2)]

    async def main() -> list[int]:
        for thread in threads:
            thread.start()
        return list(await asyncio.gather(*refs))

    print(asyncio.run(main()))
    for thread in threads:
        thread.join()
    print(results)


@case
def futures(ray: Any) -> None:
    double = ray.remote(lambda x: 2 * x)
    future = double.remote(3).future()
    print(isinstance(future, concurrent.futures.Future), future.result(timeout=20), future.done())
    many = [double.remote(i).future() for i in range(4)]
    done, rest = concurrent.futures.wait(many, timeout=20)
    print(sorted(item.result() for item in done), len(rest))

    def fail() -> None:
        raise KeyError("k")

    failed = ray.remote(fail).remote().future()
    print(type(failed.exception(timeout=20)).__name__)
    attempt("result", lambda: failed.result(timeout=20))


@case
def callbacks_of_futures(ray: Any) -> None:
    import queue

    values: queue.Queue[int] = queue.Queue()
    future = ray.remote(lambda: 7).remote().future()
    future.add_done_callback(lambda done: values.put(done.result()))
    print(values.get(timeout=20))


@case
def pickled_outside(ray: Any) -> None:
    ref = ray.put(1)
    accepts("pickle.dumps", lambda: pickle.dumps(ref))


@case
def inside_an_actor(ray: Any) -> None:
    @ray.remote
    class Store:
        def __init__(self) -> None:
            self.refs: list[Any] = []

        def keep(self, value: int) -> None:
            self.refs.append(ray.put(value))

        def give(self) -> list[Any]:
            return self.refs

    store = Store.remote()
    for i in range(3):
        store.keep.remote(i)
    print(ray.get(ray.get(store.give.remote())))
