"""Classes of actors: what they inherit, their attributes, static and class methods, and special methods."""

from __future__ import annotations

from typing import Any

from casebook import accepts, attempt, case


@case
def a_decorated_class_cannot_be_derived_from(ray: Any) -> None:
    @ray.remote
    class Base:
        pass

    def derive() -> None:
        class Derived(Base):  # type: ignore[misc]
            pass

    def derive_and_decorate() -> None:
        @ray.remote
        class Derived(Base):  # type: ignore[misc]
            pass

    accepts("derive", derive)
    accepts("derive and decorate", derive_and_decorate)
    try:
        derive()
    except TypeError as error:
        print("Base" in str(error), "Derived" in str(error))


@case
def plain_bases_and_super(ray: Any) -> None:
    class Base:
        def __init__(self, x: int) -> None:
            self.x = x

        def who(self) -> str:
            return "base"

        def inherited(self) -> int:
            return self.x

    class Mixin:
        def who(self) -> str:
            return "mixin " + super().who()  # type: ignore[misc]

    @ray.remote
    class Derived(Mixin, Base):
        def __init__(self, x: int) -> None:
            super().__init__(x + 1)

        def who(self) -> str:
            return "derived " + super().who()

    actor = Derived.remote(1)
    print(ray.get([actor.who.remote(), actor.inherited.remote()], timeout=30))


@case
def an_abstract_base(ray: Any) -> None:
    import abc

    class Base(abc.ABC):
        @abc.abstractmethod
        def value(self) -> int: ...

        def twice(self) -> int:
            return 2 * self.value()

    @ray.remote
    class Derived(Base):
        def value(self) -> int:
            return 4

    class Half(Base):
        pass

    print(ray.get(Derived.remote().twice.remote(), timeout=30))
    accepts("abstract", lambda: ray.remote(Half))


@case
def class_attributes_outside(ray: Any) -> None:
    @ray.remote
    class Actor:
        LIMIT = 5

        @staticmethod
        def helper(x: int) -> int:
            return x + 1

        @classmethod
        def of_class(cls) -> int:
            return cls.LIMIT

        def method(self) -> int:
            return self.LIMIT

    attempt("attribute", lambda: Actor.LIMIT)
    attempt("static", lambda: Actor.helper(1))
    attempt("class", lambda: Actor.of_class())
    attempt("unknown", lambda: Actor.nothing)
    print(ray.get(Actor.remote().method.remote(), timeout=30))


@case
def class_attributes_inside(ray: Any) -> None:
    @ray.remote
    class Actor:
        LIMIT = 5

        @staticmethod
        def helper(x: int) -> int:
            return x + 1

        def all(self) -> Any:
            return self.LIMIT, self.helper(1), type(self).LIMIT, type(self).helper(2), Actor.LIMIT, Actor.helper(3)

    attempt("all", lambda: ray.get(Actor.remote().all.remote(), timeout=30))


@case
def static_and_class_methods_are_called(ray: Any) -> None:
    @ray.remote
    class Actor:
        LIMIT = 5

        @staticmethod
        def static(x: int) -> int:
            return x + 1

        @classmethod
        def of_class(cls, x: int) -> tuple[str, int]:
            return cls.__name__, x

    actor = Actor.remote()
    attempt("static", lambda: ray.get(actor.static.remote(1), timeout=30))
    attempt("of the class", lambda: ray.get(actor.of_class.remote(2), timeout=30))
    accepts("static, too many", lambda: actor.static.remote(1, 2))
    accepts("of the class, too many", lambda: actor.of_class.remote(1, 2))


@case
def properties(ray: Any) -> None:
    @ray.remote
    class Actor:
        def __init__(self) -> None:
            self.x = 3

        @property
        def value(self) -> int:
            return self.x

        def read(self) -> int:
            return self.value

    actor = Actor.remote()
    print(ray.get(actor.read.remote(), timeout=30))
    accepts("the property", lambda: actor.value.remote())
    accepts("an attribute", lambda: actor.x)


@case
def an_attribute_with_a_methods_name(ray: Any) -> None:
    @ray.remote
    class Counter:
        def __init__(self) -> None:
            self.value = 0  # type: ignore[assignment]

        def value(self) -> int:
            return 1

    print(ray.get(Counter.remote().value.remote(), timeout=30))


