"""Programs as people write them: state in modules, defaults that change, classes inside classes, logging, signals."""

from __future__ import annotations

import contextlib
import functools
import inspect
import io
import logging
import os
import random
import sys
import tempfile
import threading
import time
import warnings
from typing import Any

import numpy as np
from casebook import attempt, case


@case
def defaults_that_change(ray: Any) -> None:
    def collect(x: int, found: list[int] = []) -> list[int]:  # noqa: B006
        found.append(x)
        return list(found)

    f = ray.remote(num_cpus=4)(collect)
    print([ray.get(f.remote(i))[-1] for i in range(3)], collect(9))


@case
def classes_inside_classes_and_functions(ray: Any) -> None:
    class Outer:
        class Inner:
            def __init__(self, x: int) -> None:
                self.x = x

            class Deepest:
                y = 5

        def make(self) -> Any:
            return self.Inner(3)

    outer = ray.get(ray.put(Outer()))
    print(outer.make().x, outer.Inner.Deepest.y, ray.get(ray.remote(lambda o: o.make().x).remote(Outer())))
    print(type(ray.get(ray.remote(lambda: Outer.Inner(1)).remote())) is Outer.Inner)


@case
def super_and_mixins_in_values(ray: Any) -> None:
    class Base:
        def greet(self) -> str:
            return "base"

    class Loud:
        def greet(self) -> str:
            return super().greet().upper() + "!"  # type: ignore[misc]

    class Both(Loud, Base):
        def greet(self) -> str:
            return "both " + super().greet()

    print(
        ray.get(ray.remote(lambda b: b.greet()).remote(Both())),
        [c.__name__ for c in type(ray.get(ray.put(Both()))).__mro__],
    )


@case
def environment_and_arguments_of_a_worker(ray: Any) -> None:
    def look() -> Any:
        return (
            sys.executable == os.environ.get("EXE", sys.executable),
            os.getpid() != os.getppid(),
            threading.current_thread() is threading.main_thread(),
        )

    print(ray.get(ray.remote(look).remote()))
    print(ray.get(ray.remote(lambda: sys.version_info[:2]).remote()) == sys.version_info[:2])


@case
def files_between_tasks(ray: Any) -> None:
    with tempfile.TemporaryDirectory() as folder:

        @ray.remote
        def write(i: int) -> str:
            path = os.path.join(folder, f"{i}.txt")
            with open(path, "w") as file:
                file.write(str(i))
            return path

        print([open(p).read() for p in ray.get([write.remote(i) for i in range(3)])])


@case
def logging_and_warnings_in_tasks(ray: Any) -> None:
    @ray.remote
    def logs() -> Any:
        logger = logging.getLogger("a.case")
        stream = io.StringIO()
        handler = logging.StreamHandler(stream)
        logger.addHandler(handler)
        logger.warning("told %s", 1)
        logger.removeHandler(handler)
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            warnings.warn("careful", stacklevel=1)
        with contextlib.redirect_stdout(io.StringIO()) as out:
            print("inside")
        return stream.getvalue(), len(caught), out.getvalue()

    print(ray.get(logs.remote()))


@case
def random_numbers_from_seeds(ray: Any) -> None:
    def draw(seed: int) -> Any:
        random.seed(seed)
        rng = np.random.default_rng(seed)
        return random.random(), float(rng.random())

    print(ray.get(ray.remote(draw).remote(3)) == draw(3))


@case
def threads_that_outlive_a_task(ray: Any) -> None:
    @ray.remote
    class Background:
        def __init__(self) -> None:
            self.n = 0
            self.stop = threading.Event()
            self.thread = threading.Thread(target=self.run, daemon=True)
            self.thread.start()

        def run(self) -> None:
            while not self.stop.wait(0.001):
                self.n += 1

        def at_least(self, n: int) -> bool:
            while self.n < n:
                time.sleep(0.001)
            return True

        def end(self) -> bool:
            self.stop.set()
            self.thread.join()
            return self.thread.is_alive()

    actor = Background.remote()
    print(ray.get(actor.at_least.remote(5)), ray.get(actor.end.remote()))


