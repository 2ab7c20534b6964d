"""Limits of actors: calls that wait, threads, names and lifetimes."""

from __future__ import annotations

import threading
from typing import Any

from casebook import accepts, attempt, case, eventually, outcome


def blocking(ray: Any, **options: Any) -> Any:
    @ray.remote(concurrency_groups={"control": 1}, **options)
    class Actor:
        def __init__(self) -> None:
            self.event = threading.Event()

        def block(self) -> str:
            self.event.wait(60)
            return "done"

        @ray.method(concurrency_group="control")
        def open(self) -> None:
            self.event.set()

        def one(self) -> int:
            return 1

    return Actor


def plain() -> type:
    class Plain:
        def one(self) -> int:
            return 1

    return Plain


@case
def calls_that_wait_are_limited(ray: Any) -> None:
    actor = blocking(ray, max_pending_calls=2).remote()
    refs = [actor.block.remote(), actor.block.remote()]
    accepts("the third", lambda: actor.block.remote())
    accepts("the fourth", lambda: actor.block.remote())
    del refs


@case
def the_limit_of_waiting_calls_ends(ray: Any) -> None:
    actor = blocking(ray, max_pending_calls=5).remote()
    for _ in range(5):
        print(ray.get([actor.one.remote() for _ in range(3)], timeout=30))


@case
def the_error_of_the_limit(ray: Any) -> None:
    actor = blocking(ray, max_pending_calls=1).remote()
    ref = actor.block.remote()
    try:
        actor.block.remote()
        print("accepted")
    except ray.exceptions.PendingCallsLimitExceeded as error:
        print(isinstance(error, ray.exceptions.RayError), isinstance(error, Exception))
    del ref


@case
def the_limit_in_options(ray: Any) -> None:
    actor = blocking(ray).options(max_pending_calls=1).remote()
    ref = actor.block.remote()
    accepts("the second", lambda: actor.block.remote())
    del ref


@case
def numbers_of_waiting_calls(ray: Any) -> None:
    for value in (0, -1, -2, 1, 2.5, "3", True, None):
        accepts(repr(value), lambda value=value: ray.remote(max_pending_calls=value)(plain()))


@case
def no_waiting_call_at_all(ray: Any) -> None:
    actor = blocking(ray, max_pending_calls=0).remote()
    accepts("a call", lambda: ray.get(actor.one.remote(), timeout=30))


@case
def numbers_of_threads(ray: Any) -> None:
    for value in (0, 1, 5, -1, 1.5, "3", True, None):
        accepts(repr(value), lambda value=value: ray.remote(max_concurrency=value)(plain()))


@case
def no_thread_at_all(ray: Any) -> None:
    accepts(
        "made and called", lambda: ray.get(ray.remote(max_concurrency=0)(plain()).remote().one.remote(), timeout=30)
    )


@case
def no_thread_in_options(ray: Any) -> None:
    accepts("made", lambda: ray.remote(plain()).options(max_concurrency=0).remote())
    accepts("negative", lambda: ray.remote(plain()).options(max_concurrency=-1).remote())


@case
def numbers_of_restarts(ray: Any) -> None:
    for name in ("max_restarts", "max_task_retries"):
        for value in (0, 1, -1, -2, 1.5, "3", True):
            accepts(f"{name}={value!r}", lambda name=name, value=value: ray.remote(**{name: value})(plain()))


@case
def lifetimes(ray: Any) -> None:
    for value in ("detached", "non_detached", None, "", "forever", 1, True):
        accepts(repr(value), lambda value=value: ray.remote(lifetime=value)(plain()))
    accepts("in options", lambda: ray.remote(plain()).options(lifetime="forever"))


@case
def a_detached_actor_without_a_name(ray: Any) -> None:
    def make() -> Any:
        actor = ray.remote(plain()).options(lifetime="detached").remote()
        found = ray.get(actor.one.remote(), timeout=30)
        ray.kill(actor)
        return found

    attempt("made", make)


