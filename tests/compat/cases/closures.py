"""Functions and classes as code: what they capture, when it is taken, and how classes are built from others."""

from __future__ import annotations

import functools
from typing import Any

from casebook import attempt, case


@case
def captured_values(ray: Any) -> None:
    names = ["a", "b"]

    def make(prefix: str) -> Any:
        @ray.remote
        def label(i: int) -> str:
            return f"{prefix}-{names[i]}"

        return label

    first, second = make("x"), make("y")
    print(ray.get([first.remote(0), second.remote(1), first.remote(1)]))


@case
def taken_at_the_first_call(ray: Any) -> None:
    box = {"value": 1}

    @ray.remote
    def read() -> int:
        return box["value"]

    box["value"] = 2
    print("changed before the first call:", ray.get(read.remote()))
    box["value"] = 3
    print("changed after it:", ray.get(read.remote()))


@case
def options_after_a_change(ray: Any) -> None:
    box = {"value": 1}

    @ray.remote
    def read() -> int:
        return box["value"]

    print(ray.get(read.remote()))
    box["value"] = 2
    print("options share the code:", ray.get(read.options(num_cpus=0.5).remote()))


@case
def defaults_are_values(ray: Any) -> None:
    @ray.remote
    def collect(x: int, into: list[int] = []) -> list[int]:  # noqa: B006
        into.append(x)
        return list(into)

    print(ray.get(collect.remote(1)))
    print(ray.get(collect.remote(1, [0])))


@case
def wrapped_functions(ray: Any) -> None:
    def shout(function: Any) -> Any:
        @functools.wraps(function)
        def wrapper(*args: Any) -> str:
            return function(*args).upper()

        return wrapper

    @ray.remote
    @shout
    def hello(name: str) -> str:
        "greets"
        return f"hello {name}"

    print(ray.get(hello.remote("ray")))
    attempt("arguments of the wrapped", lambda: hello.remote("a", "b"))


@case
def calling_another_plain_function(ray: Any) -> None:
    def helper(x: int) -> int:
        return x + 1

    def second(x: int) -> int:
        return helper(helper(x))

    print(ray.get(ray.remote(second).remote(1)))


@case
def a_remote_function_inside_another(ray: Any) -> None:
    @ray.remote
    def inner(x: int) -> int:
        return x * 3

    @ray.remote
    def outer(function: Any, x: int) -> int:
        return ray.get(function.remote(x))

    @ray.remote
    def defines(x: int) -> int:
        local = ray.remote(lambda y: y + x)
        return ray.get(local.remote(5))

    print(ray.get(outer.remote(inner, 4)), ray.get(defines.remote(1)))
    print(ray.get(outer.remote(inner.options(num_cpus=0), 5)))


@case
def an_actor_class_as_a_value(ray: Any) -> None:
    @ray.remote
    class Cell:
        def __init__(self, x: int) -> None:
            self.x = x

        def read(self) -> int:
            return self.x

    @ray.remote
    def make(cls: Any, x: int) -> int:
        return ray.get(cls.remote(x).read.remote())

    print(ray.get(make.remote(Cell, 9)))
    print(ray.get(make.remote(Cell.options(num_cpus=0), 8)))


@case
def inheritance(ray: Any) -> None:
    class Base:
        greeting = "base"

        def __init__(self, name: str) -> None:
            self.name = name

        def hello(self) -> str:
            return f"{self.greeting} {self.name}"

        def shared(self) -> str:
            return "shared"

    @ray.remote
    class Child(Base):
        greeting = "child"

        def __init__(self, name: str) -> None:
            super().__init__(name + "!")

        def hello(self) -> str:
            return "<" + super().hello() + ">"

    child = Child.remote("x")
    print(ray.get([child.hello.remote(), child.shared.remote()]))


@case
def inheriting_from_an_actor_class(ray: Any) -> None:
    @ray.remote
    class Base:
        def hello(self) -> str:
            return "base"

    def derive() -> Any:
        class Child(Base):
            pass

        return Child

    try:
        derive()
    except TypeError as error:
        print("refused:", "actor class" in str(error).lower())


@case
def kinds_of_methods(ray: Any) -> None:
    @ray.remote
    class Kinds:
        level = 3

        def __init__(self) -> None:
            self._hidden = 5

        @staticmethod
        def static(x: int) -> int:
            return x + 1

        @classmethod
        def cls(cls) -> int:
            return cls.level

        @property
        def prop(self) -> int:
            return self._hidden

        def _private(self) -> int:
            return self._hidden

        def __call__(self, x: int) -> int:
            return x * 10

        def __len__(self) -> int:
            return 7

    kinds = Kinds.remote()
    print(ray.get([kinds.static.remote(1), kinds.cls.remote(), kinds._private.remote(), kinds.__call__.remote(2)]))
    print(ray.get(kinds.__len__.remote()))
    attempt("a property", lambda: kinds.prop.remote())
    attempt("a class attribute", lambda: kinds.level)


@case
def recursion_by_name(ray: Any) -> None:
    @ray.remote
    class Countdown:
        def down(self, n: int) -> list[int]:
            return [n] + (self.down(n - 1) if n else [])

    print(ray.get(Countdown.remote().down.remote(3)))


@case
def isinstance_of_a_shipped_class(ray: Any) -> None:
    class Item:
        pass

    @ray.remote
    def check(item: Any) -> bool:
        return isinstance(item, Item)

    print("in the task:", ray.get(check.remote(Item())))
    print("back here:", isinstance(ray.get(ray.remote(lambda x: x).remote(Item())), Item))


@case
def exceptions_of_a_local_class(ray: Any) -> None:
    class Odd(Exception):
        pass

    @ray.remote
    def fail() -> None:
        raise Odd("local")

    try:
        ray.get(fail.remote())
    except Odd as error:
        print("caught", type(error).__name__, isinstance(error, ray.exceptions.RayTaskError))
