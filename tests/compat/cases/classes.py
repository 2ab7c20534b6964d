"""Classes of all kinds and their instances, as values: what they are afterwards."""

from __future__ import annotations

import abc
import collections
import dataclasses
import enum
import importlib
import threading
import typing
from typing import Any, Generic, TypeVar

from casebook import attempt, case

T = TypeVar("T")


def by_value(ray: Any) -> Any:
    """The cloudpickle that a runtime uses: Ray has a copy of its own."""
    return importlib.import_module("ray.cloudpickle" if ray.__name__ == "ray" else "cloudpickle")


def both(ray: Any, value: Any) -> Any:
    """The value after a put and a get, and after a task."""
    return ray.get(ray.put(value)), ray.get(ray.remote(lambda x: x).remote(value))


@case
def unknown_names_are_answered(ray: Any) -> None:
    class Proxy:
        def __init__(self, inner: Any) -> None:
            self.inner = inner

        def __getattr__(self, name: str) -> Any:
            if name.startswith("__"):
                raise AttributeError(name)
            return getattr(self.inner, name)

    a, b = both(ray, Proxy([1, 2]))
    print(a.count(1), b.index(2))


@case
def unknown_names_give_none(ray: Any) -> None:
    class Bag(dict):
        __getattr__ = dict.get
        __setattr__ = dict.__setitem__  # type: ignore[assignment]

    bag = Bag(a=1)
    attempt("bag", lambda: [(x.a, x["a"]) for x in both(ray, bag)])

    class Strict(dict):
        def __getattr__(self, name: str) -> Any:
            try:
                return self[name]
            except KeyError:
                raise AttributeError(name) from None

    attempt("strict", lambda: [(x.a, x["a"]) for x in both(ray, Strict(a=1))])


@case
def classes_with_slots(ray: Any) -> None:
    class Base:
        __slots__ = ("a",)

    class Both(Base):
        __slots__ = ("__dict__", "b")

    value = Both()
    value.a, value.b, value.c = 1, 2, 3
    print([(x.a, x.b, x.c) for x in both(ray, value)])

    @dataclasses.dataclass(frozen=True, slots=True)
    class Frozen:
        x: int
        y: Any = None

    print([x == Frozen(1, [2]) for x in both(ray, Frozen(1, [2]))])


@case
def state_and_reducers(ray: Any) -> None:
    class Counted:
        def __init__(self) -> None:
            self.n = 1
            self.lock = threading.Lock()

        def __getstate__(self) -> Any:
            return {"n": self.n + 1}

        def __setstate__(self, state: Any) -> None:
            self.n = state["n"] * 10

    class NewArgs:
        def __new__(cls, x: int, y: int) -> Any:
            self = super().__new__(cls)
            self.both = (x, y)
            return self

        def __getnewargs__(self) -> Any:
            return self.both

    class NewKeywords:
        def __new__(cls, *, x: int) -> Any:
            self = super().__new__(cls)
            self.x = x
            return self

        def __getnewargs_ex__(self) -> Any:
            return (), {"x": self.x}

    class Ex:
        def __init__(self, x: int) -> None:
            self.x = x

        def __reduce_ex__(self, protocol: Any) -> Any:
            return (Ex, (self.x + protocol,))

    print([x.n for x in both(ray, Counted())], [x.both for x in both(ray, NewArgs(1, 2))])
    print([x.x for x in both(ray, NewKeywords(x=5))], [x.x > 1 for x in both(ray, Ex(1))])


@case
def abstract_classes(ray: Any) -> None:
    class Shape(abc.ABC):
        @abc.abstractmethod
        def area(self) -> int: ...

        @property
        @abc.abstractmethod
        def name(self) -> str: ...

    class Square(Shape):
        def __init__(self, x: int) -> None:
            self.x = x

        def area(self) -> int:
            return self.x**2

        @property
        def name(self) -> str:
            return "square"

    print([(x.area(), x.name) for x in both(ray, Square(3))])
    again = ray.get(ray.put(Shape))
    attempt("abstract", again)
    print(ray.get(ray.remote(lambda c: sorted(c.__abstractmethods__)).remote(Shape)))
    Shape.register(list)
    print(isinstance([], ray.get(ray.put(Shape))))