@case
def calls_from_threads_of_a_task(ray: Any) -> None:
    @ray.remote
    def outer() -> Any:
        found: list[int] = []
        f = ray.remote(lambda i: i)
        threads = [threading.Thread(target=lambda i=i: found.append(ray.get(f.remote(i)))) for i in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        return sorted(found)

    print(ray.get(outer.remote()))


@case
def kinds_that_programs_ask_for(ray: Any) -> None:
    f = ray.remote(lambda: 1)

    @ray.remote
    class A:
        def m(self) -> int:
            return 1

    a = A.remote()
    print(type(f).__name__, type(a).__name__, type(a.m).__name__, isinstance(f, ray.remote_function.RemoteFunction))
    print(
        isinstance(a, ray.actor.ActorHandle),
        isinstance(A, ray.actor.ActorClass),
        isinstance(a.m, ray.actor.ActorMethod),
    )
    print(
        callable(f),
        callable(a.m),
        callable(A),
        inspect.isclass(A),
        inspect.isfunction(f),
        hasattr(f, "remote"),
        hasattr(A, "remote"),
    )
    print(hasattr(a, "m"), hasattr(a, "no_such"), "m" in dir(a), hasattr(f, "options"), hasattr(a.m, "options"))
    attempt("no such method", lambda: a.no_such)
    attempt("call of a method", lambda: a.m())
    attempt("call of a handle", lambda: a())
    attempt("set on a handle", lambda: setattr(a, "x", 1))


@case
def recursion_of_remote_functions(ray: Any) -> None:
    @ray.remote
    def fact(n: int) -> int:
        return 1 if n == 0 else n * ray.get(fact.remote(n - 1))

    print(ray.get(fact.remote(8)))


@case
def remote_functions_in_containers(ray: Any) -> None:
    table = {"add": ray.remote(lambda a, b: a + b), "mul": ray.remote(lambda a, b: a * b)}
    use = ray.remote(lambda t: ray.get([t["add"].remote(2, 3), t["mul"].remote(2, 3)]))
    print(ray.get(use.remote(table)), ray.get(ray.put(table))["add"] is not None)
    bound = functools.partial(table["add"].remote, 10)
    print(ray.get(bound(5)), ray.get([f.remote(1, 2) for f in table.values()]))
    print(list(map(ray.get, map(table["add"].remote, [1, 2], [3, 4]))))


@case
def generators_and_comprehensions_of_references(ray: Any) -> None:
    f = ray.remote(lambda i: i * i)
    print(sum(ray.get(r) for r in (f.remote(i) for i in range(5))))
    print({i: ray.get(r) for i, r in {i: f.remote(i) for i in range(3)}.items()})
    print(max([f.remote(i) for i in range(3)], key=ray.get) is not None)


@case
def context_managers_and_generators_in_tasks(ray: Any) -> None:
    @contextlib.contextmanager
    def opened(log: list[str]) -> Any:
        log.append("in")
        yield 5
        log.append("out")

    @ray.remote
    def use() -> Any:
        log: list[str] = []
        with opened(log) as x:
            log.append(str(x))
        return log

    print(ray.get(use.remote()))


@case
def nonlocal_and_closures_that_change(ray: Any) -> None:
    n = 1

    @ray.remote
    def read() -> int:
        return n

    first = ray.get(read.remote())
    n = 2
    print(first, ray.get(read.remote()), ray.get(read.options(num_cpus=0.5).remote()))


@case
def big_integers_and_texts_as_keys(ray: Any) -> None:
    value = {
        10**30: "a",
        -1: "b",
        2**64: "c",
        "": 1,
        "ä": 2,
        b"k": 3,
        1.5: 4,
        (1, (2,)): 5,
        frozenset({1}): 6,
        None: 7,
        True: 8,
    }
    print(ray.get(ray.put(value)) == value, list(ray.get(ray.remote(lambda v: v).remote(value))) == list(value))


@case
def same_names_in_different_places(ray: Any) -> None:
    def make(n: int) -> Any:
        def f() -> int:
            return n

        class C:
            value = n

        return ray.remote(f), C

    pairs = [make(i) for i in range(3)]
    print([ray.get(f.remote()) for f, _ in pairs], [ray.get(ray.put(c)).value for _, c in pairs])
    print([ray.get(ray.remote(lambda c: c.value).remote(c)) for _, c in pairs])


@case
def exceptions_in_odd_places(ray: Any) -> None:
    @ray.remote
    def in_finally() -> int:
        try:
            raise ValueError("first")
        finally:
            raise KeyError("second")

    @ray.remote
    def in_a_generator_expression() -> int:
        return sum(1 // i for i in [1, 0])

    @ray.remote
    def in_a_thread() -> str:
        failed: list[BaseException] = []

        def run() -> None:
            try:
                raise ValueError("t")
            except ValueError as error:
                failed.append(error)

        thread = threading.Thread(target=run)
        thread.start()
        thread.join()
        raise failed[0]

    for f in (in_finally, in_a_generator_expression, in_a_thread):
        attempt("get", lambda f=f: ray.get(f.remote()))
