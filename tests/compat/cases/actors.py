"""Actors: state, order, handles that travel, what handles refuse."""

from __future__ import annotations

import os
from typing import Any

from casebook import accepts, attempt, case


def counter_class(ray: Any) -> Any:
    @ray.remote
    class Counter:
        def __init__(self, start: int = 0) -> None:
            self.value = start

        def add(self, amount: int = 1) -> int:
            self.value += amount
            return self.value

        def read(self) -> int:
            return self.value

    return Counter


@case
def state_and_order(ray: Any) -> None:
    counter = counter_class(ray).remote(10)
    print(ray.get([counter.add.remote() for _ in range(5)]), ray.get(counter.read.remote()))
    print(ray.get([counter.add.remote(amount=i) for i in range(100)])[-1])


@case
def separate_processes(ray: Any) -> None:
    @ray.remote
    class Where:
        def pid(self) -> int:
            return os.getpid()

    a, b = Where.remote(), Where.remote()
    pids = ray.get([a.pid.remote(), b.pid.remote(), a.pid.remote()])
    print(pids[0] == pids[2], pids[0] != pids[1], os.getpid() not in pids)


@case
def constructor_arguments(ray: Any) -> None:
    @ray.remote
    class Keep:
        def __init__(self, a: int, *rest: int, b: int = 2, **named: int) -> None:
            self.all = (a, rest, b, named)

        def show(self) -> Any:
            return self.all

    print(ray.get(Keep.remote(1, 5, 6, b=3, c=4).show.remote()))
    accepts("missing", lambda: Keep.remote())
    accepts("no constructor", lambda: ray.remote(type("Bare", (), {})).remote(1))


@case
def order_with_slow_arguments(ray: Any) -> None:
    @ray.remote
    class Log:
        def __init__(self) -> None:
            self.seen: list[Any] = []

        def write(self, item: Any) -> list[Any]:
            self.seen.append(item)
            return list(self.seen)

    @ray.remote
    def late(log: Any) -> str:
        return "late"

    log = Log.remote()
    refs = [log.write.remote("a"), log.write.remote(late.remote(log)), log.write.remote("b")]
    print(ray.get(refs)[-1])


@case
def order_per_caller(ray: Any) -> None:
    @ray.remote
    class Log:
        def __init__(self) -> None:
            self.seen: list[tuple[int, int]] = []

        def write(self, caller: int, i: int) -> None:
            self.seen.append((caller, i))

        def read(self) -> list[tuple[int, int]]:
            return self.seen

    @ray.remote
    def call(log: Any, caller: int) -> None:
        ray.get([log.write.remote(caller, i) for i in range(30)])

    log = Log.remote()
    ray.get([call.remote(log, caller) for caller in range(3)])
    seen = ray.get(log.read.remote())
    print(len(seen), [[i for who, i in seen if who == caller] == list(range(30)) for caller in range(3)])


@case
def handles_passed_on(ray: Any) -> None:
    Counter = counter_class(ray)

    @ray.remote
    def bump(counter: Any) -> int:
        return ray.get(counter.add.remote())

    @ray.remote
    class Outer:
        def __init__(self, counter: Any) -> None:
            self.counter = counter

        def bump(self) -> int:
            return ray.get(self.counter.add.remote())

        def give(self) -> Any:
            return self.counter

    counter = Counter.remote()
    outer = Outer.remote(counter)
    print(sorted(ray.get([bump.remote(counter) for _ in range(3)])), ray.get(outer.bump.remote()))
    print(ray.get(ray.get(outer.give.remote()).read.remote()), ray.get(ray.get(ray.put([counter]))[0].read.remote()))


@case
def actors_made_by_tasks_and_actors(ray: Any) -> None:
    Counter = counter_class(ray)

    @ray.remote
    def make() -> Any:
        return Counter.remote(7)

    @ray.remote
    class Maker:
        def __init__(self) -> None:
            self.inner = Counter.remote(20)

        def read(self) -> int:
            return ray.get(self.inner.add.remote())

    made = ray.get(make.remote())
    print(ray.get(made.add.remote()), ray.get(made.add.remote()))
    print(ray.get(Maker.remote().read.remote()))


