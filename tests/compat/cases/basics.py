"""Small programs on the first pages of every manual: signatures, results, decorators, options."""

from __future__ import annotations

import collections
import functools
import inspect
import threading
import time
from typing import Any

import numpy as np
from casebook import accepts, attempt, case


def text_of(call: Any) -> str:
    try:
        call()
    except Exception as error:
        return str(error)
    return "nothing was raised"


@case
def keywords_and_defaults(ray: Any) -> None:
    def f(a: Any, b: Any = 2, *, c: Any = 3) -> Any:
        return a, b, c

    r = ray.remote(f)
    print(ray.get(r.remote(1)), ray.get(r.remote(1, b=5)), ray.get(r.remote(c=1, a=2)))
    for label, call in {
        "missing": lambda: r.remote(),
        "too many": lambda: r.remote(1, 2, 3),
        "unknown": lambda: r.remote(1, d=4),
        "twice": lambda: r.remote(1, a=2),
    }.items():
        attempt(label, call)


@case
def texts_of_wrong_arguments(ray: Any) -> None:
    r = ray.remote(lambda a, b=2: a)
    print("missing a required argument: 'a'" in text_of(lambda: r.remote()))
    print("too many positional arguments" in text_of(lambda: r.remote(1, 2, 3)))
    print("got an unexpected keyword argument 'zz'" in text_of(lambda: r.remote(1, zz=3)))
    print("multiple values for argument 'a'" in text_of(lambda: r.remote(1, a=3)))


@case
def stars(ray: Any) -> None:
    def f(*args: Any, **kwargs: Any) -> Any:
        return args, sorted(kwargs.items())

    r = ray.remote(f)
    print(ray.get(r.remote()), ray.get(r.remote(1, 2, x=3)), ray.get(r.remote(*range(10), **{"k": 1})))
    named = ray.remote(lambda first, *rest, last=0: (first, rest, last))
    print(ray.get(named.remote(1, 2, 3)), ray.get(named.remote(1, last=9)))
    many = ray.remote(lambda *xs: sum(xs))
    print(ray.get(many.remote(*range(300))), ray.get(many.remote(*[ray.put(i) for i in range(50)])))


@case
def stars_of_an_actor(ray: Any) -> None:
    @ray.remote
    class Holder:
        def __init__(self, *args: Any, **kwargs: Any) -> None:
            self.args, self.kwargs = args, kwargs

        def both(self, *args: Any, **kwargs: Any) -> Any:
            return self.args + args, sorted({**self.kwargs, **kwargs}.items())

    print(ray.get(Holder.remote(1, a=2).both.remote(3, b=4)))
    attempt("unknown", lambda: Holder.remote(x=1).missing.remote())

    @ray.remote
    class Strict:
        def __init__(self, a: int) -> None:
            self.a = a

        def add(self, b: int) -> int:
            return self.a + b

    attempt("constructor without", lambda: Strict.remote())
    attempt("constructor with too many", lambda: Strict.remote(1, 2))
    attempt("method without", lambda: Strict.remote(1).add.remote())
    attempt("method with too many", lambda: Strict.remote(1).add.remote(1, 2))


@case
def positional_only_parameters(ray: Any) -> None:
    def f(a: int, /, b: int) -> Any:
        return a, b

    r = ray.remote(f)
    print(ray.get(r.remote(1, 2)), ray.get(r.remote(1, b=2)))
    attempt("by name", lambda: r.remote(a=1, b=2))


@case
def a_parameter_called_self(ray: Any) -> None:
    def f(self: Any, cls: Any = 2, args: Any = 3, kwargs: Any = 4) -> Any:
        return self, cls, args, kwargs

    r = ray.remote(f)
    print(ray.get(r.remote(1)), ray.get(r.remote(self=5, kwargs=6)))


@case
def names_and_documents(ray: Any) -> None:
    @ray.remote
    def documented(x: int) -> int:
        """What it does."""
        return x

    @ray.remote
    class Documented:
        """What it is."""

        def m(self) -> None:
            """What m does."""

    print(type(documented).__name__, type(Documented).__name__.startswith("ActorClass"))
    print(inspect.signature(documented._function))


