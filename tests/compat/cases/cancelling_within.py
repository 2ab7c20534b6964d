"""What `cancel` does inside: tasks that catch it, children, actors of each kind, other processes' work."""

from __future__ import annotations

import asyncio
import os
import tempfile
import threading
import time
from typing import Any

from casebook import attempt, case, eventually

LIMIT = 60


class Marks:
    """Files by which work and the case tell each other how far they are."""

    def __init__(self) -> None:
        self.folder = tempfile.mkdtemp()

    def path(self, name: str) -> str:
        return f"{self.folder}/{name}"

    def set(self, name: str) -> None:
        with open(self.path(name), "a") as file:
            file.write("x")

    def count(self, name: str) -> int:
        path = self.path(name)
        return os.path.getsize(path) if os.path.exists(path) else 0

    def wait(self, name: str, number: int = 1) -> None:
        eventually(lambda: self.count(name) >= number, True)


def loop(marks: Marks, name: str, seconds: float = 30) -> str:
    """Runs until it is interrupted, or for long."""
    marks.set(name)
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        time.sleep(0.01)
    return "not interrupted"


def result(ray: Any, ref: Any) -> str:
    """What a reference gives."""
    try:
        return repr(ray.get(ref, timeout=LIMIT))
    except Exception as error:
        return type(error).__name__


@case
def what_the_task_makes_of_it(ray: Any) -> None:
    marks = Marks()

    def returns() -> str:
        try:
            return loop(marks, "returns")
        except KeyboardInterrupt:
            return "caught"

    def raises() -> str:
        try:
            return loop(marks, "raises")
        except KeyboardInterrupt:
            raise ValueError("instead") from None

    def in_finally() -> str:
        try:
            return loop(marks, "in_finally")
        finally:
            marks.set("cleaned")

    for function in (returns, raises, in_finally):
        ref = ray.remote(retry_exceptions=True)(function).remote()
        marks.wait(function.__name__)
        time.sleep(0.3)
        ray.cancel(ref)
        print(function.__name__, result(ray, ref), marks.count(function.__name__))
    print("cleaned", marks.count("cleaned"))


@case
def twice_a_task_that_goes_on(ray: Any) -> None:
    marks = Marks()

    @ray.remote
    def stubborn() -> int:
        caught = 0
        marks.set("begun")
        end = time.monotonic() + 1.5
        while time.monotonic() < end:
            try:  # the second interrupt may come as soon as the mark is there
                if caught == 1 and marks.count("caught") == 0:
                    marks.set("caught")
                time.sleep(0.01)
            except KeyboardInterrupt:
                caught += 1
        return caught

    ref = stubborn.remote()
    marks.wait("begun")
    time.sleep(0.3)
    ray.cancel(ref)
    marks.wait("caught")
    ray.cancel(ref)
    print(result(ray, ref))


@case
def by_force(ray: Any) -> None:
    marks = Marks()
    ref = ray.remote(loop).remote(marks, "forced")
    marks.wait("forced")
    ray.cancel(ref, force=True)
    print(result(ray, ref), marks.count("forced"))
    ray.cancel(ref, force=True)
    print(result(ray, ref))


@case
def what_waits_for_an_argument(ray: Any) -> None:
    marks = Marks()
    first = ray.remote(loop).remote(marks, "first", 0.5)

    @ray.remote
    def second(_: Any) -> None:
        marks.set("second")

    for force in (False, True):
        ref = second.remote(first)
        ray.cancel(ref, force=force)
        print(result(ray, ref))
    print(result(ray, first), marks.count("second"))


@case
def several_results(ray: Any) -> None:
    marks = Marks()
    refs = ray.remote(num_returns=2)(loop).remote(marks, "pair")
    marks.wait("pair")
    time.sleep(0.3)
    ray.cancel(refs[1])
    print([result(ray, ref) for ref in refs])