@case
def hidden_and_special_methods(ray: Any) -> None:
    @ray.remote
    class Actor:
        def _hidden(self) -> str:
            return "hidden"

        def __mangled(self) -> str:
            return "mangled"

        def __len__(self) -> int:
            return 4

        def __call__(self, x: int) -> int:
            return x

        def __getitem__(self, x: int) -> int:
            return x

    actor = Actor.remote()
    attempt("hidden", lambda: ray.get(actor._hidden.remote(), timeout=30))
    attempt("mangled", lambda: ray.get(actor._Actor__mangled.remote(), timeout=30))
    attempt("__len__", lambda: ray.get(actor.__len__.remote(), timeout=30))
    attempt("__call__", lambda: ray.get(actor.__call__.remote(2), timeout=30))
    attempt("__getitem__", lambda: ray.get(actor.__getitem__.remote(3), timeout=30))
    accepts("len()", lambda: len(actor))
    accepts("a call", lambda: actor(1))
    accepts("an index", lambda: actor[0])


@case
def the_hidden_call(ray: Any) -> None:
    @ray.remote
    class Actor:
        def __init__(self) -> None:
            self.x = 2

    actor = Actor.remote()
    print(ray.get(actor.__ray_call__.remote(lambda self: self.x), timeout=30))
    print(ray.get(actor.__ray_call__.remote(lambda self, a, b=0: self.x + a + b, 1, b=5), timeout=30))

    def change(self: Any, x: int) -> None:
        self.x = x

    ray.get(actor.__ray_call__.remote(change, 9), timeout=30)
    print(ray.get(actor.__ray_call__.remote(lambda self: self.x), timeout=30))

    def fail(self: Any) -> None:
        raise KeyError("inside")

    attempt("fail", lambda: ray.get(actor.__ray_call__.remote(fail), timeout=30))
    accepts("no function", lambda: actor.__ray_call__.remote())


@case
def the_hidden_call_of_coroutines(ray: Any) -> None:
    import asyncio

    @ray.remote
    class Actor:
        def __init__(self) -> None:
            self.x = 2

        async def get(self) -> int:
            return self.x

    actor = Actor.remote()

    async def later(self: Any) -> int:
        await asyncio.sleep(0)
        return int(self.x) + 1

    attempt("plain", lambda: ray.get(actor.__ray_call__.remote(lambda self: self.x), timeout=30))
    attempt("coroutine", lambda: ray.get(actor.__ray_call__.remote(later), timeout=30))


@case
def the_hidden_call_with_options(ray: Any) -> None:
    @ray.remote
    class Actor:
        pass

    actor = Actor.remote()
    print(ray.get(actor.__ray_call__.options(num_returns=2).remote(lambda self: (1, 2)), timeout=30))
    attempt("with a reference", lambda: ray.get(actor.__ray_call__.remote(lambda self, x: x, ray.put(3)), timeout=30))


@case
def readiness(ray: Any) -> None:
    @ray.remote
    class Actor:
        pass

    @ray.remote
    class Fails:
        def __init__(self) -> None:
            raise KeyError("constructor")

    attempt("ready", lambda: ray.get(Actor.remote().__ray_ready__.remote(), timeout=30))
    attempt("fails", lambda: ray.get(Fails.remote().__ray_ready__.remote(), timeout=30))
    accepts("with an argument", lambda: Actor.remote().__ray_ready__.remote(1))


@case
def termination(ray: Any) -> None:
    @ray.remote
    class Actor:
        def one(self) -> int:
            return 1

    actor = Actor.remote()
    before = [actor.one.remote() for _ in range(3)]
    actor.__ray_terminate__.remote()
    print(ray.get(before, timeout=30))
    attempt("after", lambda: ray.get(actor.one.remote(), timeout=30))


@case
def a_class_with_its_own_metaclass(ray: Any) -> None:
    class Meta(type):
        pass

    made = ray.remote(Meta("Actor", (), {"one": lambda self: 1}))
    print(ray.get(made.remote().one.remote(), timeout=30))


@case
def a_dataclass(ray: Any) -> None:
    import dataclasses

    @ray.remote
    @dataclasses.dataclass
    class Actor:
        x: int
        y: int = 2

        def total(self) -> int:
            return self.x + self.y

    print(ray.get(Actor.remote(1).total.remote(), timeout=30))
    print(ray.get(Actor.remote(1, y=5).total.remote(), timeout=30))
    accepts("no argument", lambda: Actor.remote())


