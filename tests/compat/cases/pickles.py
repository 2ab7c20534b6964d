"""Pickling at its edges: odd classes, old protocols, what refuses, and what it says then."""

from __future__ import annotations

import array
import collections
import contextvars
import copyreg
import datetime
import functools
import importlib
import io
import itertools
import logging
import operator
import pickle
import queue
import random
import re
import string
import sys
import threading
import types
import weakref
from typing import Any, NamedTuple, TypeVar

import numpy as np
from casebook import attempt, case

T = TypeVar("T")


def by_value(ray: Any) -> Any:
    """The cloudpickle that a runtime uses: Ray has a copy of its own."""
    return importlib.import_module("ray.cloudpickle" if ray.__name__ == "ray" else "cloudpickle")


def both(ray: Any, value: Any) -> Any:
    """The value after a put and a get, and after a task."""
    return ray.get(ray.put(value)), ray.get(ray.remote(lambda x: x).remote(value))


class Pair(NamedTuple):
    left: int
    right: Any = None


class FromModule:
    """A class of an imported module."""

    def __init__(self, x: int = 1) -> None:
        self.x = x

    def __eq__(self, other: object) -> bool:
        return isinstance(other, FromModule) and other.x == self.x

    __hash__ = None  # type: ignore[assignment]


@case
def a_global_reducer(ray: Any) -> None:
    class Point:
        def __init__(self, x: int) -> None:
            self.x = x

    def restore(x: int) -> Point:
        return Point(x + 100)

    copyreg.pickle(Point, lambda p: (restore, (p.x,)))
    print([x.x for x in both(ray, Point(1))])


@case
def registered_serializers(ray: Any) -> None:
    class Held:
        def __init__(self, x: int) -> None:
            self.x = x
            self.lock = threading.Lock()

    attempt("before", lambda: ray.put(Held(1)))
    ray.util.register_serializer(Held, serializer=lambda held: held.x, deserializer=lambda x: Held(x * 2))
    attempt("put", lambda: ray.get(ray.put(Held(1))).x)
    attempt("nested", lambda: ray.get(ray.put({"a": [Held(2)]}))["a"][0].x)
    attempt("argument", lambda: ray.get(ray.remote(lambda h: h.x).remote(Held(3))))
    attempt("result of a task", lambda: ray.get(ray.remote(lambda h: h).remote(Held(3))).x)
    ray.util.deregister_serializer(Held)
    attempt("after", lambda: ray.put(Held(1)))
    attempt("twice", lambda: ray.util.deregister_serializer(Held))


@case
def named_tuples(ray: Any) -> None:
    class Local(NamedTuple):
        a: int
        b: str = "z"

    print(both(ray, Pair(1))[0], [x.left for x in both(ray, Pair(1, [2]))])
    print([(type(x).__name__, x.b, x == (1, "z")) for x in both(ray, Local(1))])
    table = collections.namedtuple("table", "x y", defaults=[3])
    print([x._asdict() for x in both(ray, table(1))])
    print([[p.left for p in x] for x in both(ray, [Pair(1), Pair(2)])])


@case
def partials_and_operators(ray: Any) -> None:
    for value in (
        functools.partial(operator.add, 1),
        operator.itemgetter(0),
        operator.attrgetter("real"),
        operator.methodcaller("bit_length"),
        functools.partial(lambda a, b: a * b, b=3),
        functools.lru_cache(lambda x: x + 1),
        functools.partialmethod(print),
    ):
        attempt(type(value).__name__, lambda value=value: type(ray.get(ray.put(value))).__name__)
    print(
        ray.get(ray.put(functools.partial(operator.add, 1)))(2),
        ray.get(ray.remote(lambda f: f([7])).remote(operator.itemgetter(0))),
    )

    @functools.cache
    def slow(x: int) -> int:
        return x * 2

    attempt("cached", lambda: ray.get(ray.remote(lambda: slow(4)).remote()))
    attempt("single dispatch", lambda: ray.get(ray.put(functools.singledispatch(lambda x: x)))(3))
    attempt("cached property", lambda: type(ray.get(ray.put(functools.cached_property(lambda s: 1)))).__name__)