def parent(ray: Any, marks: Marks, way: str) -> str:
    """Submits a child and waits for it, or for nothing."""

    @ray.remote(num_cpus=0)
    def child(marks: Marks) -> str:
        try:
            found = loop(marks, "child", 1.2)
        except KeyboardInterrupt:
            marks.set("child was interrupted")
            raise
        marks.set("child has ended")
        return found

    if way == "thread":
        refs: list[Any] = []
        thread = threading.Thread(target=lambda: refs.append(child.remote(marks)))
        thread.start()
        thread.join()
    else:
        refs = [child.remote(marks)]
    marks.wait("child")
    marks.set("parent")
    if way == "get":
        return str(ray.get(refs[0]))
    return loop(marks, "loops")


@case
def children(ray: Any) -> None:
    for way, recursive in (("loop", True), ("loop", False), ("get", True)):
        marks = Marks()

        @ray.remote
        def outer(marks: Marks, way: str) -> str:
            return parent(ray, marks, way)

        ref = outer.remote(marks, way)
        marks.wait("parent")
        time.sleep(0.5)
        ray.cancel(ref, recursive=recursive)
        print(way, recursive, result(ray, ref))
        eventually(lambda folder=marks.folder: len(os.listdir(folder)), 4 if way == "loop" else 3)  # type: ignore[misc]
        print(sorted(name for name in os.listdir(marks.folder) if " " in name))


@case
def grandchildren(ray: Any) -> None:
    marks = Marks()

    @ray.remote(num_cpus=0)
    def outer(depth: int) -> str:
        if depth == 0:
            try:
                return loop(marks, "deepest", 20)
            except KeyboardInterrupt:
                marks.set("interrupted")
                raise
        return str(ray.get(outer.remote(depth - 1)))

    ref = outer.remote(2)
    marks.wait("deepest")
    time.sleep(0.5)
    ray.cancel(ref)
    print(result(ray, ref))
    marks.wait("interrupted")
    print(marks.count("interrupted"))


class Plain:
    """An actor with plain methods."""

    def __init__(self, ray: Any, marks: Marks) -> None:
        self.ray = ray
        self.marks = marks

    def watch(self, seconds: float) -> str:
        """Looks whether it was cancelled."""
        context = self.ray.get_runtime_context()
        self.marks.set("watches")
        end = time.monotonic() + seconds
        try:
            while not context.is_canceled() and time.monotonic() < end:
                time.sleep(0.01)
        except KeyboardInterrupt:
            return "interrupted"
        return "flag" if context.is_canceled() else "no flag"

    def stop(self, seconds: float) -> None:
        """The same, and raises then."""
        raise RuntimeError(self.watch(seconds))

    def flag(self) -> bool:
        """Whether this call was cancelled."""
        return bool(self.ray.get_runtime_context().is_canceled())


@case
def a_running_call_of_a_plain_actor(ray: Any) -> None:
    for options in ({}, {"max_concurrency": 2}):
        marks = Marks()
        actor = ray.remote(**options)(Plain).remote(ray, marks) if options else ray.remote(Plain).remote(ray, marks)
        ref = actor.watch.remote(10)
        marks.wait("watches")
        ray.cancel(ref)
        print(result(ray, ref), ray.get(actor.flag.remote()))
        ref = actor.stop.remote(10)
        marks.wait("watches", 2)
        ray.cancel(ref)
        print(result(ray, ref), ray.get(actor.flag.remote()))


@case
def is_canceled_elsewhere(ray: Any) -> None:
    class Loop:
        async def flag(self) -> bool:
            return bool(ray.get_runtime_context().is_canceled())

    attempt("driver", lambda: ray.get_runtime_context().is_canceled())
    attempt("task", lambda: ray.get(ray.remote(lambda: ray.get_runtime_context().is_canceled()).remote()))
    attempt("coroutine", lambda: ray.get(ray.remote(Loop).remote().flag.remote()))


@case
def is_canceled_in_a_task_that_goes_on(ray: Any) -> None:
    marks = Marks()

    @ray.remote
    def stubborn() -> bool:
        try:
            loop(marks, "begun")
        except KeyboardInterrupt:
            pass
        return bool(ray.get_runtime_context().is_canceled())

    ref = stubborn.remote()
    marks.wait("begun")
    time.sleep(0.3)
    ray.cancel(ref)
    print(result(ray, ref))


