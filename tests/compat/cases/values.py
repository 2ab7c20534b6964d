"""Values that travel: what comes back equal, of the same type, with the same sharing, and what is refused."""

from __future__ import annotations

import collections
import dataclasses
import datetime
import decimal
import enum
import fractions
import math
import pathlib
import threading
import uuid
from typing import Any

from casebook import attempt, case


def show(value: Any) -> str:
    return f"{type(value).__name__} {value!r}"


def both_ways(ray: Any, values: list[Any]) -> None:
    """Prints each value as `get` of a `put`, and after a journey through a task and back."""
    remote_same = ray.remote(lambda x: x)
    for value in values:
        stored = ray.get(ray.put(value))
        passed = ray.get(remote_same.remote(value))
        print(show(stored), "|", "same" if show(stored) == show(passed) else show(passed))


@case
def numbers(ray: Any) -> None:
    both_ways(ray, [0, -1, 127, 128, 2**31, -(2**63), 2**63 - 1, 2**63, 2**64 - 1, 2**64, 10**40, True, False])
    both_ways(ray, [0.0, -0.0, 1.5, 1e308, math.inf, -math.inf, math.nan, 1 + 2j])


@case
def text_and_bytes(ray: Any) -> None:
    both_ways(ray, ["", "a", "ünï \U0001f600", "nul\0inside", "a" * 40, b"", b"\x00\xff"])
    both_ways(ray, ["\ud800 lone surrogate"])


@case
def bytearrays(ray: Any) -> None:
    back = ray.get(ray.put(bytearray(b"ab")))
    print(type(back).__name__, bytes(back))
    print(type(ray.get(ray.put([bytearray(b"ab")]))[0]).__name__)


@case
def containers(ray: Any) -> None:
    both_ways(ray, [None, [], (), {}, set(), [1, [2, (3,)]], (1, [2]), {"a": (1,)}, {1: 2, (3, 4): [5], None: 6}])
    both_ways(ray, [{3, 1, 2}, frozenset([1]), range(3), slice(1, 2), {"z": 1, "a": 2}, {True: "yes", 2.5: "no"}])
    both_ways(ray, [[(), [], {}], [None, True, 1, 1.0, "1", b"1"]])


@case
def standard_library(ray: Any) -> None:
    both_ways(
        ray,
        [
            datetime.datetime(2024, 2, 29, 12, 30, 15, 123456, tzinfo=datetime.timezone.utc),
            datetime.date(2024, 2, 29),
            datetime.timedelta(days=1, microseconds=1),
            decimal.Decimal("1.10"),
            fractions.Fraction(1, 3),
            uuid.UUID(int=5),
            pathlib.PurePosixPath("/a/b"),
            collections.OrderedDict([("b", 1), ("a", 2)]),
            collections.Counter("aab"),
            collections.deque([1, 2], maxlen=3),
            collections.defaultdict(list, {"a": [1]}),
        ],
    )


@case
def subclasses_of_plain_types(ray: Any) -> None:
    class Words(str):
        pass

    class Count(int):
        pass

    class Items(list):
        pass

    class Table(dict):
        pass

    for value in (Words("w"), Count(3), Items([1]), Table(a=1)):
        back = ray.get(ray.remote(lambda x: (type(x).__name__, x)).remote(value))
        print(back, type(ray.get(ray.put(value))).__name__)


@case
def own_types(ray: Any) -> None:
    @dataclasses.dataclass(frozen=True)
    class Point:
        x: int
        y: int = 2

    class Colour(enum.Enum):
        RED = 1

    class Slots:
        __slots__ = ("a",)

        def __init__(self) -> None:
            self.a = 5

    class Reduced:
        def __init__(self, x: int) -> None:
            self.x = x

        def __reduce__(self) -> Any:
            return (Reduced, (self.x + 1,))

    pair = collections.namedtuple("pair", "left right")
    look = ray.remote(lambda x: repr(x))
    print(ray.get(look.remote(Point(1))).rpartition(".")[2], ray.get(ray.put(Point(3))) == Point(3))
    print(ray.get(look.remote(Colour.RED)), ray.get(ray.put(Colour.RED)) == Colour.RED)
    print(ray.get(ray.put(Slots())).a, ray.get(ray.put(Reduced(1))).x)
    print(ray.get(look.remote(pair(1, 2))), type(ray.get(ray.put(pair(1, 2)))).__name__)


@case
def sharing_and_cycles(ray: Any) -> None:
    inner = [1]
    shared = ray.get(ray.put([inner, inner]))
    print("shared stays shared:", shared[0] is shared[1])
    cycle: list[Any] = [1]
    cycle.append(cycle)
    back = ray.get(ray.put(cycle))
    print("a cycle stays a cycle:", back[1] is back)
    first = ray.get(ray.put(inner))
    ref = ray.put(inner)
    print("each get copies:", first is inner, ray.get(ref) is ray.get(ref))


@case
def deep_nesting(ray: Any) -> None:
    value: list[Any] = []
    for _ in range(200):
        value = [value]
    depth = 0
    back = ray.get(ray.put(value))
    while back:
        back = back[0]
        depth += 1
    print(depth)


@case
def functions_and_classes(ray: Any) -> None:
    offset = 10

    def add(x: int) -> int:
        return x + offset

    class Local:
        kind = "local"

        def __init__(self, x: int) -> None:
            self.x = x

        def double(self) -> int:
            return 2 * self.x

    call = ray.remote(lambda function, *args: function(*args))
    print(ray.get(call.remote(add, 1)), ray.get(call.remote(lambda x: x * offset, 2)), ray.get(call.remote(len, "abc")))
    print(ray.get(call.remote(Local, 4)).double(), ray.get(call.remote(Local(5).double)))
    back = ray.get(ray.put(Local))
    print(back.kind, back(6).double())


@case
def modules_and_types(ray: Any) -> None:
    look = ray.remote(lambda x: getattr(x, "__name__", None))
    print(ray.get(look.remote(math)), ray.get(look.remote(int)), ray.get(look.remote(collections.OrderedDict)))


@case
def what_cannot_travel(ray: Any) -> None:
    lock = threading.Lock()
    use = ray.remote(lambda x: 1)
    attempt("put lock", lambda: ray.put(lock))
    attempt("argument", lambda: use.remote(lock))
    attempt("nested", lambda: use.remote({"a": [lock]}))
    attempt("generator", lambda: ray.put(i for i in range(3)))
    attempt("captured", lambda: ray.remote(lambda: lock).remote())
    attempt("returned", lambda: ray.get(ray.remote(lambda: threading.Lock()).remote()))


@case
def the_offending_part_is_named(ray: Any) -> None:
    class Holder:
        def __init__(self) -> None:
            self.guard = threading.Lock()

    holder = Holder()

    @ray.remote
    def captures() -> Any:
        return holder

    try:
        captures.remote()
    except TypeError as error:
        text = str(error)
        print("names the variable:", "holder" in text, "and the type:", "lock" in text)


@case
def failing_reducers(ray: Any) -> None:
    class Stubborn:
        def __reduce__(self) -> Any:
            raise ValueError("no")

    class Trap:
        def __reduce__(self) -> Any:
            return (int, ("x",))

    attempt("put", lambda: ray.put(Stubborn()))
    attempt("argument", lambda: ray.remote(lambda x: x).remote(Stubborn()))
    ref = ray.put(Trap())
    print(type(ref).__name__)
    try:
        ray.get(ref)
    except Exception as error:
        print("get fails:", isinstance(error, ray.exceptions.RayError))
