"""Handles: passed in and out, stored, compared, hashed; and methods of actors as values."""

from __future__ import annotations

import copy
import pickle
from typing import Any

from casebook import accepts, attempt, case


def counter(ray: Any) -> Any:
    @ray.remote
    class Counter:
        def __init__(self) -> None:
            self.x = 0

        def add(self, by: int = 1) -> int:
            self.x += by
            return self.x

        def me(self) -> Any:
            return ray.get_runtime_context().current_actor

    return Counter


@case
def in_containers(ray: Any) -> None:
    actor = counter(ray).remote()

    @ray.remote
    def use(values: Any) -> Any:
        return ray.get(values["list"][0].add.remote(), timeout=30)

    print(ray.get(use.remote({"list": [actor]}), timeout=30))
    print(ray.get(ray.get(ray.put((actor, 1)))[0].add.remote(), timeout=30))


@case
def put_and_got(ray: Any) -> None:
    actor = counter(ray).remote()
    found = ray.get(ray.put(actor))
    print(found == actor, hash(found) == hash(actor), found is actor, ray.get(found.add.remote(), timeout=30))


@case
def returned_by_a_task(ray: Any) -> None:
    cls = counter(ray)

    @ray.remote
    def make() -> Any:
        actor = cls.remote()
        ray.get(actor.add.remote(4))
        return actor

    actor = ray.get(make.remote(), timeout=60)
    print(ray.get(actor.add.remote(), timeout=30))


@case
def as_keys_and_in_sets(ray: Any) -> None:
    first, second = counter(ray).remote(), counter(ray).remote()
    again = ray.get(ray.put(first))
    print(len({first, second, again}), {first: 1}[again], first != second, first == "text")


@case
def compared_in_a_task(ray: Any) -> None:
    actor = counter(ray).remote()

    @ray.remote
    def same(a: Any, b: Any) -> Any:
        return a == b, len({a, b})

    print(ray.get(same.remote(actor, actor), timeout=30))


@case
def current_actor(ray: Any) -> None:
    actor = counter(ray).remote()
    found = ray.get(actor.me.remote(), timeout=30)
    print(found == actor, ray.get(found.add.remote(), timeout=30))


@case
def copied_and_pickled(ray: Any) -> None:
    actor = counter(ray).remote()
    attempt("copy", lambda: copy.copy(actor) == actor)
    attempt("pickle", lambda: pickle.loads(pickle.dumps(actor)) == actor)


@case
def stored_in_another_actor(ray: Any) -> None:
    cls = counter(ray)

    @ray.remote
    class Keeper:
        def keep(self, handle: Any) -> None:
            self.handle = handle

        def add(self) -> Any:
            return ray.get(self.handle.add.remote(), timeout=30)

        def give(self) -> Any:
            return self.handle

    keeper = Keeper.remote()
    actor = cls.remote()
    ray.get(keeper.keep.remote(actor), timeout=30)
    del actor
    print(ray.get(keeper.add.remote(), timeout=30))
    print(ray.get(ray.get(keeper.give.remote(), timeout=30).add.remote(), timeout=30))


@case
def methods_as_arguments(ray: Any) -> None:
    actor = counter(ray).remote()

    @ray.remote
    def call(method: Any, *args: Any) -> Any:
        return ray.get(method.remote(*args), timeout=30)

    print(ray.get(call.remote(actor.add), timeout=30), ray.get(call.remote(actor.add, 5), timeout=30))


@case
def methods_in_containers_and_put(ray: Any) -> None:
    actor = counter(ray).remote()
    print(ray.get(ray.get(ray.put([actor.add]))[0].remote(), timeout=30))


@case
def a_method_as_a_constructors_argument(ray: Any) -> None:
    actor = counter(ray).remote()

    @ray.remote
    class Uses:
        def __init__(self, method: Any) -> None:
            self.method = method

        def use(self) -> Any:
            return ray.get(self.method.remote(), timeout=30)

    print(ray.get(Uses.remote(actor.add).use.remote(), timeout=30))


@case
def a_method_that_was_kept(ray: Any) -> None:
    add = counter(ray).remote().add
    attempt("call", lambda: ray.get(add.remote(), timeout=30))


@case
def a_method_captured_by_a_function(ray: Any) -> None:
    actor = counter(ray).remote()
    add = actor.add

    @ray.remote
    def call() -> Any:
        return ray.get(add.remote(), timeout=30)

    print(ray.get(call.remote(), timeout=30))


@case
def kinds_of_names(ray: Any) -> None:
    cls = counter(ray)
    actor = cls.remote()
    print(isinstance(cls, ray.actor.ActorClass), isinstance(actor, ray.actor.ActorHandle))
    print(isinstance(actor.add, ray.actor.ActorMethod))
    print(type(actor).__name__, type(actor.add).__name__)


@case
def generic_names(ray: Any) -> None:
    class Plain:
        pass

    for name in ("ActorHandle", "ActorClass", "ActorProxy"):
        accepts(name, lambda name=name: getattr(ray.actor, name)[Plain])
    accepts("ActorMethod", lambda: ray.actor.ActorMethod)
    accepts("ObjectRef", lambda: ray.ObjectRef[int])


@case
def dir_of_a_handle(ray: Any) -> None:
    actor = counter(ray).remote()
    names = dir(actor)
    print([name for name in names if not name.startswith("_")])


@case
def attributes_of_a_handle(ray: Any) -> None:
    actor = counter(ray).remote()
    print(type(actor._actor_id).__name__, len(actor._actor_id.hex()))


@case
def killed_through_another_handle(ray: Any) -> None:
    actor = counter(ray).remote()
    ray.get(actor.add.remote(), timeout=30)
    ray.kill(ray.get(ray.put(actor)))
    attempt("call", lambda: ray.get(actor.add.remote(), timeout=30))


@case
def arguments_of_kill(ray: Any) -> None:
    actor = counter(ray).remote()
    accepts("a method", lambda: ray.kill(actor.add))
    accepts("a class", lambda: ray.kill(counter(ray)))
    accepts("none", lambda: ray.kill(None))
    accepts("a reference", lambda: ray.kill(actor.add.remote()))


@case
def a_handle_passed_to_its_own_actor(ray: Any) -> None:
    @ray.remote
    class Own:
        def keep(self, handle: Any) -> None:
            self.handle = handle

        def same(self) -> bool:
            return bool(self.handle == ray.get_runtime_context().current_actor)

    actor = Own.remote()
    actor.keep.remote(actor)
    print(ray.get(actor.same.remote(), timeout=30))