@case
def zero_and_many_results(ray: Any) -> None:
    none = ray.remote(num_returns=0)(lambda: None)
    two = ray.remote(num_returns=2)(lambda: (1, 2))
    print(none.remote(), len(two.remote()))
    print(ray.get(two.options(num_returns=1).remote()), ray.get(two.remote()))
    attempt("get(None)", lambda: ray.get(none.remote()))
    a, b = ray.remote(num_returns=2)(lambda: [3, 4]).remote()
    print(ray.get(b), ray.get(a))
    print([ray.get(x) for x in ray.remote(num_returns=3)(lambda: np.arange(3)).remote()])
    attempt("a set", lambda: [ray.get(x) for x in ray.remote(num_returns=1)(lambda: {1}).remote()])
    attempt("text", lambda: ray.get(ray.remote(num_returns=2)(lambda: "ab").remote()))
    attempt("a dict", lambda: ray.get(ray.remote(num_returns=2)(lambda: {1: 2, 3: 4}).remote()))


@case
def texts_of_wrong_numbers_of_results(ray: Any) -> None:
    refs = ray.remote(num_returns=3)(lambda: (1, 2)).remote()
    text = text_of(lambda: ray.get(refs[0]))
    print("num_returns=3" in text or "3" in text, "2" in text)
    refs = ray.remote(num_returns=2)(lambda: 7).remote()
    try:
        ray.get(refs)
    except Exception as error:
        print(type(error).__name__)


@case
def options_in_a_row(ray: Any) -> None:
    f = ray.remote(num_cpus=0.5)(lambda: ray.get_runtime_context().get_assigned_resources())
    print(ray.get(f.remote()), ray.get(f.options(num_cpus=2).remote()), ray.get(f.remote()))
    once = f.options(num_cpus=1)
    print(ray.get([once.remote(), f.options(num_cpus=0).remote()]))
    print(ray.get(f.options(num_cpus=0).remote()))


@case
def a_decorator_below_and_above(ray: Any) -> None:
    def plus_one(function: Any) -> Any:
        @functools.wraps(function)
        def inner(*args: Any, **kwargs: Any) -> Any:
            return function(*args, **kwargs) + 1

        return inner

    @ray.remote
    @plus_one
    def f(x: int) -> int:
        return x * 10

    print(ray.get(f.remote(2)))
    attempt("unknown argument", lambda: f.remote(1, 2))


@case
def partials_and_callables(ray: Any) -> None:
    def f(a: int, b: int) -> int:
        return a - b

    class Callable_:
        def __call__(self) -> int:
            return 1

    attempt("partial", lambda: ray.get(ray.remote(functools.partial(f, 5)).remote(3)))
    attempt("builtin", lambda: ray.get(ray.remote(len).remote([1, 2])))
    attempt("an object that can be called", lambda: ray.get(ray.remote(Callable_()).remote()))
    attempt("a number", lambda: ray.remote(5))
    attempt("a method", lambda: ray.get(ray.remote(Callable_().__call__).remote()))
    attempt("numpy", lambda: ray.get(ray.remote(np.sum).remote([1, 2])))
    attempt("a class method", lambda: ray.get(ray.remote(collections.OrderedDict.fromkeys).remote("ab")))
    attempt("a lambda", lambda: ray.get(ray.remote(lambda: 1).remote()))
    attempt("a position", lambda: ray.remote(1, 2))
    attempt("nothing", lambda: ray.remote())


@case
def options_that_are_refused(ray: Any) -> None:
    f = lambda: 1  # noqa: E731
    for name, value in [
        ("num_returns", -1),
        ("num_returns", "many"),
        ("num_returns", 1.5),
        ("num_cpus", -1),
        ("num_cpus", "1"),
        ("num_gpus", -0.5),
        ("num_gpus", 1.5),
        ("max_calls", -1),
        ("max_retries", -2),
        ("max_retries", "x"),
        ("max_retries", 1.5),
        ("retry_exceptions", "x"),
        ("retry_exceptions", [5]),
        ("resources", {"CPU": 1}),
        ("resources", {"GPU": 1}),
        ("resources", [1]),
        ("resources", {"a": -1}),
        ("resources", {"a": 1.5}),
        ("resources", {"a": 0.5}),
        ("memory", -1),
        ("memory", 0),
        ("name", 5),
        ("scheduling_strategy", "SPREAD"),
        ("scheduling_strategy", 5),
        ("max_restarts", 1),
        ("lifetime", "detached"),
        ("runtime_env", {}),
        ("runtime_env", 5),
        ("accelerator_type", 5),
        ("num_cpus", None),
        ("num_returns", None),
        ("max_retries", None),
        ("unknown", 1),
        ("label_selector", 5),
        ("_metadata", {}),
        ("enable_task_events", False),
        ("enable_task_events", 1),
        ("num_cpus", True),
        ("max_calls", None),
        ("max_calls", 2.5),
        ("num_cpus", float("nan")),
    ]:
        accepts(f"{name}={value!r}", lambda name=name, value=value: ray.remote(**{name: value})(f))


