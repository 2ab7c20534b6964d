"""The order in which an actor begins calls, by default and with allow_out_of_order_execution."""

from __future__ import annotations

import threading
from typing import Any

from casebook import accepts, attempt, case


def opened(ray: Any) -> tuple[Any, Any]:
    """A reference that is ready when the gate is opened, and the gate."""

    @ray.remote(max_concurrency=2, num_cpus=0)
    class Gate:
        def __init__(self) -> None:
            self.event = threading.Event()

        def value(self) -> str:
            self.event.wait(60)
            return "late"

        def open(self) -> None:
            self.event.set()

    gate = Gate.remote()
    return gate.value.remote(), gate


def recorder(ray: Any, **options: Any) -> Any:
    class Recorder:
        def __init__(self) -> None:
            self.seen: list[Any] = []

        def note(self, value: Any) -> Any:
            self.seen.append(value)
            return value

        def notes(self) -> list[Any]:
            return self.seen

    return ray.remote(**options)(Recorder) if options else ray.remote(Recorder)


def coroutine_recorder(ray: Any, **options: Any) -> Any:
    class Recorder:
        def __init__(self) -> None:
            self.seen: list[Any] = []

        async def note(self, value: Any) -> Any:
            self.seen.append(value)
            return value

        async def notes(self) -> list[Any]:
            return self.seen

    return ray.remote(**options)(Recorder) if options else ray.remote(Recorder)


def play(ray: Any, actor: Any, *, held: bool = False) -> None:
    """Calls an actor with an argument that is late, and then without one; prints what it has seen.

    Args:
        held: The second call is to wait.
    """
    late, gate = opened(ray)
    ray.get(actor.notes.remote(), timeout=60)
    first = actor.note.remote(late)
    second = actor.note.remote("early")
    ready, _ = ray.wait([second], timeout=0.5 if held else 30)
    print("the second call came first:", bool(ready))
    ray.get(gate.open.remote(), timeout=30)
    print(ray.get([first, second], timeout=30))
    print(ray.get(actor.notes.remote(), timeout=30))


@case
def a_late_argument_holds_later_calls(ray: Any) -> None:
    play(ray, recorder(ray).remote(), held=True)


@case
def a_late_argument_holds_nobody_out_of_order(ray: Any) -> None:
    play(ray, recorder(ray, allow_out_of_order_execution=True).remote())


@case
def out_of_order_in_options(ray: Any) -> None:
    play(ray, recorder(ray).options(allow_out_of_order_execution=True).remote())


@case
def out_of_order_is_switched_off(ray: Any) -> None:
    play(ray, recorder(ray, allow_out_of_order_execution=False).remote(), held=True)


@case
def coroutines_out_of_order(ray: Any) -> None:
    play(ray, coroutine_recorder(ray, allow_out_of_order_execution=True).remote())


@case
def coroutines_are_out_of_order_by_default(ray: Any) -> None:
    play(ray, coroutine_recorder(ray).remote())


@case
def threads_are_out_of_order_by_default(ray: Any) -> None:
    play(ray, recorder(ray, max_concurrency=2).remote())


@case
def threads_out_of_order(ray: Any) -> None:
    play(ray, recorder(ray, allow_out_of_order_execution=True, max_concurrency=2).remote())


@case
def a_found_actor_is_called_out_of_order(ray: Any) -> None:
    actor = recorder(ray, allow_out_of_order_execution=True, name="out of order").remote()
    play(ray, ray.get_actor("out of order"))
    del actor


@case
def a_handle_in_a_task_calls_out_of_order(ray: Any) -> None:
    actor = recorder(ray, allow_out_of_order_execution=True).remote()

    @ray.remote(num_cpus=0)
    def use(handle: Any, late: Any) -> Any:
        first = handle.note.remote(late[0])
        second = handle.note.remote("early")
        found = ray.get(second, timeout=30)
        return found, first

    late, gate = opened(ray)
    found, first = ray.get(use.remote(actor, [late]), timeout=60)
    print(found)
    ray.get(gate.open.remote(), timeout=30)
    print(ray.get(first, timeout=30), ray.get(actor.notes.remote(), timeout=30))


@case
def two_callers_have_orders_of_their_own(ray: Any) -> None:
    actor = recorder(ray).remote()
    late, gate = opened(ray)
    waiting = actor.note.remote(late)

    @ray.remote(num_cpus=0)
    def other(handle: Any) -> Any:
        return ray.get(handle.note.remote("of another caller"), timeout=30)

    print(ray.get(other.remote(actor), timeout=60))
    ray.get(gate.open.remote(), timeout=30)
    ray.get(waiting, timeout=30)
    print(ray.get(actor.notes.remote(), timeout=30))


@case
def a_failed_argument_out_of_order(ray: Any) -> None:
    actor = recorder(ray, allow_out_of_order_execution=True).remote()

    @ray.remote
    def fails() -> None:
        raise KeyError("argument")

    broken = actor.note.remote(fails.remote())
    print(ray.get(actor.note.remote(1), timeout=30))
    attempt("broken", lambda: ray.get(broken, timeout=30))
    print(ray.get(actor.notes.remote(), timeout=30))


@case
def out_of_order_takes_a_truth_value(ray: Any) -> None:
    class Plain:
        pass

    accepts("a number", lambda: ray.remote(allow_out_of_order_execution=1)(Plain))
    accepts("a text", lambda: ray.remote(allow_out_of_order_execution="yes")(Plain))
    accepts("none", lambda: ray.remote(allow_out_of_order_execution=None)(Plain))
    accepts("of a function", lambda: ray.remote(allow_out_of_order_execution=True)(lambda: 1))
    accepts("threads in order", lambda: recorder(ray, max_concurrency=2, allow_out_of_order_execution=False).remote())
    accepts("coroutines in order", lambda: coroutine_recorder(ray, allow_out_of_order_execution=False).remote())