@case
def coroutines(ray: Any) -> None:
    class Waits:
        def __init__(self, marks: Marks) -> None:
            self.marks = marks

        async def returns(self) -> str:
            self.marks.set("returns")
            try:
                await asyncio.sleep(30)
            except asyncio.CancelledError:
                return "caught"
            return "not cancelled"

        async def raises(self) -> str:
            self.marks.set("raises")
            try:
                await asyncio.sleep(30)
            except asyncio.CancelledError:
                raise ValueError("instead") from None
            return "not cancelled"

        async def passes(self) -> str:
            self.marks.set("passes")
            await asyncio.sleep(30)
            return "not cancelled"

    marks = Marks()
    actor = ray.remote(Waits).remote(marks)
    for name in ("returns", "raises", "passes"):
        ref = getattr(actor, name).remote()
        marks.wait(name)
        ray.cancel(ref)
        print(name, result(ray, ref))


@case
def coroutines_that_wait_for_their_turn(ray: Any) -> None:
    class One:
        def __init__(self, marks: Marks) -> None:
            self.marks = marks

        async def hold(self) -> str:
            self.marks.set("holds")
            await asyncio.sleep(0.5)
            return "held"

        async def work(self) -> str:
            self.marks.set("works")
            return "worked"

    marks = Marks()
    actor = ray.remote(max_concurrency=1)(One).remote(marks)
    first, second, third = actor.hold.remote(), actor.work.remote(), actor.work.remote()
    marks.wait("holds")
    ray.cancel(second)
    print(result(ray, second), result(ray, first), result(ray, third), marks.count("works"))


@case
def children_of_an_actor(ray: Any) -> None:
    class Owner:
        async def run(self, marks: Marks, name: str) -> str:
            ref = ray.remote(num_cpus=0)(loop).remote(marks, name, 1.2)
            return str(await ref)

    marks = Marks()
    actor = ray.remote(Owner).remote()
    first, second = actor.run.remote(marks, "first"), actor.run.remote(marks, "second")
    marks.wait("first")
    marks.wait("second")
    time.sleep(0.5)
    ray.cancel(first)
    print(result(ray, first), result(ray, second))


@case
def calls_before_the_constructor_has_ended(ray: Any) -> None:
    class Slow:
        def __init__(self, marks: Marks) -> None:
            loop(marks, "constructor", 0.5)
            self.calls = 0

        def work(self) -> int:
            self.calls += 1
            return self.calls

    marks = Marks()
    actor = ray.remote(Slow).remote(marks)
    first, second = actor.work.remote(), actor.work.remote()
    marks.wait("constructor")
    ray.cancel(first)
    print(result(ray, first), result(ray, second))


@case
def calls_that_wait_for_an_argument(ray: Any) -> None:
    class Cell:
        def work(self, value: Any) -> Any:
            return value

    marks = Marks()
    slow = ray.remote(loop).remote(marks, "slow", 1)
    actor = ray.remote(Cell).remote()
    first, second = actor.work.remote(slow), actor.work.remote(2)
    ray.cancel(first)
    print(result(ray, first), result(ray, second))


@case
def one_that_is_tried_again_and_again(ray: Any) -> None:
    marks = Marks()

    @ray.remote(max_retries=-1, retry_exceptions=True)
    def fails() -> None:
        marks.set("fails")
        raise ValueError

    ref = fails.remote()
    marks.wait("fails", 3)
    ray.cancel(ref)
    print("TaskCancelledError" in result(ray, ref))  # interrupted, or between two runs
    time.sleep(0.5)
    number = marks.count("fails")
    time.sleep(0.5)
    print(marks.count("fails") == number)


@case
def what_another_process_submitted(ray: Any) -> None:
    marks = Marks()

    @ray.remote
    def owner(held: list[Any]) -> str:
        return result(ray, held[0])

    @ray.remote
    def canceller(held: list[Any]) -> str:
        ray.cancel(held[0])
        return result(ray, held[0])

    ref = ray.remote(loop).remote(marks, "begun")
    marks.wait("begun")
    time.sleep(0.3)
    print(ray.get(canceller.remote([ref]), timeout=LIMIT), result(ray, ref))