@case
def enumerations(ray: Any) -> None:
    class Colour(enum.Enum):
        RED = 1
        BLUE = "b"

        def shout(self) -> str:
            return self.name + "!"

    class Bits(enum.IntFlag):
        A = 1
        B = 2

    class Text(str, enum.Enum):
        X = "x"

    print([x is Colour.RED for x in both(ray, Colour.RED)], ray.get(ray.put(Colour.BLUE)).shout())
    print(
        both(ray, Bits.A | Bits.B)[0] == 3,
        both(ray, Text.X)[1] == "x",
        both(ray, {Colour.RED: 1})[1] == {Colour.RED: 1},
    )
    print(ray.get(ray.remote(lambda c: c is Colour.RED).remote(Colour.RED)))


@case
def type_variables_and_generics(ray: Any) -> None:
    class Box(Generic[T]):
        def __init__(self, x: T) -> None:
            self.x = x

    U = TypeVar("U", bound=int)
    print([x.x for x in both(ray, Box[int](5))], both(ray, T)[1] is T, ray.get(ray.put(U)).__name__)
    for form in (
        list[int],
        dict[str, Any],
        int | None,
        typing.Callable[[int], str],
        Box[str],
    ):
        attempt("form", lambda form=form: [str(x) == str(form) for x in both(ray, form)])


@case
def typed_dictionaries_and_protocols(ray: Any) -> None:
    class Movie(typing.TypedDict):
        title: str

    class Named(typing.Protocol):
        name: str

    movie: Movie = {"title": "x"}
    print(both(ray, movie))
    print(ray.get(ray.remote(lambda t: t.__name__).remote(Movie)), ray.get(ray.put(Named)).__name__)


@case
def classes_made_here_stay_themselves(ray: Any) -> None:
    class Local:
        count = 0

    print([type(x) is Local for x in both(ray, Local())], both(ray, Local)[0] is Local)
    first = ray.get(ray.put(Local()))
    print(isinstance(first, Local))
    Local.count = 5
    print(ray.get(ray.remote(lambda c: c.count).remote(Local)))


@case
def subclasses_of_builtins(ray: Any) -> None:
    class Ints(int):
        pass

    class Texts(str):
        note = "n"

    class Keyed(dict):
        def __missing__(self, key: Any) -> Any:
            return f"no {key}"

    class Things(list):
        def __init__(self, *args: Any) -> None:
            super().__init__(*args)
            self.extra = 5

    class Frozen(frozenset):
        pass

    class Data(bytes):
        pass

    class Deep(collections.UserDict):
        pass

    for value in (
        Ints(3),
        Texts("x"),
        Keyed(a=1),
        Things([1, 2]),
        Frozen([1]),
        Data(b"x"),
        Deep(a=1),
        collections.ChainMap({1: 2}, {3: 4}),
    ):
        print(type(value).__name__, [(type(x).__name__, x == value) for x in both(ray, value)])
    print(both(ray, Keyed())[1]["zz"], both(ray, Things([1]))[1].extra, both(ray, Texts("x"))[0].note)


@case
def metaclasses(ray: Any) -> None:
    class Meta(type):
        registry: typing.ClassVar[list[str]] = []

        def __new__(mcs, name: str, bases: Any, body: Any, **kwargs: Any) -> Any:
            made = super().__new__(mcs, name, bases, body)
            made.tag = name.lower()
            return made

    class Thing(metaclass=Meta):
        pass

    print([x.tag for x in both(ray, Thing())], type(both(ray, Thing)[1]).__name__)
    print(ray.get(ray.remote(lambda t: (t.tag, type(t).__name__)).remote(Thing)))


@case
def descriptors_and_properties(ray: Any) -> None:
    class Ten:
        def __get__(self, instance: Any, owner: Any) -> int:
            return 10

    class User:
        ten = Ten()

        def __init__(self) -> None:
            self._x = 1

        @property
        def x(self) -> int:
            return self._x

        @x.setter
        def x(self, value: int) -> None:
            self._x = value

    back = ray.get(ray.remote(lambda u: (u.ten, u.x, setattr(u, "x", 9), u.x)).remote(User()))
    print(back)
