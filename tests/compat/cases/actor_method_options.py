"""The options of methods: in the decorator ``method`` and in ``options`` of a call."""

from __future__ import annotations

import importlib
from typing import Any

from casebook import accepts, attempt, case


def decorate(ray: Any, **options: Any) -> Any:
    def function(self: Any) -> int:
        return 1

    return ray.method(**options)(function)


def decorate_generator(ray: Any, **options: Any) -> Any:
    def function(self: Any) -> Any:
        yield 1

    return ray.method(**options)(function)


def simple(ray: Any) -> Any:
    @ray.remote
    class Actor:
        def one(self) -> int:
            return 1

        def pair(self) -> Any:
            return 1, 2

        def items(self) -> Any:
            yield 1
            yield 2

    return Actor.remote()


@case
def the_decorators_names(ray: Any) -> None:
    for name in (
        "num_returns",
        "concurrency_group",
        "max_task_retries",
        "retry_exceptions",
        "enable_task_events",
        "_generator_backpressure_num_objects",
        "name",
        "max_retries",
        "num_cpus",
        "runtime_env",
    ):
        accepts(name, lambda name=name: decorate(ray, **{name: None}))


@case
def the_decorator_without_parentheses(ray: Any) -> None:
    @ray.remote
    class Actor:
        @ray.method
        def one(self) -> int:
            return 1

        @ray.method()
        def two(self) -> int:
            return 2

    actor = Actor.remote()
    print(ray.get([actor.one.remote(), actor.two.remote()], timeout=30))


@case
def the_decorator_with_a_positional_argument(ray: Any) -> None:
    accepts("a number", lambda: ray.method(2))
    accepts("two", lambda: ray.method(2, 3))
    accepts("a function and a keyword", lambda: ray.method(lambda self: 1, num_returns=1))


@case
def numbers_of_results_in_the_decorator(ray: Any) -> None:
    for value in (0, 1, 3, None, -1, 1.5, "streaming", "dynamic", "other"):
        accepts(f"function {value!r}", lambda value=value: decorate(ray, num_returns=value))
    for value in (0, 1, 3, None, -1, 1.5, "streaming", "dynamic", "other"):
        accepts(f"generator {value!r}", lambda value=value: decorate_generator(ray, num_returns=value))


@case
def numbers_of_results_of_a_call(ray: Any) -> None:
    actor = simple(ray)
    attempt("2", lambda: ray.get(actor.pair.options(num_returns=2).remote(), timeout=30))
    attempt("3", lambda: ray.get(actor.pair.options(num_returns=3).remote(), timeout=30))
    accepts("-1", lambda: actor.one.options(num_returns=-1).remote())
    accepts("1.5", lambda: actor.one.options(num_returns=1.5).remote())
    accepts("other", lambda: actor.one.options(num_returns="other").remote())
    accepts("streaming", lambda: actor.one.options(num_returns="streaming").remote())
    attempt("items", lambda: [ray.get(ref) for ref in actor.items.options(num_returns="streaming").remote()])
    attempt("two of a generator", lambda: ray.get(actor.items.options(num_returns=2).remote(), timeout=30))
    attempt("none", lambda: ray.get(actor.one.options(num_returns=None).remote(), timeout=30))


@case
def no_result_at_all(ray: Any) -> None:
    actor = simple(ray)
    print(actor.one.options(num_returns=0).remote())


@case
def retries_in_the_decorator(ray: Any) -> None:
    for value in (0, 3, -1, -2, 1.5, "3", None):
        accepts(f"max_task_retries {value!r}", lambda value=value: decorate(ray, max_task_retries=value))
    for value in (True, False, [ValueError], (ValueError,), ValueError, "x", None, [1]):
        shown = str(value).replace("<class '", "").replace("'>", "")
        accepts(f"retry_exceptions {shown}", lambda value=value: decorate(ray, retry_exceptions=value))


@case
def retries_of_a_call(ray: Any) -> None:
    actor = simple(ray)
    for value in (0, 3, -1, -2, 1.5, "3", None):
        accepts(
            f"max_task_retries {value!r}",
            lambda value=value: ray.get(actor.one.options(max_task_retries=value).remote(), timeout=30),
        )
    for value in (True, False, [ValueError], (ValueError,), ValueError, "x", None, [1]):
        shown = str(value).replace("<class '", "").replace("'>", "")
        accepts(
            f"retry_exceptions {shown}",
            lambda value=value: ray.get(actor.one.options(retry_exceptions=value).remote(), timeout=30),
        )


@case
def retries_in_the_decorator_are_done(ray: Any) -> None:
    @ray.remote
    class Actor:
        def __init__(self) -> None:
            self.tries = 0

        @ray.method(max_task_retries=3, retry_exceptions=[KeyError])
        def work(self) -> int:
            self.tries += 1
            if self.tries < 3:
                raise KeyError(self.tries)
            return self.tries

        @ray.method(max_task_retries=3, retry_exceptions=[KeyError])
        def other(self) -> int:
            self.tries += 1
            raise ValueError(self.tries)

        def count(self) -> int:
            return self.tries

    actor = Actor.remote()
    attempt("work", lambda: ray.get(actor.work.remote(), timeout=30))
    attempt("other", lambda: ray.get(actor.other.remote(), timeout=30))
    print(ray.get(actor.count.remote(), timeout=30))