@case
def names(ray: Any) -> None:
    for value in ("a name", "", None, 5, b"bytes"):
        accepts(f"decorator {value!r}", lambda value=value: ray.remote(name=value)(plain()))
        accepts(f"options {value!r}", lambda value=value: ray.remote(plain()).options(name=value))
        accepts(f"made {value!r}", lambda value=value: ray.remote(plain()).options(name=value).remote())


@case
def namespaces(ray: Any) -> None:
    for value in ("a space", "", None, 5):
        accepts(f"options {value!r}", lambda value=value: ray.remote(plain()).options(name="x", namespace=value))


@case
def namespaces_without_a_name(ray: Any) -> None:
    accepts("made", lambda: ray.remote(plain()).options(namespace="a space").remote())


@case
def get_if_exists_with_and_without_a_name(ray: Any) -> None:
    accepts("without", lambda: ray.remote(plain()).options(get_if_exists=True).remote())
    accepts("decorator without", lambda: ray.remote(get_if_exists=True)(plain()))
    accepts("no truth value", lambda: ray.remote(plain()).options(name="y", get_if_exists="yes"))
    first = ray.remote(plain()).options(name="shared one", get_if_exists=True).remote()
    second = ray.remote(plain()).options(name="shared one", get_if_exists=True).remote()
    print(first == second, first._actor_id == second._actor_id)


@case
def get_if_exists_of_a_dead_actor(ray: Any) -> None:
    cls = ray.remote(plain())
    first = cls.options(name="dies", get_if_exists=True).remote()
    print(ray.get(first.one.remote(), timeout=30))
    ray.kill(first)
    eventually(lambda: outcome(lambda: ray.get(first.one.remote(), timeout=30)), "raises ActorDiedError")
    second = cls.options(name="dies", get_if_exists=True).remote()
    print(ray.get(second.one.remote(), timeout=30), first == second)


@case
def names_that_are_looked_up(ray: Any) -> None:
    for value in (None, "", 5, "nothing"):
        accepts(repr(value), lambda value=value: ray.get_actor(value))
    accepts("an empty namespace", lambda: ray.get_actor("nothing", namespace=""))
    accepts("another namespace", lambda: ray.get_actor("nothing", namespace="elsewhere"))
    accepts("a wrong namespace", lambda: ray.get_actor("nothing", namespace=5))


@case
def names_are_listed(ray: Any) -> None:
    from_here = ray.remote(plain()).options(name="listed here").remote()
    elsewhere = ray.remote(plain()).options(name="listed elsewhere", namespace="elsewhere").remote()
    without = ray.remote(plain()).remote()
    ray.get([from_here.one.remote(), elsewhere.one.remote(), without.one.remote()], timeout=30)
    names = ray.util.list_named_actors()
    print("listed here" in names, "listed elsewhere" in names, type(names).__name__)
    rows = ray.util.list_named_actors(all_namespaces=True)
    print(sorted((row["name"], row["namespace"]) for row in rows if row["name"].startswith("listed")))
    print(sorted(rows[0]))
    accepts("positional", lambda: ray.util.list_named_actors(True))


@case
def a_killed_actor_is_not_listed(ray: Any) -> None:
    actor = ray.remote(plain()).options(name="killed soon").remote()
    ray.get(actor.one.remote(), timeout=30)
    ray.kill(actor)
    attempt("call", lambda: ray.get(actor.one.remote(), timeout=30))
    print("killed soon" in ray.util.list_named_actors())


@case
def list_named_actors_in_a_task(ray: Any) -> None:
    actor = ray.remote(plain()).options(name="seen by a task").remote()
    ray.get(actor.one.remote(), timeout=30)

    @ray.remote
    def look() -> bool:
        return "seen by a task" in ray.util.list_named_actors()

    print(ray.get(look.remote(), timeout=30))
    del actor
