"""Methods of actors as their class has them, as values that travel, and what they may return; class attributes."""

from __future__ import annotations

import asyncio
import copy
from typing import Any

import pytest
from pace import PATIENCE_S


class Base:
    INHERITED = 5


class Tool(Base):
    """A class with everything that a class may have."""

    LIMIT = 3

    def __init__(self) -> None:
        self.calls = 0

    @staticmethod
    def double(x: int) -> int:
        return 2 * x

    @classmethod
    def limit(cls) -> int:
        return cls.LIMIT

    def echo(self, x: int = 1) -> int:
        self.calls += 1
        return x

    def pair(self) -> tuple[int, int]:
        return 1, 2

    class Inner:
        depth = 1


def test_class_attributes_are_read_through_the_actor_class(ray: Any) -> None:
    actor_class = ray.remote(num_cpus=0)(Tool)
    assert (actor_class.LIMIT, actor_class.INHERITED, actor_class.Inner.depth) == (3, 5, 1)
    assert (actor_class.double(4), actor_class.limit(), actor_class.options(num_cpus=1).LIMIT) == (8, 3, 3)
    assert actor_class.__qualname__ == "Tool" and {"LIMIT", "double", "remote", "options"} <= set(dir(actor_class))
    with pytest.raises(AttributeError, match=r"the actor class Tool has no attribute 'LIMITS'"):
        _ = actor_class.LIMITS
    assert copy.copy(actor_class).LIMIT == 3


def test_class_attributes_are_read_in_tasks_and_in_the_actor_itself(ray: Any) -> None:
    @ray.remote(num_cpus=0)
    class Own:
        LIMIT = 4

        @staticmethod
        def double(x: int) -> int:
            return 2 * x

        def look(self) -> tuple[int, int, int]:
            return Own.LIMIT, Own.double(3), self.LIMIT

    @ray.remote
    def look(actor_class: Any) -> tuple[int, int, int]:
        return actor_class.LIMIT, actor_class.double(5), Own.LIMIT

    assert ray.get(Own.remote().look.remote(), timeout=PATIENCE_S) == (4, 6, 4)
    assert ray.get(look.remote(Own), timeout=PATIENCE_S) == (4, 10, 4)
    Own.LIMIT = 9  # of the actor class, as a task gets it; the class of the instances stays
    assert Own.LIMIT == 9 and ray.get(look.remote(Own), timeout=PATIENCE_S)[:2] == (9, 10)


class HidesPlain:
    def __init__(self) -> None:
        self.value: Any = 0
        self.render: Any = lambda: "the attribute"

    def value(self) -> int:  # type: ignore[no-redef]
        return 1

    def render(self) -> str:  # type: ignore[no-redef]
        return "the method"

    def read(self) -> Any:
        return self.value


class HidesAsync(HidesPlain):
    async def value(self) -> int:
        return 1


@pytest.mark.parametrize("cls", [HidesPlain, HidesAsync])
def test_an_attribute_of_the_instance_does_not_hide_a_method(ray: Any, cls: type) -> None:
    a = ray.remote(num_cpus=0)(cls).remote()
    assert ray.get([a.value.remote(), a.render.remote(), a.read.remote()], timeout=PATIENCE_S) == [1, "the method", 0]


def test_methods_of_every_kind_are_found_on_the_class(ray: Any) -> None:
    import functools

    class Overridden(Tool):
        def double(self, x: int) -> int:  # type: ignore[override]
            return 3 * x

        thrice = functools.partialmethod(double, 3)

    a = ray.remote(num_cpus=0)(Overridden).remote()
    assert ray.get([a.double.remote(2), a.thrice.remote(), a.limit.remote()], timeout=PATIENCE_S) == [6, 9, 3]
    b = ray.remote(num_cpus=0)(Tool).remote()
    assert ray.get([b.double.remote(2), b.limit.remote(), b.echo.remote(7)], timeout=PATIENCE_S) == [4, 3, 7]


@pytest.fixture
def tool(ray: Any) -> Any:
    return ray.remote(num_cpus=0)(Tool).remote()


