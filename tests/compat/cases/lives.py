"""References: how long values live, how references travel, and what is equal."""

from __future__ import annotations

import copy
import gc
from typing import Any

import numpy as np
from casebook import attempt, case


@case
def a_value_outlives_its_maker(ray: Any) -> None:
    @ray.remote
    def make() -> Any:
        return [ray.put(np.ones(200_000)), ray.put("small")]

    big, small = ray.get(make.remote())
    gc.collect()
    print(ray.get(big).sum(), ray.get(small))


@case
def a_reference_through_three_hands(ray: Any) -> None:
    @ray.remote
    def first(box: Any) -> Any:
        return second.remote(box)

    @ray.remote
    def second(box: Any) -> Any:
        return ray.get(third.remote(box))

    @ray.remote
    def third(box: Any) -> float:
        return float(ray.get(box[0]).sum())

    ref = ray.put(np.ones(150_000))
    answer = first.remote([ref])
    del ref
    print(ray.get(ray.get(answer)))


@case
def a_reference_returned_by_a_reference(ray: Any) -> None:
    deep = ray.put(1)
    for _ in range(10):
        deep = ray.put([deep])
    depth = 0
    value = ray.get(deep)
    while isinstance(value, list):
        value = ray.get(value[0])
        depth += 1
    print(depth, value)


@case
def kept_by_an_actor(ray: Any) -> None:
    @ray.remote
    class Shelf:
        def put(self, name: str, box: Any) -> None:
            self.__dict__[name] = box

        def get(self, name: str) -> Any:
            return self.__dict__[name]

        def sum(self, name: str) -> float:
            return float(ray.get(self.__dict__[name][0]).sum())

        def drop(self, name: str) -> None:
            del self.__dict__[name]

    shelf = Shelf.remote()
    ref = ray.put(np.ones(150_000))
    ray.get(shelf.put.remote("x", [ref]))
    del ref
    gc.collect()
    print(ray.get(shelf.sum.remote("x")), ray.get(ray.get(shelf.get.remote("x"))[0]).sum())
    ray.get(shelf.drop.remote("x"))


@case
def values_of_tasks_outlive_an_actor_that_called_them(ray: Any) -> None:
    @ray.remote
    class Caller:
        def call(self) -> Any:
            return [ray.remote(lambda: 5).remote()]

    caller = Caller.remote()
    (ref,) = ray.get(caller.call.remote())
    print(ray.get(ref))


@case
def equality_and_hashes(ray: Any) -> None:
    ref = ray.put(1)
    other = ray.put(1)
    back = ray.get(ray.remote(lambda box: box).remote([ref]))[0]
    print(ref == back, hash(ref) == hash(back), ref == other, ref != other, ref == 5, len({ref, back, other}))
    print({ref: "x"}[back], ref in [back], copy.copy(ref) == ref, copy.deepcopy(ref) == ref)
    print(ray.ObjectRef(ref.binary()) == ref)
    attempt("order", lambda: ref < other)
    attempt("length", lambda: len(ref))
    attempt("item", lambda: ref[0])
    attempt("iterate", lambda: list(ref))
    attempt("bool", lambda: bool(ref))
    attempt("call", lambda: ref())


@case
def text_and_parts(ray: Any) -> None:
    ref = ray.put(1)
    print(
        str(ref) == f"ObjectRef({ref.hex()})",
        repr(ref) == str(ref),
        len(ref.hex()),
        len(ref.binary()),
        ref.is_nil(),
        ref.size(),
    )
    print(type(ref.task_id()).__name__, type(ref.job_id()).__name__, ray.ObjectRef.nil().is_nil())
    attempt("short id", lambda: ray.ObjectRef(b"x"))
    attempt("text id", lambda: ray.ObjectRef("x" * 28))
    print(f"{ref}" == str(ref), isinstance(ref, ray.ObjectRef), type(ref).__name__)


@case
def one_of_many_copies(ray: Any) -> None:
    ref = ray.put(np.ones(150_000))
    f = ray.remote(lambda box: float(ray.get(box[0]).sum()))
    refs = [f.remote([ref]) for _ in range(10)]
    del ref
    print(sum(ray.get(refs)))


@case
def dropped_results(ray: Any) -> None:
    f = ray.remote(lambda i: np.full(50_000, i))
    for i in range(20):
        f.remote(i)
    print(int(ray.get(f.remote(3))[0]))


@case
def captured_in_closures_and_classes(ray: Any) -> None:
    ref = ray.put(np.ones(150_000))

    @ray.remote
    def f() -> float:
        return float(ray.get(ref).sum())

    @ray.remote
    class A:
        held = ref

        def sum(self) -> float:
            return float(ray.get(self.held).sum() + ray.get(ref).sum())

    print(ray.get(f.remote()), ray.get(A.remote().sum.remote()))


@case
def in_containers_of_all_kinds(ray: Any) -> None:
    ref = ray.put(7)

    class Holder:
        def __init__(self, ref: Any) -> None:
            self.ref = ref

    f = ray.remote(
        lambda x: ray.get(x.ref if hasattr(x, "ref") else next(iter(x.values() if isinstance(x, dict) else x)))
    )
    print([ray.get(f.remote(x)) for x in ([ref], (ref,), {ref}, {"a": ref}, frozenset([ref]), Holder(ref))])
    key = ray.remote(lambda d: [ray.get(k) for k in d])
    print(ray.get(key.remote({ref: 1})))


@case
def a_large_number_of_references(ray: Any) -> None:
    refs = [ray.put(i) for i in range(2000)]
    f = ray.remote(lambda box: sum(ray.get(box)))
    print(ray.get(f.remote(refs)))
    ready, left = ray.wait(refs, num_returns=2000)
    print(len(ready), len(left))


@case
def results_of_calls_of_a_dead_actor(ray: Any) -> None:
    @ray.remote
    class A:
        def small(self) -> int:
            return 1

        def big(self) -> Any:
            return np.ones(200_000)

    a = A.remote()
    small, big = a.small.remote(), a.big.remote()
    ray.wait([small, big], num_returns=2)
    ray.kill(a)
    print(ray.get(small), ray.get(big).sum())
