"""Remote functions: calling, options, and the shapes of functions that the decorator takes."""

from __future__ import annotations

import os
from typing import Any

from casebook import accepts, attempt, case


@case
def plain(ray: Any) -> None:
    @ray.remote
    def add(a: int, b: int = 10, *rest: int, scale: int = 1, **named: int) -> tuple[int, ...]:
        return (a, b, *rest, scale, *sorted(named.values()))

    print(ray.get(add.remote(1)))
    print(ray.get(add.remote(1, 2, 3, 4)))
    print(ray.get(add.remote(1, scale=5, z=7, y=6)))
    print(ray.get(add.remote(b=3, a=2)))
    print(ray.get(add.remote(*[1, 2], **{"scale": 3})))


@case
def decorator_with_arguments(ray: Any) -> None:
    @ray.remote(num_cpus=2, max_retries=0)
    def resources() -> dict[str, float]:
        return ray.get_runtime_context().get_assigned_resources()

    print(ray.get(resources.remote()))
    print(ray.get(resources.options(num_cpus=1).remote()))
    print(ray.get(resources.options(num_cpus=0).remote()))
    print("unchanged:", ray.get(resources.remote()))


@case
def decorator_as_a_call(ray: Any) -> None:
    def double(x: int) -> int:
        return 2 * x

    print(ray.get(ray.remote(double).remote(4)))
    print(ray.get(ray.remote(num_cpus=0.5)(double).remote(5)))
    print(ray.get(ray.remote(lambda x: x - 1).remote(6)))
    print("the plain function stays:", double(7))


@case
def not_called_directly(ray: Any) -> None:
    @ray.remote
    def nothing() -> None:
        return None

    try:
        nothing()
    except TypeError as error:
        print("says what to do:", "nothing.remote()" in str(error))
    print("the function inside:", nothing._function())


@case
def refused_arguments(ray: Any) -> None:
    @ray.remote
    def one(x: int) -> int:
        return x

    accepts("none", lambda: one.remote())
    accepts("two", lambda: one.remote(1, 2))
    accepts("unknown", lambda: one.remote(y=2))
    accepts("twice", lambda: one.remote(1, x=1))
    accepts("right", lambda: one.remote(1))


@case
def what_can_be_decorated(ray: Any) -> None:
    import functools

    class Callable:
        def __call__(self) -> int:
            return 1

        def method(self) -> int:
            return 2

    remote_function = ray.remote(lambda: 1)
    accepts("builtin", lambda: ray.remote(len))
    accepts("partial", lambda: ray.remote(functools.partial(int, 1)))
    accepts("object", lambda: ray.remote(Callable()))
    accepts("bound method", lambda: ray.remote(Callable().method))
    accepts("remote function", lambda: ray.remote(remote_function))
    accepts("number", lambda: ray.remote(1))
    accepts("nothing", lambda: ray.remote())
    accepts("function and options", lambda: ray.remote(lambda: 1, num_cpus=1))


@case
def recursion(ray: Any) -> None:
    @ray.remote
    def fibonacci(n: int) -> int:
        if n < 2:
            return n
        return sum(ray.get([fibonacci.remote(n - 1), fibonacci.remote(n - 2)]))

    print([ray.get(fibonacci.remote(n)) for n in range(6)])


@case
def deeper_than_the_cpus(ray: Any) -> None:
    @ray.remote
    def down(depth: int) -> int:
        return depth if depth == 0 else 1 + ray.get(down.remote(depth - 1))

    print(ray.get(down.remote(8), timeout=60))


@case
def tasks_in_tasks(ray: Any) -> None:
    @ray.remote
    def leaf(x: int) -> int:
        return x * x

    @ray.remote
    def tree(n: int) -> int:
        return sum(ray.get([leaf.remote(x) for x in range(n)]))

    print(ray.get([tree.remote(n) for n in range(5)]))


@case
def a_task_returns_a_reference(ray: Any) -> None:
    @ray.remote
    def inner() -> str:
        return "inner"

    @ray.remote
    def outer() -> Any:
        return inner.remote()

    ref = ray.get(outer.remote())
    print(isinstance(ref, ray.ObjectRef), ray.get(ref))


@case
def a_task_puts(ray: Any) -> None:
    @ray.remote
    def produce() -> list[Any]:
        return [ray.put(i) for i in range(3)]

    print(ray.get(ray.get(produce.remote())))


@case
def many(ray: Any) -> None:
    @ray.remote
    def same(x: int) -> int:
        return x

    print(sum(ray.get([same.remote(i) for i in range(500)])))


@case
def max_calls_ends_the_process(ray: Any) -> None:
    @ray.remote(max_calls=1)
    def once() -> int:
        return os.getpid()

    pids = [ray.get(once.remote()) for _ in range(3)]
    print("different processes:", len(set(pids)))


@case
def processes_are_used_again(ray: Any) -> None:
    @ray.remote
    def pid() -> int:
        return os.getpid()

    pids = {ray.get(pid.remote()) for _ in range(20)}
    print("fewer processes than tasks:", len(pids) < 20, os.getpid() in pids)


@case
def retry_of_exceptions(ray: Any) -> None:
    @ray.remote
    class Counter:
        def __init__(self) -> None:
            self.calls = 0

        def next(self) -> int:
            self.calls += 1
            return self.calls

    @ray.remote(max_retries=3, retry_exceptions=True)
    def flaky(counter: Any) -> int:
        turn = ray.get(counter.next.remote())
        if turn < 3:
            raise ValueError(turn)
        return turn

    print("any:", ray.get(flaky.remote(Counter.remote())))
    listed = flaky.options(retry_exceptions=[ValueError])
    print("listed:", ray.get(listed.remote(Counter.remote())))
    attempt("other", lambda: ray.get(flaky.options(retry_exceptions=[KeyError]).remote(Counter.remote())))
    attempt("none", lambda: ray.get(flaky.options(retry_exceptions=False).remote(Counter.remote())))
    attempt("too few", lambda: ray.get(flaky.options(max_retries=1).remote(Counter.remote())))


@case
def main_thread(ray: Any) -> None:
    import threading

    @ray.remote
    def thread() -> bool:
        return threading.current_thread() is threading.main_thread()

    print("tasks run on the main thread:", ray.get(thread.remote()))


@case
def environment_does_not_leak_into_the_driver(ray: Any) -> None:
    @ray.remote
    def change() -> str:
        os.environ["COMPAT_LEAK"] = "1"
        return os.environ["COMPAT_LEAK"]

    print(ray.get(change.remote()), os.environ.get("COMPAT_LEAK"))


@case
def environment_of_one_task(ray: Any) -> None:
    @ray.remote
    def shape() -> str | None:
        return os.environ.get("COMPAT_SHAPE")

    print(ray.get(shape.options(runtime_env={"env_vars": {"COMPAT_SHAPE": "round"}}).remote()))
    print(ray.get(shape.remote()))