@case
def lambdas_in_odd_places(ray: Any) -> None:
    def f(x: Any, g: Any = lambda y: y * 2) -> Any:
        return g(x)

    class Holder:
        key = staticmethod(lambda x: x + 1)

        def __init__(self) -> None:
            self.call = lambda: self

    print(ray.get(ray.remote(f).remote(3)), ray.get(ray.put({"f": lambda: 7}))["f"]())
    back = ray.get(ray.put(Holder()))
    print(back.call() is back, back.key(1))
    table = {"a": lambda x: x, "b": [lambda x: -x]}
    print(ray.get(ray.remote(lambda t: t["a"](1) + t["b"][0](5)).remote(table)))
    print(sorted(ray.get(ray.put([3, 1])), key=ray.get(ray.put(lambda x: x))))


@case
def recursion_in_functions_and_data(ray: Any) -> None:
    def fib(n: int) -> int:
        return n if n < 2 else fib(n - 1) + fib(n - 2)

    def even(n: int) -> bool:
        return n == 0 or odd(n - 1)

    def odd(n: int) -> bool:
        return n != 0 and even(n - 1)

    class Node:
        def __init__(self, value: int) -> None:
            self.value, self.next, self.me = value, None, self

    node = Node(1)
    node.next = Node(2)  # type: ignore[assignment]
    node.next.next = node  # type: ignore[attr-defined]
    print(ray.get(ray.remote(fib).remote(10)), ray.get(ray.put(even))(10))
    for back in both(ray, node):
        print(back.next.next is back, back.me is back, back.next.value)
    table: dict[str, Any] = {}
    table["self"] = table
    back = ray.get(ray.put(table))
    print(back["self"] is back)
    pair: Any = ([],)
    pair[0].append(pair)
    back = ray.get(ray.put(pair))
    print(back[0][0] is back)


@case
def too_deep(ray: Any) -> None:
    value: Any = None
    for _ in range(50_000):
        value = [value]
    try:
        ray.put(value)
        print("put")
    except Exception as error:
        print(type(error).__name__ in ("RecursionError", "TypeError", "PicklingError"))
    while value is not None:
        value = value[0]


@case
def closures_over_modules(ray: Any) -> None:
    import json
    import os.path

    import numpy.linalg as linalg

    def f(x: Any) -> Any:
        return json.dumps(os.path.basename(x)), float(linalg.norm([3, 4])), np.int64(3).item(), string.digits

    print(ray.get(ray.remote(f).remote("/a/b")))
    print(ray.get(ray.put(json)).__name__, ray.get(ray.put({"m": string}))["m"].digits)
    made = types.ModuleType("made")
    made.x = 5  # type: ignore[attr-defined]
    attempt("a module made here", lambda: ray.get(ray.put(made)).x)


