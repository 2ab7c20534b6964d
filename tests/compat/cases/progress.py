"""No deadlock where Ray has none, and other ways of using a session that must simply work."""

from __future__ import annotations

import asyncio
import os
import threading
from typing import Any

from casebook import case, own_session


@own_session
def waiting_for_one_queued_behind(ray: Any) -> None:
    ray.init(num_cpus=1, log_to_driver=False)

    @ray.remote
    def last() -> str:
        return "last"

    @ray.remote
    def first(box: list[Any]) -> str:
        return "first saw " + ray.get(box[0])

    @ray.remote
    class Mail:
        def __init__(self) -> None:
            self.event = asyncio.Event()

        async def put(self, box: list[Any]) -> None:
            self.box = box
            self.event.set()

        async def get(self) -> list[Any]:
            await self.event.wait()
            return self.box

    @ray.remote
    def reader(mail: Any) -> str:
        return "reader saw " + ray.get(ray.get(mail.get.remote())[0])

    mail = Mail.remote()
    waits = reader.remote(mail)
    behind = last.remote()
    ray.get(mail.put.remote([behind]))
    print(ray.get(waits, timeout=60), ray.get(first.remote([behind]), timeout=60))


@own_session
def chains_while_the_driver_computes(ray: Any) -> None:
    ray.init(num_cpus=2, log_to_driver=False)
    a = ray.remote(lambda i: i)
    b = ray.remote(lambda x: x + 1)
    refs = [b.remote(a.remote(i)) for i in range(200)]
    total = sum(i * i for i in range(300_000))
    print(total > 0, sum(ray.get(refs, timeout=60)))


@own_session
def submitting_without_get(ray: Any) -> None:
    import tempfile

    ray.init(num_cpus=2, log_to_driver=False)
    with tempfile.TemporaryDirectory() as folder:

        @ray.remote
        def mark(i: int) -> None:
            open(f"{folder}/{i}", "w").close()

        for i in range(100):
            mark.remote(i)
        deadline = threading.Event()
        for _ in range(600):
            if len(os.listdir(folder)) == 100:
                break
            deadline.wait(0.05)
        print(len(os.listdir(folder)))


@case
def threads_and_a_loop_on_the_same(ray: Any) -> None:
    @ray.remote
    def square(i: int) -> int:
        return i * i

    refs = [square.remote(i) for i in range(50)]
    sums: list[int] = []
    threads = [threading.Thread(target=lambda: sums.append(sum(ray.get(refs)))) for _ in range(2)]

    async def gather() -> int:
        for thread in threads:
            thread.start()
        return sum(await asyncio.gather(*refs))

    print(asyncio.run(gather()))
    for thread in threads:
        thread.join()
    print(sums)


@case
def a_fork_inside_a_task(ray: Any) -> None:
    @ray.remote
    def forks() -> int:
        child = os.fork()
        if child == 0:
            os._exit(7)
        return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])

    print(ray.get(forks.remote(), timeout=30))


@case
def multiprocessing_inside_a_task(ray: Any) -> None:
    @ray.remote
    def pool() -> list[int]:
        import multiprocessing

        with multiprocessing.get_context("fork").Pool(2) as workers:
            return workers.map(abs, [-1, -2, 3])

    print(ray.get(pool.remote(), timeout=60))


@case
def a_subprocess_inside_a_task(ray: Any) -> None:
    @ray.remote
    def run() -> str:
        import subprocess

        return subprocess.run(["echo", "hi"], capture_output=True, text=True, check=True).stdout.strip()

    print(ray.get(run.remote(), timeout=30))


@case
def finalizers_that_drop_references(ray: Any) -> None:
    class Holder:
        def __init__(self) -> None:
            self.ref = ray.put("held")
            self.me = self

        def __del__(self) -> None:
            self.ref = None

    for _ in range(50):
        Holder()
    import gc

    gc.collect()

    @ray.remote
    def inside() -> str:
        for _ in range(50):
            Holder()
        gc.collect()
        return "done"

    print(ray.get(inside.remote(), timeout=30), ray.get(ray.put("alive")))


@case
def different_random_numbers(ray: Any) -> None:
    @ray.remote
    class Draw:
        def draw(self) -> tuple[float, float]:
            import random

            import numpy as np

            return random.random(), float(np.random.random())

    draws = ray.get([Draw.remote().draw.remote() for _ in range(4)])
    print(len({draw[0] for draw in draws}), len({draw[1] for draw in draws}))


@case
def threads_inside_a_task(ray: Any) -> None:
    inner = ray.remote(lambda i: i)

    @ray.remote
    def outer() -> list[int]:
        results: dict[int, int] = {}

        def work(i: int) -> None:
            results[i] = ray.get(inner.remote(i))

        threads = [threading.Thread(target=work, args=(i,)) for i in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        return sorted(results.values())

    print(ray.get(outer.remote(), timeout=60))


@case
def asyncio_inside_a_task(ray: Any) -> None:
    inner = ray.remote(lambda i: i)

    @ray.remote
    def outer() -> list[int]:
        async def gather() -> list[int]:
            return list(await asyncio.gather(*[inner.remote(i) for i in range(4)]))

        return asyncio.run(gather())

    print(ray.get(outer.remote(), timeout=60))


@case
def map_and_reduce(ray: Any) -> None:
    count = ray.remote(lambda words: {word: words.count(word) for word in words})

    @ray.remote
    def merge(left: dict[str, int], right: dict[str, int]) -> dict[str, int]:
        return {word: left.get(word, 0) + right.get(word, 0) for word in {*left, *right}}

    parts = [count.remote(text.split()) for text in ("a b a", "b c", "a c c", "d")]
    while len(parts) > 1:
        parts = [merge.remote(*parts[:2]), *parts[2:]]
    print(sorted(ray.get(parts[0]).items()))


@case
def working_directory(ray: Any) -> None:
    print(ray.get(ray.remote(lambda: os.getcwd()).remote()) == os.getcwd())


@case
def modules_of_the_driver(ray: Any) -> None:
    import casebook

    print(ray.get(ray.remote(lambda: __import__("casebook").__name__).remote()) == casebook.__name__)
    print(ray.get(ray.remote(casebook.outcome).remote(int)))