@case
def retries_of_a_call_win(ray: Any) -> None:
    @ray.remote
    class Actor:
        def __init__(self) -> None:
            self.tries = 0

        @ray.method(max_task_retries=3, retry_exceptions=True)
        def work(self) -> int:
            self.tries += 1
            raise KeyError(self.tries)

        def count(self) -> int:
            tries, self.tries = self.tries, 0
            return tries

    actor = Actor.remote()
    attempt("decorator", lambda: ray.get(actor.work.remote(), timeout=30))
    print(ray.get(actor.count.remote(), timeout=30))
    attempt("one retry", lambda: ray.get(actor.work.options(max_task_retries=1).remote(), timeout=30))
    print(ray.get(actor.count.remote(), timeout=30))
    attempt("no exceptions", lambda: ray.get(actor.work.options(retry_exceptions=False).remote(), timeout=30))
    print(ray.get(actor.count.remote(), timeout=30))


@case
def the_name_of_a_call(ray: Any) -> None:
    @ray.remote
    class Actor:
        def name(self) -> Any:
            return ray.get_runtime_context().get_task_name()

    actor = Actor.remote()
    print(ray.get(actor.name.remote(), timeout=30))
    print(ray.get(actor.name.options(name="given").remote(), timeout=30))
    print(ray.get(actor.name.remote(), timeout=30))


@case
def names_of_the_wrong_type(ray: Any) -> None:
    actor = simple(ray)
    accepts("a number", lambda: ray.get(actor.one.options(name=5).remote(), timeout=30))
    accepts("empty", lambda: ray.get(actor.one.options(name="").remote(), timeout=30))


@case
def unknown_options_of_a_call(ray: Any) -> None:
    actor = simple(ray)
    for name in ("num_cpus", "runtime_env", "max_retries", "nothing"):
        accepts(name, lambda name=name: actor.one.options(**{name: 1}).remote())


@case
def transports_of_tensors(ray: Any) -> None:
    accepts("unknown", lambda: decorate(ray, tensor_transport="carrier pigeon"))


@case
def items_ahead_in_the_decorator(ray: Any) -> None:
    @ray.remote
    class Actor:
        def __init__(self) -> None:
            self.made = 0

        @ray.method(_generator_backpressure_num_objects=1)
        def items(self) -> Any:
            for i in range(4):
                self.made += 1
                yield i

    actor = Actor.remote()
    print([ray.get(ref) for ref in actor.items.remote()])
    accepts("a call", lambda: list(actor.items.options(_generator_backpressure_num_objects=2).remote()))


@case
def options_of_a_call_do_not_stay(ray: Any) -> None:
    actor = simple(ray)
    two = actor.pair.options(num_returns=2)
    print(len(two.remote()), type(actor.pair.remote()).__name__, len(two.remote()))


@case
def the_old_form_of_a_call(ray: Any) -> None:
    actor = simple(ray)
    attempt("no arguments", lambda: ray.get(actor.one._remote(), timeout=30))
    attempt("lists", lambda: ray.get(actor.one._remote([], {}), timeout=30))
    attempt("keywords", lambda: ray.get(actor.pair._remote(args=(), kwargs={}, num_returns=2), timeout=30))
    attempt("a name", lambda: ray.get(actor.one._remote(name="x"), timeout=30))


@case
def a_decorated_static_method(ray: Any) -> None:
    @ray.remote
    class Actor:
        @staticmethod
        @ray.method(num_returns=2)
        def two() -> Any:
            return 1, 2

    attempt("two", lambda: ray.get(Actor.remote().two.remote(), timeout=30))


@case
def a_decorated_method_is_called_inside(ray: Any) -> None:
    @ray.remote
    class Actor:
        @ray.method(num_returns=2)
        def two(self) -> Any:
            return 1, 2

        def inside(self) -> Any:
            return self.two()

    print(ray.get(Actor.remote().inside.remote(), timeout=30))


@case
def a_decorated_method_that_a_derived_class_overrides(ray: Any) -> None:
    class Base:
        @ray.method(num_returns=2)
        def two(self) -> Any:
            return 1, 2

    @ray.remote
    class Derived(Base):
        def two(self) -> Any:
            return 3, 4

    print(ray.get(Derived.remote().two.remote(), timeout=30))


@case
def tensor_transports_that_are_not_there(ray: Any) -> None:
    @ray.remote(num_cpus=0)
    class Actor:
        def run(self) -> int:
            return 7

    actor = Actor.remote()
    run = actor.run
    for transport in ("pigeon", "nccl"):
        attempt(transport, lambda transport=transport: run.options(tensor_transport=transport).remote())
        attempt(f"put {transport}", lambda transport=transport: ray.put(1, _tensor_transport=transport))
    attempt("none", lambda: ray.get(run.options(tensor_transport=None).remote()))


@case
def affinities_that_contradict_themselves(ray: Any) -> None:
    module = importlib.import_module(f"{ray.__name__}.util.scheduling_strategies")
    node = ray.get_runtime_context().get_node_id()
    kind = module.NodeAffinitySchedulingStrategy
    accepts("spill, not soft", lambda: kind(node, soft=False, _spill_on_unavailable=True))
    accepts("fail, soft", lambda: kind(node, soft=True, _fail_on_unavailable=True))
    accepts("neither", lambda: kind(node, soft=True, _spill_on_unavailable=False, _fail_on_unavailable=False))
    accepts("no id", lambda: kind("not an id", soft=True))