def test_a_method_travels_as_an_argument_a_result_and_a_value(ray: Any, tool: Any) -> None:
    @ray.remote
    def call(method: Any, *args: Any) -> Any:
        return ray.get(method.remote(*args))

    @ray.remote
    def call_inside(found: dict[str, list[Any]]) -> Any:
        return ray.get(found["methods"][0].remote(6))

    @ray.remote
    def give(actor: Any) -> Any:
        return actor.echo

    captured = tool.echo

    @ray.remote
    def call_captured() -> Any:
        return ray.get(captured.remote(8))

    @ray.remote(num_cpus=0)
    class Keeper:
        def __init__(self, method: Any) -> None:
            self.method = method

        def call(self) -> Any:
            return ray.get(self.method.remote(9))

        def give(self) -> Any:
            return self.method

    keeper = Keeper.remote(tool.echo)
    found = [
        call.remote(tool.echo, 5),
        call.remote(method=tool.echo),
        call_inside.remote({"methods": [tool.echo]}),
        call_captured.remote(),
        keeper.call.remote(),
    ]
    assert ray.get(found, timeout=PATIENCE_S) == [5, 1, 6, 8, 9]
    given = [ray.get(give.remote(tool)), ray.get(keeper.give.remote()), ray.get(ray.put(tool.echo))]
    assert ray.get([method.remote(4) for method in given], timeout=PATIENCE_S) == [4, 4, 4]
    assert set(given) == {tool.echo} and given[0] != tool.pair and copy.deepcopy(tool.echo) == tool.echo
    assert "Tool.echo" in repr(given[0])


def test_a_method_travels_with_its_options(ray: Any, tool: Any) -> None:
    @ray.remote
    def call(method: Any) -> Any:
        return ray.get(method.remote())

    two = tool.pair.options(num_returns=2)
    assert ray.get([call.remote(tool.pair), call.remote(two)], timeout=PATIENCE_S) == [(1, 2), [1, 2]]


def test_a_method_that_travels_keeps_its_actor_alive(ray: Any) -> None:
    @ray.remote
    def call(methods: list[Any]) -> Any:
        return ray.get(methods[0].remote(3))

    actors = ray.remote(num_cpus=0)(Tool)
    only = ray.put([actors.remote().echo])  # no handle of this actor is left but the one inside
    assert ray.get([call.remote([actors.remote().echo]), call.remote(only)], timeout=PATIENCE_S) == [3, 3]


class Later:
    """Something that can be awaited and is a value all the same."""

    def __await__(self) -> Any:
        yield
        return 5


class Mixed:
    """An actor with coroutines, and methods that are none."""

    def __init__(self, refs: list[Any]) -> None:
        self.ref = refs[0]

    async def coroutine(self) -> int:
        return 1

    def reference(self) -> Any:
        return self.ref

    def references(self) -> Any:
        return [self.ref]

    async def reference_of_a_coroutine(self) -> Any:
        return self.ref

    def awaitable(self) -> Later:
        return Later()

    def future(self) -> Any:
        return asyncio.get_running_loop().create_future()

    def generator(self) -> Any:
        yield self.ref

    async def async_generator(self) -> Any:
        yield self.ref


def test_only_coroutines_are_awaited_for_the_user(ray: Any) -> None:
    ref = ray.put(7)
    a = ray.remote(num_cpus=0)(Mixed).remote([ref])
    assert ray.get(a.coroutine.remote(), timeout=PATIENCE_S) == 1
    assert ray.get([a.reference.remote(), a.reference_of_a_coroutine.remote()], timeout=PATIENCE_S) == [ref, ref]
    assert ray.get(a.references.remote(), timeout=PATIENCE_S) == [ref]
    assert type(ray.get(a.awaitable.remote(), timeout=PATIENCE_S)).__name__ == "Later"
    assert ray.get(a.__ray_call__.remote(lambda self: self.ref), timeout=PATIENCE_S) == ref
    for stream in (a.generator.remote(), a.async_generator.remote()):
        assert [ray.get(item, timeout=PATIENCE_S) for item in stream] == [ref]
    with pytest.raises(TypeError, match=r"[Cc]ould not serialize the result of Mixed.future"):
        ray.get(a.future.remote(), timeout=PATIENCE_S)
