"""Coroutines of drivers and actors: awaiting, gathering, timing out, cancelling."""

from __future__ import annotations

import asyncio
import concurrent.futures
import threading
import time
from typing import Any

from casebook import attempt, case


def slow(seconds: float, value: Any = 1) -> Any:
    time.sleep(seconds)
    return value


@case
def gather_and_wait(ray: Any) -> None:
    f = ray.remote(slow)

    async def main() -> Any:
        values = await asyncio.gather(*[f.remote(0, i) for i in range(5)])
        done, pending = await asyncio.wait([asyncio.ensure_future(_await(f.remote(0, i))) for i in range(3)])
        return values, len(done), len(pending)

    print(asyncio.run(main()))


async def _await(ref: Any) -> Any:
    return await ref


@case
def what_asyncio_takes(ray: Any) -> None:
    f = ray.remote(slow)

    async def main() -> Any:
        first = await asyncio.wait_for(f.remote(0, "w"), 20)
        try:
            await asyncio.wait_for(f.remote(1), 0.05)
        except asyncio.TimeoutError:
            second = "late"
        third = [await x for x in asyncio.as_completed([f.remote(0, 7)])]
        fourth = await asyncio.wrap_future(f.remote(0, 8).future())
        fifth = await asyncio.shield(f.remote(0, 9).as_future())
        sixth = asyncio.isfuture(f.remote(0).as_future())
        return first, second, third, fourth, fifth, sixth

    print(asyncio.run(main()))


@case
def wrapped_references(ray: Any) -> None:
    async def main() -> Any:
        ref = ray.put(4)
        task = asyncio.ensure_future(ref)
        return await task, await ref, await ref

    attempt("ensure_future", lambda: asyncio.run(main()))


@case
def errors_of_awaited_references(ray: Any) -> None:
    def fail() -> None:
        raise ValueError("no")

    async def main() -> Any:
        found = await asyncio.gather(ray.remote(fail).remote(), ray.put(1), return_exceptions=True)
        return [type(x).__name__ for x in found], isinstance(found[0], ValueError)

    print(asyncio.run(main()))


@case
def futures_of_threads(ray: Any) -> None:
    f = ray.remote(slow)
    futures = [f.remote(0, i).future() for i in range(4)]
    print(sorted(x.result(20) for x in concurrent.futures.as_completed(futures, 20)))
    done, left = concurrent.futures.wait([f.remote(0).future()], 20)
    print(
        len(done),
        len(left),
        isinstance(futures[0], concurrent.futures.Future),
        futures[0].done(),
        futures[0].exception(),
    )
    called = threading.Event()
    f.remote(0).future().add_done_callback(lambda _: called.set())
    print(called.wait(20))
    attempt("limit", lambda: f.remote(1).future().result(0.05))


@case
def an_actor_of_coroutines(ray: Any) -> None:
    @ray.remote
    class A:
        def __init__(self) -> None:
            self.event = asyncio.Event()

        async def wait(self) -> str:
            await self.event.wait()
            return "woken"

        async def wake(self) -> None:
            self.event.set()

        def plain(self) -> int:
            return 5

    a = A.remote()
    refs = [a.wait.remote() for _ in range(20)]
    ray.get(a.wake.remote())
    print(len(ray.get(refs)), ray.get(a.plain.remote()))


@case
def the_limit_of_an_actor_of_coroutines(ray: Any) -> None:
    @ray.remote(max_concurrency=3)
    class A:
        def __init__(self) -> None:
            self.now, self.most = 0, 0

        async def work(self) -> None:
            self.now += 1
            self.most = max(self.most, self.now)
            await asyncio.sleep(0.02)
            self.now -= 1

        async def seen(self) -> int:
            return self.most

    a = A.remote()
    ray.get([a.work.remote() for _ in range(12)])
    print(ray.get(a.seen.remote()))


@case
def one_loop_for_all_calls(ray: Any) -> None:
    @ray.remote
    class A:
        def __init__(self) -> None:
            self.seen: set[Any] = set()

        async def look(self) -> Any:
            self.seen.add((id(asyncio.get_running_loop()), threading.get_ident()))
            return len(self.seen), threading.current_thread() is threading.main_thread()

    a = A.remote()
    print({ray.get(a.look.remote())[0] for _ in range(5)})