@case
def own_handle(ray: Any) -> None:
    @ray.remote
    class Self:
        def me(self) -> Any:
            return ray.get_runtime_context().current_actor

        def value(self) -> str:
            return "mine"

    actor = Self.remote()
    again = ray.get(actor.me.remote())
    print(ray.get(again.value.remote()), again == actor, hash(again) == hash(actor))


@case
def text_of_handles(ray: Any) -> None:
    counter = counter_class(ray).remote()
    text = repr(counter)
    name, _, ident = text.rpartition(", ")
    print(name, len(ident), text.endswith(")"))
    print(str(counter) == text)


@case
def equality_of_handles(ray: Any) -> None:
    Counter = counter_class(ray)
    a, b = Counter.remote(), Counter.remote()
    back = ray.get(ray.remote(lambda box: box[0]).remote([a]))
    print(a == a, a == b, a == back, len({a, b, back}))


@case
def refused(ray: Any) -> None:
    Counter = counter_class(ray)
    counter = Counter.remote()
    attempt("class called", lambda: Counter())
    attempt("method called", lambda: counter.add())
    attempt("unknown method", lambda: counter.nothing)
    attempt("too many", lambda: counter.add.remote(1, 2))
    attempt("unknown keyword", lambda: counter.add.remote(x=2))
    attempt("unknown option", lambda: counter.add.options(nothing=1).remote())
    attempt("attribute", lambda: counter.value)
    print("alive:", ray.get(counter.read.remote()))


@case
def exceptions_leave_the_actor_alive(ray: Any) -> None:
    @ray.remote
    class Careful:
        def __init__(self) -> None:
            self.good = 0

        def work(self, fail: bool) -> int:
            if fail:
                raise RuntimeError("bad")
            self.good += 1
            return self.good

    careful = Careful.remote()
    for fail in (False, True, False):
        attempt(str(fail), lambda fail=fail: ray.get(careful.work.remote(fail)))


@case
def a_constructor_that_returns(ray: Any) -> None:
    class Odd:
        def __init__(self) -> None:
            return "text"  # type: ignore[return-value]  # noqa: PLE0101

        def hello(self) -> str:
            return "hello"

    odd = ray.remote(Odd).remote()
    attempt("call", lambda: ray.get(odd.hello.remote(), timeout=20))


@case
def method_options(ray: Any) -> None:
    @ray.remote
    class Namer:
        def name(self) -> str:
            return ray.get_runtime_context().get_task_name()

    namer = Namer.remote()
    print(ray.get(namer.name.remote()), ray.get(namer.name.options(name="mine").remote()))


@case
def hidden_helpers(ray: Any) -> None:
    counter = counter_class(ray).remote(3)
    print(ray.get(counter.__ray_ready__.remote()))
    print(ray.get(counter.__ray_call__.remote(lambda self, more: self.value + more, 4)))


@case
def one_thread(ray: Any) -> None:
    import threading

    @ray.remote
    class Where:
        def __init__(self) -> None:
            self.first = threading.current_thread()

        def same(self) -> tuple[bool, bool]:
            here = threading.current_thread()
            return here is self.first, here is threading.main_thread()

    print(ray.get(Where.remote().same.remote()))


@case
def deep_chain_of_actors(ray: Any) -> None:
    @ray.remote(num_cpus=0)
    class Link:
        def __init__(self, depth: int, cls: Any) -> None:
            self.next = cls.options(num_cpus=0).remote(depth - 1, cls) if depth else None

        def depth(self) -> int:
            return 1 + ray.get(self.next.depth.remote()) if self.next else 1

    print(ray.get(Link.remote(4, Link).depth.remote()))


@case
def large_state(ray: Any) -> None:
    @ray.remote
    class Store:
        def __init__(self) -> None:
            self.data: list[bytes] = []

        def put(self, item: bytes) -> int:
            self.data.append(item)
            return sum(map(len, self.data))

        def all(self) -> bytes:
            return b"".join(self.data)

    store = Store.remote()
    print(ray.get([store.put.remote(b"x" * 300_000) for _ in range(5)]), len(ray.get(store.all.remote())))