@case
def what_has_no_pickle(ray: Any) -> None:
    class Weak:
        pass

    weak = Weak()
    items: list[tuple[str, Any]] = [
        ("lock", threading.Lock()),
        ("rlock", threading.RLock()),
        ("condition", threading.Condition()),
        ("event", threading.Event()),
        ("thread", threading.Thread()),
        ("file", open(__file__)),
        ("generator", (i for i in range(2))),
        ("weakref", weakref.ref(weak)),
        ("weak dict", weakref.WeakValueDictionary()),
        ("weak set", weakref.WeakSet()),
        ("local", threading.local()),
        ("frame", sys._getframe()),
        ("code", (lambda: 1).__code__),
        ("queue", queue.Queue()),
        ("contextvar", contextvars.ContextVar("x")),
        ("context", contextvars.copy_context()),
        ("memoryview", memoryview(b"x")),
        ("iterator", iter([1, 2])),
        ("map", map(str, [1])),
        ("zip", zip([1], [2], strict=False)),
        ("enumerate", enumerate("ab")),
        ("count", itertools.count(3)),
        ("reversed", reversed([1])),
        ("dict keys", {1: 2}.keys()),
        ("dict items", {1: 2}.items()),
        ("dict values", {1: 2}.values()),
        ("filter", filter(None, [1])),
        ("chain", itertools.chain([1])),
        ("regex", re.compile("a")),
        ("match", re.match("a", "a")),
        ("bytesio", io.BytesIO(b"ab")),
        ("stringio", io.StringIO("ab")),
        ("logger", logging.getLogger("x")),
        ("random", random.Random(3)),
        ("array", array.array("i", [1, 2])),
        ("mapping proxy", types.MappingProxyType({1: 2})),
        ("namespace", types.SimpleNamespace(a=1)),
        ("ellipsis", ...),
        ("not implemented", NotImplemented),
        ("type", type),
        ("property", property(lambda s: 1)),
        ("classmethod", classmethod(lambda c: 1)),
        ("cell", types.CellType(3)),
        ("stdout", sys.stdout),
        ("module spec", sys.modules["json"].__spec__ if "json" in sys.modules else None),
        ("method descriptor", str.upper),
        ("bound builtin", [1].append),
        ("slot", object.__init__),
        ("getset", type.__dict__["__dict__"]),
        ("zoneinfo", datetime.timezone.utc),
        ("numpy generator", np.random.default_rng(3)),
        ("numpy dtype", np.dtype("f4")),
        ("ufunc", np.add),
        ("super", super(Weak, weak)),
        ("range iterator", iter(range(3))),
    ]
    for label, value in items:
        attempt(label, lambda value=value: type(ray.get(ray.put(value))).__name__)


async def _coroutine() -> None: ...


@case
def what_it_says_of_what_has_no_pickle(ray: Any) -> None:
    def text(call: Any) -> str:
        try:
            call()
        except TypeError as error:
            return str(error)
        return ""

    lock = threading.Lock()
    use = ray.remote(lambda x: 1)
    print("cannot pickle '_thread.lock' object" in text(lambda: ray.put(lock)))
    print("cannot pickle 'generator' object" in text(lambda: ray.put(i for i in [1])))
    print("cannot pickle '_thread.lock' object" in text(lambda: use.remote({"a": lock})))
    print("cannot pickle '_thread.lock' object" in text(lambda: ray.remote(lambda: lock).remote()))
    coroutine = _coroutine()
    print("cannot pickle 'coroutine' object" in text(lambda: ray.put(coroutine)))
    coroutine.close()


@case
def old_protocols(ray: Any) -> None:
    cloudpickle = by_value(ray)
    for protocol in range(pickle.HIGHEST_PROTOCOL + 1):
        data = pickle.dumps({"a": FromModule(3), "b": [np.arange(3)]}, protocol)
        back = ray.get(ray.remote(lambda d: pickle.loads(d)["b"][0].tolist()).remote(data))
        print(protocol, back, pickle.loads(ray.get(ray.put(data)))["a"] == FromModule(3))
    print(ray.get(ray.remote(lambda d: cloudpickle.loads(d)(4)).remote(cloudpickle.dumps(lambda x: x * 2))))

    class Local:
        x = 7

    made = ray.get(ray.remote(lambda d: type(pickle.loads(d)).x).remote(cloudpickle.dumps(Local())))
    print(made, pickle.loads(ray.get(ray.remote(lambda: cloudpickle.dumps(Local)).remote())).x)


@case
def classes_of_modules_stay_themselves(ray: Any) -> None:
    print([type(x) is FromModule for x in both(ray, FromModule())])
    print(ray.get(ray.remote(lambda x: type(x).__module__.rpartition(".")[2]).remote(FromModule())))
    print(both(ray, FromModule)[1] is FromModule)