@case
def options_of_actors_that_are_refused(ray: Any) -> None:
    class A:
        pass

    for name, value in [
        ("max_restarts", -1),
        ("max_restarts", -2),
        ("max_restarts", "x"),
        ("max_task_retries", -1),
        ("max_task_retries", -2),
        ("max_concurrency", 0),
        ("max_concurrency", -1),
        ("max_concurrency", 1.5),
        ("max_concurrency", None),
        ("max_pending_calls", -1),
        ("max_pending_calls", 0),
        ("max_pending_calls", -2),
        ("lifetime", "other"),
        ("lifetime", "non_detached"),
        ("lifetime", None),
        ("name", ""),
        ("name", 5),
        ("namespace", 5),
        ("get_if_exists", "yes"),
        ("num_returns", 1),
        ("max_retries", 1),
        ("max_calls", 1),
        ("retry_exceptions", True),
        ("concurrency_groups", {}),
        ("concurrency_groups", {"a": 1}),
        ("num_cpus", 0),
        ("num_cpus", -1),
        ("num_gpus", 0.5),
        ("num_gpus", 1.5),
        ("resources", {"CPU": 1}),
        ("memory", 1.5),
        ("runtime_env", None),
        ("scheduling_strategy", None),
        ("scheduling_strategy", "DEFAULT"),
        ("allow_out_of_order_execution", True),
        ("unknown", 1),
    ]:
        accepts(f"{name}={value!r}", lambda name=name, value=value: ray.remote(**{name: value})(A))


@case
def options_later_that_are_refused(ray: Any) -> None:
    f = ray.remote(lambda: 1)
    for name, value in [
        ("num_returns", -1),
        ("num_cpus", -1),
        ("max_calls", 1),
        ("max_retries", -5),
        ("resources", {"CPU": 1}),
        ("name", 5),
        ("lifetime", "detached"),
        ("unknown", 1),
        ("num_cpus", None),
        ("num_gpus", 1.5),
    ]:
        accepts(f"{name}={value!r}", lambda name=name, value=value: f.options(**{name: value}))


@case
def texts_of_refused_options(ray: Any) -> None:
    f = lambda: 1  # noqa: E731
    for name, value in [
        ("num_returns", -1),
        ("max_retries", -2),
        ("num_cpus", "a"),
        ("resources", {"CPU": 1}),
        ("nothing", 1),
        ("max_calls", "a"),
    ]:
        text = text_of(lambda name=name, value=value: ray.remote(**{name: value})(f))
        print(name, name in text or "CPU" in text)
    print(
        "Use the 'num_cpus' and 'num_gpus' keyword instead of 'CPU' and 'GPU' in 'resources' keyword"
        in text_of(lambda: ray.remote(resources={"CPU": 1})(f))
        or "num_cpus" in text_of(lambda: ray.remote(resources={"CPU": 1})(f))
    )


@case
def calls_without_remote(ray: Any) -> None:
    f = ray.remote(lambda: 1)
    attempt("function", lambda: f())
    text = text_of(lambda: f())
    print("cannot be called directly" in text, ".remote()" in text)


@case
def chains_of_calls(ray: Any) -> None:
    f = ray.remote(lambda x: x + 1)
    x = 0
    for _ in range(100):
        x = f.remote(x)
    print(ray.get(x))


@case
def a_tree_of_calls(ray: Any) -> None:
    add = ray.remote(lambda a, b: a + b)
    values = [ray.put(i) for i in range(32)]
    while len(values) > 1:
        values = [add.remote(values[i], values[i + 1]) for i in range(0, len(values), 2)]
    print(ray.get(values[0]))


@case
def duplicate_arguments(ray: Any) -> None:
    same = ray.remote(lambda a, b, c: (a is b, a == c))
    array = np.zeros(200_000)
    ref = ray.put(array)
    flat = ray.remote(lambda a, b: a is b)
    print(ray.get(flat.remote([1], [1])), ray.get(same.remote("x", "x", "x")))
    box = [1]
    print("one list twice:", ray.get(flat.remote(box, box)), "one reference twice:", ray.get(flat.remote(ref, ref)))


@case
def redefined_functions(ray: Any) -> None:
    @ray.remote
    def f() -> int:
        return 1

    first = f.remote()

    @ray.remote
    def f() -> int:  # type: ignore[no-redef]
        return 2

    print(ray.get([first, f.remote()]))
    functions = [ray.remote(lambda i=i: i) for i in range(5)]
    print(ray.get([g.remote() for g in functions]))