@case
def background_tasks_of_an_actor(ray: Any) -> None:
    @ray.remote
    class A:
        async def start(self) -> None:
            self.n = 0
            self.task = asyncio.create_task(self.run())

        async def run(self) -> None:
            while True:
                self.n += 1
                await asyncio.sleep(0.001)

        async def at_least(self, n: int) -> bool:
            while self.n < n:
                await asyncio.sleep(0.001)
            return True

    a = A.remote()
    ray.get(a.start.remote())
    print(ray.get(a.at_least.remote(5)))


@case
def blocking_calls_inside_coroutines(ray: Any) -> None:
    @ray.remote
    class A:
        async def awaits(self) -> Any:
            return await ray.remote(lambda: 3).remote()

        async def gathers(self) -> Any:
            return await asyncio.gather(*[ray.remote(lambda i=i: i).remote() for i in range(3)])

        async def puts(self) -> Any:
            return await ray.put(4)

        async def in_a_thread(self) -> Any:
            loop = asyncio.get_running_loop()
            return await loop.run_in_executor(None, ray.get, ray.put(6))

        async def waits(self) -> Any:
            ready, _ = await asyncio.get_running_loop().run_in_executor(None, lambda: ray.wait([ray.put(1)]))
            return len(ready)

    a = A.remote()
    print(ray.get([a.awaits.remote(), a.gathers.remote(), a.puts.remote(), a.in_a_thread.remote(), a.waits.remote()]))


@case
def calls_to_itself(ray: Any) -> None:
    @ray.remote
    class A:
        async def outer(self) -> int:
            me = ray.get_runtime_context().current_actor
            return await me.inner.remote() + 1

        async def inner(self) -> int:
            return 1

    print(ray.get(A.remote().outer.remote()))


@case
def context_variables_in_coroutines(ray: Any) -> None:
    @ray.remote
    class A:
        async def id(self) -> str:
            before = ray.get_runtime_context().get_task_id()
            await asyncio.sleep(0.01)
            return before == ray.get_runtime_context().get_task_id()

    a = A.remote()
    print(ray.get([a.id.remote() for _ in range(5)]))


@case
def cancelling_a_coroutine(ray: Any) -> None:
    @ray.remote
    class A:
        def __init__(self) -> None:
            self.saw = False

        async def work(self) -> None:
            try:
                await asyncio.sleep(100)
            except asyncio.CancelledError:
                self.saw = True
                raise

        async def begun(self) -> bool:
            return True

        async def noticed(self) -> bool:
            while not self.saw:
                await asyncio.sleep(0.001)
            return True

    a = A.remote()
    ref = a.work.remote()
    ray.get(a.begun.remote())
    ray.cancel(ref)
    attempt("get", lambda: ray.get(ref, timeout=20))
    print(ray.get(a.noticed.remote()))


@case
def cancelling_an_await(ray: Any) -> None:
    f = ray.remote(slow)

    async def main() -> Any:
        task = asyncio.create_task(_await(f.remote(0.3, 5)))
        await asyncio.sleep(0)
        task.cancel()
        try:
            await task
        except asyncio.CancelledError:
            return "cancelled"

    print(asyncio.run(main()), ray.get(f.remote(0, 6)))


@case
def exceptions_leave_an_actor_of_coroutines(ray: Any) -> None:
    @ray.remote
    class A:
        async def fail(self) -> None:
            raise KeyError("k")

        async def stop(self) -> None:
            raise StopIteration(5)

        async def good(self) -> int:
            return 1

    a = A.remote()
    attempt("fail", lambda: ray.get(a.fail.remote()))
    attempt("stop", lambda: ray.get(a.stop.remote()))
    attempt("good", lambda: ray.get(a.good.remote()))


@case
def leaving_an_actor_of_coroutines(ray: Any) -> None:
    @ray.remote
    class A:
        async def leave(self) -> None:
            ray.actor.exit_actor()

        async def good(self) -> int:
            return 1

    a = A.remote()
    print(ray.get(a.good.remote()))
    attempt("leave", lambda: ray.get(a.leave.remote(), timeout=20))
    attempt("after", lambda: ray.get(a.good.remote(), timeout=20))


@case
def two_loops(ray: Any) -> None:
    f = ray.remote(slow)

    async def main(i: int) -> Any:
        return await f.remote(0, i)

    print([asyncio.run(main(i)) for i in range(4)])
    found: list[int] = []
    threads = [threading.Thread(target=lambda i=i: found.append(asyncio.run(main(i)))) for i in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    print(sorted(found))


@case
def coroutines_are_no_tasks(ray: Any) -> None:
    async def f() -> int:
        return 1

    attempt("decorated", lambda: ray.remote(f))
    attempt("a lambda that gives one", lambda: ray.get(ray.remote(lambda: f()).remote()))
