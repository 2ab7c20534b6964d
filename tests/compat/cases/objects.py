"""`get` and `put`: one, lists, time limits, and what they refuse."""

from __future__ import annotations

import threading
from typing import Any

from casebook import attempt, case


def never(ray: Any) -> Any:
    """A reference that does not become ready, and the actor that would have to release it."""

    @ray.remote
    class Gate:
        def __init__(self) -> None:
            self.event = threading.Event()

        def block(self) -> str:
            self.event.wait(60)
            return "released"

        def release(self) -> None:
            self.event.set()

    gate = Gate.options(max_concurrency=4, num_cpus=0).remote()
    return gate, gate.block.remote()


@case
def one_and_many(ray: Any) -> None:
    refs = [ray.put(i) for i in range(4)]
    print(ray.get(refs[2]), ray.get(refs), ray.get([]), ray.get([refs[1], refs[1]]), ray.get(refs[::-1]))


@case
def ten_thousand(ray: Any) -> None:
    refs = [ray.put(i) for i in range(10_000)]
    print(sum(ray.get(refs)), len(ray.wait(refs, num_returns=len(refs))[0]))


@case
def none_and_errors_as_values(ray: Any) -> None:
    print(ray.get(ray.put(None)))
    print(repr(ray.get(ray.put(ValueError("only a value")))))
    print(repr(ray.get(ray.remote(lambda: KeyError("returned")).remote())))


@case
def refused_by_get(ray: Any) -> None:
    ref = ray.put(1)
    attempt("number", lambda: ray.get(1))
    attempt("none", lambda: ray.get(None))
    attempt("tuple", lambda: ray.get((ref,)))
    attempt("set", lambda: ray.get({ref}))
    attempt("dict", lambda: ray.get({"a": ref}))
    attempt("generator", lambda: ray.get(x for x in [ref]))
    attempt("list with a number", lambda: ray.get([ref, 1]))
    attempt("nested list", lambda: ray.get([[ref]]))
    attempt("function", lambda: ray.get(ray.remote(lambda: 1)))


@case
def refused_by_put(ray: Any) -> None:
    ref = ray.put(1)
    attempt("reference", lambda: ray.put(ref))
    attempt("in a list", lambda: ray.get(ray.get(ray.put([ref]))[0]))
    attempt("nothing", lambda: ray.put())


@case
def time_limits(ray: Any) -> None:
    gate, blocked = never(ray)
    attempt("zero", lambda: ray.get(blocked, timeout=0))
    attempt("short", lambda: ray.get(blocked, timeout=0.05))
    attempt("list", lambda: ray.get([ray.put(1), blocked], timeout=0.05))
    attempt("ready", lambda: ray.get(ray.put(1), timeout=0))
    attempt("minus one", lambda: ray.get(ray.put(2), timeout=-1))
    attempt("none", lambda: ray.get(ray.put(3), timeout=None))
    ray.get(gate.release.remote())
    attempt("released", lambda: ray.get(blocked, timeout=20))


@case
def the_kind_of_a_time_out(ray: Any) -> None:
    gate, blocked = never(ray)
    try:
        ray.get(blocked, timeout=0.01)
    except TimeoutError as error:
        print(type(error).__name__, isinstance(error, ray.exceptions.GetTimeoutError))
        print(isinstance(error, ray.exceptions.RayError))
    ray.get(gate.release.remote())
    ray.get(blocked)


@case
def errors_come_before_slow_results(ray: Any) -> None:
    gate, blocked = never(ray)

    @ray.remote
    def fail() -> None:
        raise ValueError("early")

    bad = fail.remote()
    ray.wait([bad])
    attempt("list", lambda: ray.get([bad, bad], timeout=10))
    ray.get(gate.release.remote())
    ray.get(blocked)


@case
def positional_and_keyword(ray: Any) -> None:
    ref = ray.put("x")
    print(ray.get(object_refs=ref), ray.get(ref, timeout=5), ray.get(ray.put(value="y")))
    attempt("timeout by position", lambda: ray.get(ref, 5))


@case
def from_threads(ray: Any) -> None:
    ref = ray.remote(lambda: list(range(5))).remote()
    results: list[Any] = []
    threads = [threading.Thread(target=lambda: results.append(ray.get(ref))) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    print(results == [list(range(5))] * 4)


@case
def submitting_from_threads(ray: Any) -> None:
    square = ray.remote(lambda x: x * x)
    results: dict[int, list[int]] = {}

    def work(index: int) -> None:
        results[index] = ray.get([square.remote(index * 10 + i) for i in range(10)])

    threads = [threading.Thread(target=work, args=(index,)) for index in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    print([results[index] == [(index * 10 + i) ** 2 for i in range(10)] for index in range(4)])


@case
def large_objects(ray: Any) -> None:
    data = b"q" * 30_000_000
    ref = ray.put(data)
    print(ray.get(ref) == data, len(ray.get(ray.remote(lambda: b"r" * 20_000_000).remote())))


@case
def the_edge_of_inline(ray: Any) -> None:
    make = ray.remote(lambda n: b"e" * n)
    sizes = [0, 1, 1000, 100 * 1024 - 100, 100 * 1024, 100 * 1024 + 1, 200_000]
    print([len(ray.get(make.remote(n))) for n in sizes] == sizes)
    print([len(ray.get(ray.put(b"e" * n))) for n in sizes] == sizes)