@case
def a_class_with_slots(ray: Any) -> None:
    @ray.remote
    class Actor:
        __slots__ = ("x",)

        def __init__(self) -> None:
            self.x = 4

        def get(self) -> int:
            return self.x

    attempt("slots", lambda: ray.get(Actor.remote().get.remote(), timeout=30))


@case
def a_class_that_is_made_by_new(ray: Any) -> None:
    @ray.remote
    class Actor:
        def __new__(cls, *args: Any) -> Any:
            made = super().__new__(cls)
            made.made = "made"
            return made

        def __init__(self, x: int) -> None:
            self.x = x

        def get(self) -> Any:
            return self.x, self.made  # type: ignore[attr-defined]

    attempt("new", lambda: ray.get(Actor.remote(6).get.remote(), timeout=30))


@case
def a_decorated_method(ray: Any) -> None:
    import functools

    def doubled(function: Any) -> Any:
        @functools.wraps(function)
        def inner(self: Any, *args: Any) -> Any:
            return 2 * function(self, *args)

        return inner

    @ray.remote
    class Actor:
        @doubled
        def method(self, x: int) -> int:
            return x

    actor = Actor.remote()
    print(ray.get(actor.method.remote(4), timeout=30))
    accepts("too many", lambda: actor.method.remote(1, 2))


@case
def a_method_that_is_a_partial_or_an_object(ray: Any) -> None:
    import functools

    class Callable:
        def __call__(self, x: int) -> int:
            return x

    @ray.remote
    class Actor:
        part = functools.partial(lambda x: x, 1)
        thing = Callable()

        def method(self) -> int:
            return 1

    actor = Actor.remote()
    accepts("partial", lambda: actor.part.remote())
    accepts("object", lambda: actor.thing.remote(1))
    print(ray.get(actor.method.remote(), timeout=30))


@case
def a_method_that_was_added_later(ray: Any) -> None:
    class Plain:
        def one(self) -> int:
            return 1

    Plain.two = lambda self: 2  # type: ignore[attr-defined]
    actor = ray.remote(Plain).remote()
    print(ray.get([actor.one.remote(), actor.two.remote()], timeout=30))


@case
def a_method_that_the_class_lacks(ray: Any) -> None:
    @ray.remote
    class Actor:
        pass

    actor = Actor.remote()
    attempt("lacks", lambda: actor.nothing)
    print(hasattr(actor, "nothing"), hasattr(actor, "__ray_ready__"))


@case
def a_nested_class(ray: Any) -> None:
    class Outer:
        class Inner:
            def name(self) -> str:
                return type(self).__name__

    print(ray.get(ray.remote(Outer.Inner).remote().name.remote(), timeout=30))


@case
def an_actor_class_made_of_an_instance(ray: Any) -> None:
    accepts("an instance", lambda: ray.remote(object()))
    accepts("a number", lambda: ray.remote(5))
    accepts("twice", lambda: ray.remote(ray.remote(type("Plain", (), {}))))
    accepts("positional", lambda: ray.remote(1, 2))


@case
def an_actor_class_is_not_called(ray: Any) -> None:
    @ray.remote
    class Actor:
        def one(self) -> int:
            return 1

    accepts("the class", lambda: Actor())
    accepts("the method", lambda: Actor.remote().one())


@case
def a_class_in_a_task(ray: Any) -> None:
    @ray.remote
    class Actor:
        def one(self) -> int:
            return 1

    @ray.remote
    def use(cls: Any) -> Any:
        return ray.get(cls.remote().one.remote(), timeout=30), ray.get(Actor.remote().one.remote(), timeout=30)

    print(ray.get(use.remote(Actor), timeout=60))


@case
def a_constructor_with_wrong_arguments(ray: Any) -> None:
    @ray.remote
    class Actor:
        def __init__(self, x: int, *, y: int = 0) -> None:
            pass

    accepts("none", lambda: Actor.remote())
    accepts("two", lambda: Actor.remote(1, 2))
    accepts("unknown", lambda: Actor.remote(1, z=2))
    accepts("fits", lambda: Actor.remote(1, y=2))


@case
def a_method_with_wrong_arguments(ray: Any) -> None:
    @ray.remote
    class Actor:
        def method(self, x: int, *, y: int = 0) -> int:
            return x + y

    actor = Actor.remote()
    accepts("none", lambda: actor.method.remote())
    accepts("two", lambda: actor.method.remote(1, 2))
    accepts("unknown", lambda: actor.method.remote(1, z=2))
    print(ray.get(actor.method.remote(1, y=2), timeout=30))