@case
def by_value_when_asked(ray: Any) -> None:
    cloudpickle = by_value(ray)
    module = types.ModuleType("made_by_a_case")
    exec("def f():\n    return 11\nclass K:\n    y = 12\n", module.__dict__)
    sys.modules["made_by_a_case"] = module
    cloudpickle.register_pickle_by_value(module)
    try:
        attempt("function", lambda: ray.get(ray.remote(module.f).remote()))
        attempt("class", lambda: ray.get(ray.remote(lambda k: k.y).remote(module.K)))
        attempt("instance", lambda: ray.get(ray.remote(lambda k: type(k).y).remote(module.K())))
    finally:
        cloudpickle.unregister_pickle_by_value(module)
        del sys.modules["made_by_a_case"]


@case
def exceptions_as_values(ray: Any) -> None:
    class Odd(Exception):
        def __init__(self, a: int, b: int) -> None:
            super().__init__(f"{a}-{b}")

    for error in (ValueError("v"), KeyError("k"), OSError(2, "no", "f"), StopIteration(4), SystemExit(3)):
        print([repr(x) for x in both(ray, error)])
    attempt("put of one that cannot be rebuilt", lambda: type(ray.put(Odd(1, 2))).__name__)
    attempt("get of it", lambda: type(ray.get(ray.put(Odd(1, 2)))).__name__)
    with_cause = ValueError("outer")
    with_cause.__cause__ = KeyError("inner")
    print(repr(ray.get(ray.put(with_cause)).__cause__))


@case
def reducers_that_fail(ray: Any) -> None:
    class Raises:
        def __getstate__(self) -> Any:
            raise RuntimeError("will not")

    class RaisesLater:
        def __setstate__(self, state: Any) -> None:
            raise RuntimeError("cannot be rebuilt")

        def __getstate__(self) -> Any:
            return {"a": 1}

    class Wrong:
        def __reduce__(self) -> Any:
            return 5

    class Strange:
        def __reduce__(self) -> Any:
            raise KeyError("strange")

    attempt("raises", lambda: ray.put(Raises()))
    attempt("raises later", lambda: ray.get(ray.put(RaisesLater())))
    attempt("wrong", lambda: ray.put(Wrong()))
    attempt("strange", lambda: ray.put(Strange()))
    attempt("argument raises later", lambda: ray.get(ray.remote(lambda x: 1).remote(RaisesLater())))
    attempt("result raises", lambda: ray.get(ray.remote(lambda: Raises()).remote()))
    attempt("result raises later", lambda: ray.get(ray.remote(lambda: RaisesLater()).remote()))
    attempt("result wrong", lambda: ray.get(ray.remote(lambda: Wrong()).remote()))
    try:
        ray.get(ray.remote(lambda x: 1).remote(RaisesLater()))
    except Exception as error:
        print("cannot be rebuilt" in str(error), isinstance(error, ray.exceptions.RayError))


@case
def results_that_cannot_travel(ray: Any) -> None:
    for label, make in {
        "lock": lambda: threading.Lock(),
        "generator in a list": lambda: [i for i in range(1)] + [(j for j in [1])],
        "module": lambda: string,
        "open file": lambda: open("/dev/null"),
    }.items():
        attempt(label, lambda make=make: type(ray.get(ray.remote(make).remote())).__name__)
    two = ray.remote(num_returns=2)(lambda: (1, threading.Lock())).remote()
    attempt("the good one of two", lambda: ray.get(two[0]))
    attempt("the bad one of two", lambda: ray.get(two[1]))

    @ray.remote
    class A:
        def bad(self) -> Any:
            return threading.Lock()

        def good(self) -> int:
            return 1

    actor = A.remote()
    attempt("method", lambda: ray.get(actor.bad.remote()))
    attempt("the actor lives", lambda: ray.get(actor.good.remote()))


@case
def what_is_inspected(ray: Any) -> None:
    from importlib import import_module

    inspect = import_module(f"{ray.__name__}.util").inspect_serializability
    stream = io.StringIO()
    lock = threading.Lock()

    def uses() -> Any:
        return lock

    ok, failures = inspect(uses, name="uses", print_file=stream)
    print(ok, len(failures) >= 1, sorted({type(f.obj).__name__ for f in failures}))
    print(inspect({"a": 1}, print_file=stream)[0], "uses" in stream.getvalue())
