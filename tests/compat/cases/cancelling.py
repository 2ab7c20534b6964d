"""`cancel`: tasks that wait, run, are finished; actor calls; coroutines; what is refused."""

from __future__ import annotations

import asyncio
import os
import tempfile
import threading
import time
from typing import Any

from casebook import attempt, case, eventually, own_session


def kind(call: Any) -> str:
    try:
        call()
        return "returned"
    except Exception as error:
        return type(error).__name__


def cancelled(ray: Any, ref: Any, target: Any = None) -> str:
    """Cancels a running task until it ends: real Ray loses a request that comes just as the task starts."""
    for _ in range(20):
        ray.cancel(ref if target is None else target)
        name = kind(lambda: ray.get(ref, timeout=1))
        if name != "GetTimeoutError":
            return name
    return "not cancelled"


@own_session
def a_task_that_waits(ray: Any) -> None:
    ray.init(num_cpus=1, log_to_driver=False)
    with tempfile.TemporaryDirectory() as folder:
        path = f"{folder}/pipe"
        os.mkfifo(path)

        @ray.remote
        def hold() -> str:
            with open(path) as pipe:
                return pipe.read()

        first, second = hold.remote(), hold.remote()
        with open(path, "w") as pipe:
            attempt("cancel", lambda: ray.cancel(second))
            print(kind(lambda: ray.get(second, timeout=20)))
            pipe.write("first")
        print(ray.get(first, timeout=20))


@case
def a_task_that_runs(ray: Any) -> None:
    with tempfile.TemporaryDirectory() as folder:
        mark = f"{folder}/mark"

        @ray.remote
        def loop() -> None:
            open(mark, "w").close()
            while True:
                time.sleep(0.01)

        ref = loop.remote()
        eventually(lambda: os.path.exists(mark), True)
        error = cancelled(ray, ref)
    print(error)
    print("the session goes on:", ray.get(ray.remote(lambda: 1).remote(), timeout=30))


@case
def a_task_that_is_interrupted_cleans_up(ray: Any) -> None:
    with tempfile.TemporaryDirectory() as folder:

        @ray.remote
        def loop() -> None:
            try:
                open(f"{folder}/started", "w").close()  # within the try: the interrupt may come at once
                while True:
                    time.sleep(0.01)
            except KeyboardInterrupt:
                open(f"{folder}/interrupted", "w").close()
                raise

        ref = loop.remote()
        eventually(lambda: os.path.exists(f"{folder}/started"), True)
        print(cancelled(ray, ref), sorted(os.listdir(folder)))


@own_session  # real Ray sometimes aborts the driver when another task follows
def by_force(ray: Any) -> None:
    ray.init(num_cpus=2, log_to_driver=False)
    with tempfile.TemporaryDirectory() as folder:
        mark = f"{folder}/mark"

        @ray.remote
        def stubborn() -> None:
            open(mark, "w").close()
            while True:
                try:
                    time.sleep(0.01)
                except KeyboardInterrupt:
                    pass

        ref = stubborn.remote()
        eventually(lambda: os.path.exists(mark), True)
        ray.cancel(ref, force=True)
        error = kind(lambda: ray.get(ref, timeout=20))
        print(error in ("WorkerCrashedError", "TaskCancelledError"), "not retried")


@case
def finished(ray: Any) -> None:
    ref = ray.remote(lambda: 5).remote()
    print(ray.get(ref))
    print(ray.cancel(ref), ray.get(ref), ray.cancel(ray.put(1)))


@case
def refused(ray: Any) -> None:
    @ray.remote
    class Cell:
        def read(self) -> int:
            return 1

    cell = Cell.remote()
    attempt("number", lambda: ray.cancel(1))
    attempt("handle", lambda: ray.cancel(cell))
    attempt("list", lambda: ray.cancel([cell.read.remote()]))
    attempt("actor call by force", lambda: ray.cancel(cell.read.remote(), force=True))


@case
def a_waiting_call_of_an_actor(ray: Any) -> None:
    @ray.remote
    class Slow:
        def __init__(self) -> None:
            self.calls = 0

        def hold(self, path: str) -> str:
            with open(path) as pipe:
                return pipe.read()

        def work(self) -> int:
            self.calls += 1
            return self.calls

    with tempfile.TemporaryDirectory() as folder:
        path = f"{folder}/pipe"
        os.mkfifo(path)
        slow = Slow.remote()
        first, second, third = slow.hold.remote(path), slow.work.remote(), slow.work.remote()
        with open(path, "w") as pipe:
            ray.cancel(second)
            pipe.write("held")
        print(ray.get(first, timeout=20), kind(lambda: ray.get(second, timeout=20)))
        print("the next one ran:", ray.get(third, timeout=20) > 0)


@case
def a_coroutine(ray: Any) -> None:
    @ray.remote
    class Waits:
        def __init__(self) -> None:
            self.cancelled = 0
            self.started = asyncio.Event()

        async def wait(self) -> None:
            try:
                self.started.set()
                await asyncio.sleep(60)
            except asyncio.CancelledError:
                self.cancelled += 1
                raise

        async def count(self) -> int:
            await self.started.wait()
            return self.cancelled

    waits = Waits.remote()
    ref = waits.wait.remote()
    ray.get(waits.count.remote())
    ray.cancel(ref)
    print(kind(lambda: ray.get(ref, timeout=20)), eventually(lambda: ray.get(waits.count.remote()), 1))


@case
def twice(ray: Any) -> None:
    with tempfile.TemporaryDirectory() as folder:
        mark = f"{folder}/mark"

        @ray.remote
        def loop() -> None:
            open(mark, "w").close()
            while True:
                time.sleep(0.01)

        ref = loop.remote()
        eventually(lambda: os.path.exists(mark), True)
        print(ray.cancel(ref), ray.cancel(ref))
        print(cancelled(ray, ref), ray.cancel(ref))


@case
def dependants_of_a_cancelled_task(ray: Any) -> None:
    with tempfile.TemporaryDirectory() as folder:
        mark = f"{folder}/mark"

        @ray.remote
        def loop() -> int:
            open(mark, "w").close()
            while True:
                time.sleep(0.01)

        ref = loop.remote()
        after = ray.remote(lambda x: x).remote(ref)
        eventually(lambda: os.path.exists(mark), True)
        print(cancelled(ray, after, target=ref))


@case
def the_kind_of_error(ray: Any) -> None:
    error = ray.exceptions.TaskCancelledError()
    print(isinstance(error, ray.exceptions.RayError), isinstance(error, Exception))


@case
def while_another_thread_waits(ray: Any) -> None:
    with tempfile.TemporaryDirectory() as folder:
        mark = f"{folder}/mark"

        @ray.remote
        def loop() -> None:
            open(mark, "w").close()
            while True:
                time.sleep(0.01)

        ref = loop.remote()
        seen: list[str] = []
        thread = threading.Thread(target=lambda: seen.append(kind(lambda: ray.get(ref, timeout=60))))
        thread.start()
        eventually(lambda: os.path.exists(mark), True)
        print(cancelled(ray, ref))
        thread.join()
        print(seen)
