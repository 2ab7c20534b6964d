"""Queues, pools and waiting helpers: more of what their users do."""

from __future__ import annotations

import asyncio
import time
from importlib import import_module
from typing import Any

from casebook import attempt, case


def module(ray: Any, name: str) -> Any:
    return import_module(f"{ray.__name__}.{name}")


def raises(label: str, kind: type[Exception], call: Any) -> None:
    """Prints whether a call raises an exception of a class."""
    try:
        call()
        print(label, "nothing")
    except Exception as error:
        print(label, isinstance(error, kind))


@case
def a_queue_in_order(ray: Any) -> None:
    q = module(ray, "util.queue").Queue()
    for i in range(5):
        q.put(i)
    print(q.qsize(), q.size(), len(q), q.empty(), q.full(), [q.get() for _ in range(5)], q.empty())
    q.shutdown()


@case
def limits_of_a_queue(ray: Any) -> None:
    kinds = module(ray, "util.queue")
    q = kinds.Queue(maxsize=2)
    q.put(1)
    q.put(2)
    print(q.full(), q.maxsize)
    attempt("put_nowait", lambda: q.put_nowait(3))
    raises("put with a limit", kinds.Full, lambda: q.put(3, timeout=0.1))
    attempt("put without waiting", lambda: q.put(3, block=False))
    attempt("negative", lambda: q.put(3, timeout=-1))
    print(q.get(), q.get())
    attempt("get_nowait", q.get_nowait)
    raises("get with a limit", kinds.Empty, lambda: q.get(timeout=0.1))
    attempt("get without waiting", lambda: q.get(block=False))
    attempt("negative get", lambda: q.get(timeout=-1))
    import queue

    print(issubclass(kinds.Empty, queue.Empty), issubclass(kinds.Full, queue.Full), issubclass(kinds.Empty, Exception))
    q.shutdown()


@case
def many_at_once_in_a_queue(ray: Any) -> None:
    q = module(ray, "util.queue").Queue(maxsize=5)
    q.put_nowait_batch([1, 2, 3])
    raises("too many", module(ray, "util.queue").Full, lambda: q.put_nowait_batch([4, 5, 6]))
    attempt("no list", lambda: q.put_nowait_batch(5))
    raises("too many out", module(ray, "util.queue").Empty, lambda: q.get_nowait_batch(4))
    print(q.get_nowait_batch(2), q.qsize())
    attempt("a text", lambda: q.get_nowait_batch("a"))
    attempt("negative", lambda: q.get_nowait_batch(-1))
    q.shutdown()


@case
def a_queue_between_tasks(ray: Any) -> None:
    q = module(ray, "util.queue").Queue()

    @ray.remote
    def produce(q: Any, n: int) -> None:
        for i in range(n):
            q.put(i)

    @ray.remote
    def consume(q: Any, n: int) -> int:
        return sum(q.get(timeout=20) for _ in range(n))

    taken = consume.remote(q, 20)
    made = [produce.remote(q, 10) for _ in range(2)]
    print(ray.get(taken), len(ray.get(made)))
    q.shutdown()


@case
def coroutines_and_a_queue(ray: Any) -> None:
    q = module(ray, "util.queue").Queue(maxsize=1)

    async def main() -> Any:
        await q.put_async(1)
        first = await q.get_async()
        try:
            await q.get_async(timeout=0.1)
        except Exception as error:
            return first, isinstance(error, module(ray, "util.queue").Empty)

    print(asyncio.run(main()))
    q.shutdown()


@case
def options_of_a_queue(ray: Any) -> None:
    q = module(ray, "util.queue").Queue(actor_options={"num_cpus": 0.5, "name": "queue_of_a_case"})
    q.put(1)
    print(type(ray.get_actor("queue_of_a_case")).__name__, q.get())
    q.shutdown(force=True)


@case
def exceptions_and_references_in_a_queue(ray: Any) -> None:
    q = module(ray, "util.queue").Queue()
    q.put([ray.put(5)])
    q.put(None)
    q.put({"a": [1]})
    print(ray.get(q.get()[0]), q.get(), q.get())
    q.shutdown()


def make_pool(ray: Any, n: int = 2) -> Any:
    @ray.remote
    class Worker:
        def double(self, x: int) -> int:
            if x < 0:
                raise ValueError(x)
            return 2 * x

        def slow(self, x: int) -> int:
            time.sleep(0.3)
            return x

    return module(ray, "util").ActorPool([Worker.remote() for _ in range(n)])


@case
def a_pool_maps(ray: Any) -> None:
    pool = make_pool(ray)
    print(list(pool.map(lambda a, v: a.double.remote(v), range(6))))
    print(sorted(pool.map_unordered(lambda a, v: a.double.remote(v), range(6))))
    print(list(pool.map(lambda a, v: a.double.remote(v), [])), pool.has_next(), pool.has_free())


