"""Named actors, namespaces, and `get_actor`."""

from __future__ import annotations

from typing import Any

from casebook import attempt, case, eventually


def counter_class(ray: Any) -> Any:
    @ray.remote
    class Counter:
        def __init__(self, start: int = 0) -> None:
            self.value = start

        def add(self) -> int:
            self.value += 1
            return self.value

    return Counter


@case
def by_name(ray: Any) -> None:
    counter = counter_class(ray).options(name="by_name").remote()
    found = ray.get_actor("by_name")
    print(ray.get([counter.add.remote(), found.add.remote()]), found == counter, type(found).__name__)


@case
def in_the_decorator(ray: Any) -> None:
    @ray.remote(name="in_the_decorator")
    class Single:
        def name(self) -> str:
            return ray.get_runtime_context().get_actor_name()

    single = Single.remote()
    print(ray.get(single.name.remote()), ray.get(ray.get_actor("in_the_decorator").name.remote()))


@case
def from_a_task(ray: Any) -> None:
    counter = counter_class(ray).options(name="from_a_task").remote()

    @ray.remote
    def bump() -> int:
        return ray.get(ray.get_actor("from_a_task").add.remote())

    print(sorted(ray.get([bump.remote() for _ in range(4)])), ray.get(counter.add.remote()))


@case
def taken(ray: Any) -> None:
    Counter = counter_class(ray)
    counter = Counter.options(name="taken").remote()
    attempt("again", lambda: Counter.options(name="taken").remote())
    try:
        Counter.options(name="taken").remote()
    except ValueError as error:
        print("names it:", "taken" in str(error), isinstance(error, ray.exceptions.RayError))
    print(ray.get(counter.add.remote()))


@case
def get_if_exists(ray: Any) -> None:
    Counter = counter_class(ray)
    first = Counter.options(name="shared", get_if_exists=True).remote(5)
    second = Counter.options(name="shared", get_if_exists=True).remote(50)
    print(ray.get([first.add.remote(), second.add.remote()]), first == second)
    attempt("without a name", lambda: Counter.options(get_if_exists=True).remote())


@case
def unknown(ray: Any) -> None:
    attempt("nobody", lambda: ray.get_actor("nobody"))
    attempt("empty", lambda: ray.get_actor(""))
    attempt("number", lambda: ray.get_actor(1))
    try:
        ray.get_actor("nobody")
    except ValueError as error:
        print(str(error).startswith("Failed to look up actor with name 'nobody'"))


@case
def bad_names(ray: Any) -> None:
    Counter = counter_class(ray)
    attempt("empty", lambda: Counter.options(name="").remote())
    attempt("number", lambda: Counter.options(name=1).remote())
    attempt("namespace number", lambda: Counter.options(name="n", namespace=1).remote())


@case
def namespaces_are_apart(ray: Any) -> None:
    Counter = counter_class(ray)
    here = Counter.options(name="twin").remote(10)
    there = Counter.options(name="twin", namespace="other").remote(20)
    print(ray.get([here.add.remote(), there.add.remote()]))
    print(ray.get(ray.get_actor("twin").add.remote()), ray.get(ray.get_actor("twin", namespace="other").add.remote()))
    print(ray.get(ray.get_actor("twin", "compat").add.remote()))
    attempt("third", lambda: ray.get_actor("twin", namespace="third"))


@case
def the_name_comes_free(ray: Any) -> None:
    Counter = counter_class(ray)
    first = Counter.options(name="free").remote()
    ray.get(first.add.remote())
    ray.kill(first)

    def look() -> str:
        try:
            ray.get_actor("free")
            return "taken"
        except ValueError:
            return "free"

    print(eventually(look, "free"))
    print(ray.get(Counter.options(name="free").remote(7).add.remote()))


@case
def a_name_does_not_keep_it(ray: Any) -> None:
    counter = counter_class(ray).options(name="weak").remote()
    ray.get(counter.add.remote())
    del counter

    def look() -> str:
        try:
            ray.get_actor("weak")
            return "there"
        except ValueError:
            return "gone"

    print(eventually(look, "gone"))


@case
def methods_of_a_found_actor(ray: Any) -> None:
    @ray.remote
    class Pair:
        @ray.method(num_returns=2)
        def both(self) -> tuple[int, int]:
            return 1, 2

    pair = Pair.options(name="pair").remote()
    found = ray.get_actor("pair")
    print(ray.get(found.both.remote()), found == pair)
    attempt("unknown method", lambda: found.nothing)
    attempt("too many arguments", lambda: found.both.remote(1))