@case
def functions_of_functions(ray: Any) -> None:
    @ray.remote
    def outer(n: int) -> Any:
        @ray.remote
        def inner(x: int) -> int:
            return x * n

        return ray.get([inner.remote(i) for i in range(3)])

    print(ray.get([outer.remote(i) for i in range(3)]))
    make = ray.remote(lambda: ray.remote(lambda: 9))
    print(ray.get(ray.get(make.remote()).remote()))


@case
def time_limits_of_get(ray: Any) -> None:
    slow = ray.remote(lambda: time.sleep(1.0))
    ref = slow.remote()
    attempt("short", lambda: ray.get(ref, timeout=0.05))
    attempt("zero", lambda: ray.get(ref, timeout=0))
    attempt("list", lambda: ray.get([ref], timeout=0.05))
    attempt("none", lambda: ray.get(ref, timeout=None))
    attempt("ready", lambda: ray.get(ref, timeout=0))


@case
def what_get_takes(ray: Any) -> None:
    ref = ray.put(1)
    for label, value in {
        "tuple": (ref, ref),
        "set": {ref},
        "dict": {1: ref},
        "nested": [[ref]],
        "number": 5,
        "none": None,
        "empty": [],
        "mixed": [ref, 1],
        "generator": (r for r in [ref]),
        "string": "x",
        "empty tuple": (),
    }.items():
        attempt(label, lambda value=value: ray.get(value))


@case
def what_wait_takes(ray: Any) -> None:
    ref, other = ray.put(1), ray.put(2)
    for label, call in {
        "one": lambda: ray.wait(ref),
        "tuple": lambda: len(ray.wait((ref,))),
        "twice": lambda: ray.wait([ref, ref]),
        "none": lambda: ray.wait([]),
        "zero": lambda: ray.wait([ref], num_returns=0),
        "many": lambda: ray.wait([ref], num_returns=2),
        "negative time": lambda: ray.wait([ref], timeout=-1),
        "numbers": lambda: ray.wait([1]),
        "None": lambda: ray.wait(None),
        "text for time": lambda: ray.wait([ref], timeout="a"),
        "set": lambda: len(ray.wait({ref, other})),
        "zero time": lambda: len(ray.wait([ref], timeout=0)[0]),
        "dict": lambda: ray.wait({1: ref}),
        "negative": lambda: ray.wait([ref], num_returns=-1),
    }.items():
        attempt(label, call)


@case
def what_put_takes(ray: Any) -> None:
    ref = ray.put(1)
    attempt("a reference", lambda: ray.put(ref))
    attempt("a list of references", lambda: ray.get(ray.get(ray.put([ref]))[0]))
    attempt("nothing", lambda: ray.put())
    attempt("none", lambda: ray.get(ray.put(None)))
    attempt("an owner that is no actor", lambda: ray.put(1, _owner=5))


@case
def what_cancel_and_kill_take(ray: Any) -> None:
    attempt("cancel a number", lambda: ray.cancel(5))
    attempt("kill a reference", lambda: ray.kill(ray.put(1)))
    attempt("kill a number", lambda: ray.kill(5))
    attempt("cancel a put", lambda: ray.cancel(ray.put(1)))
    attempt("kill None", lambda: ray.kill(None))
    attempt("cancel None", lambda: ray.cancel(None))


@case
def threads_of_the_driver(ray: Any) -> None:
    f = ray.remote(lambda i: i)
    found: list[int] = []

    def work(i: int) -> None:
        found.extend(ray.get([f.remote(i * 10 + k) for k in range(10)]))

    threads = [threading.Thread(target=work, args=(i,)) for i in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    print(sorted(found) == list(range(80)))


@case
def a_global_that_changes(ray: Any) -> None:
    state = {"n": 0}

    @ray.remote
    def bump() -> int:
        state["n"] += 1
        return state["n"]

    print(ray.get(bump.remote()), state)


@case
def large_and_small_mixed(ray: Any) -> None:
    f = ray.remote(lambda *xs: [type(x).__name__ if not hasattr(x, "nbytes") else x.nbytes for x in xs])
    print(ray.get(f.remote(1, np.zeros(10), np.zeros(100_000), "x" * 10, b"y" * 200_000, [np.ones(3)])))


@case
def none_everywhere(ray: Any) -> None:
    f = ray.remote(lambda x=None: x)
    print(ray.get(f.remote()), ray.get(f.remote(None)), ray.get([f.remote(), ray.put(None)]))
    print(ray.get(ray.remote(num_returns=2)(lambda: (None, None)).remote()))