@case
def a_pool_step_by_step(ray: Any) -> None:
    pool = make_pool(ray)
    for i in range(4):
        pool.submit(lambda a, v: a.double.remote(v), i)
    print(
        pool.has_next(),
        pool.has_free(),
        pool.get_next(),
        pool.get_next(),
        sorted([pool.get_next_unordered(), pool.get_next_unordered()]),
    )
    attempt("no more", pool.get_next)
    attempt("no more unordered", pool.get_next_unordered)
    print(pool.has_next(), pool.has_free())


@case
def late_results_of_a_pool(ray: Any) -> None:
    pool = make_pool(ray, 1)
    pool.submit(lambda a, v: a.slow.remote(v), 1)
    attempt("late", lambda: pool.get_next(timeout=0.01))
    attempt("late unordered", lambda: pool.get_next_unordered(timeout=0.01))
    print(pool.get_next())


@case
def errors_in_a_pool(ray: Any) -> None:
    pool = make_pool(ray, 1)
    pool.submit(lambda a, v: a.double.remote(v), -1)
    pool.submit(lambda a, v: a.double.remote(v), 2)
    attempt("bad", pool.get_next)
    attempt("good", pool.get_next)


@case
def actors_in_and_out_of_a_pool(ray: Any) -> None:
    pool = make_pool(ray, 2)
    actor = pool.pop_idle()
    print(actor is not None, pool.has_free())
    other = pool.pop_idle()
    print(pool.pop_idle(), pool.has_free())
    pool.push(actor)
    attempt("twice", lambda: pool.push(actor))
    pool.push(other)
    print(list(pool.map(lambda a, v: a.double.remote(v), [1, 2])))


@case
def a_pool_of_processes(ray: Any) -> None:
    kind = module(ray, "util.multiprocessing").Pool
    with kind(processes=2) as pool:
        print(pool.map(_square, range(5)), pool.apply(_square, (3,)), pool.starmap(_add, [(1, 2), (3, 4)]))
        print(list(pool.imap(_square, range(3), chunksize=1)), sorted(pool.imap_unordered(_square, range(3))))
        result = pool.apply_async(_square, (5,))
        print(result.get(20), result.ready(), result.successful())
        attempt("error", lambda: pool.map(_fails, [1]))
        attempt("late", lambda: pool.apply_async(time.sleep, (1,)).get(timeout=0.01))


def _square(x: int) -> int:
    return x * x


def _add(a: int, b: int) -> int:
    return a + b


def _fails(x: int) -> None:
    raise ValueError(x)


@case
def results_as_they_come(ray: Any) -> None:
    f = ray.remote(lambda i: i)
    util = module(ray, "util")
    print(sorted(util.as_completed([f.remote(i) for i in range(5)])))
    print(sorted(util.map_unordered(f, range(5))))


@case
def waits_in_a_loop(ray: Any) -> None:
    f = ray.remote(lambda i: i)
    left = [f.remote(i) for i in range(20)]
    found = []
    while left:
        ready, left = ray.wait(left, num_returns=min(3, len(left)))
        found += ray.get(ready)
    print(sorted(found) == list(range(20)))


@case
def waits_that_overlap(ray: Any) -> None:
    slow = ray.remote(lambda: time.sleep(0.4)).remote()
    fast = ray.put(1)
    ready, left = ray.wait([slow, fast], num_returns=1)
    print(ready == [fast], left == [slow])
    ready, left = ray.wait([slow, fast], num_returns=2, timeout=0.01)
    print(ready == [fast], left == [slow])
    ready, left = ray.wait([slow, fast], num_returns=2)
    print(ready == [slow, fast], left)


@case
def errors_and_waits(ray: Any) -> None:
    def fail() -> None:
        raise ValueError

    ready, left = ray.wait([ray.remote(fail).remote()])
    print(len(ready), len(left))


@case
def named_actors_more(ray: Any) -> None:
    @ray.remote
    class A:
        def __init__(self, x: int = 0) -> None:
            self.x = x

        def get(self) -> int:
            return self.x

    one = A.options(name="more", get_if_exists=True).remote(1)
    two = A.options(name="more", get_if_exists=True).remote(2)
    print(ray.get([one.get.remote(), two.get.remote()]), one == two)
    attempt("taken", lambda: A.options(name="more").remote())
    attempt("if exists without a name", lambda: A.options(get_if_exists=True).remote())
    attempt("unknown", lambda: ray.get_actor("no such actor"))
    try:
        ray.get_actor("no such actor")
    except ValueError as error:
        print("no such actor" in str(error), "Failed to look up actor" in str(error))
    other = A.options(name="more", namespace="elsewhere").remote(3)
    print(
        ray.get(ray.get_actor("more", namespace="elsewhere").get.remote()), ray.get(ray.get_actor("more").get.remote())
    )
    print([n for n in module(ray, "util").list_named_actors() if n == "more"])
    print(
        sorted(
            n["name"]
            for n in module(ray, "util").list_named_actors(all_namespaces=True)
            if n["namespace"] == "elsewhere"
        )
    )
    del other
    print(ray.get(ray.remote(lambda: ray.get(ray.get_actor("more").get.remote())).remote()))
