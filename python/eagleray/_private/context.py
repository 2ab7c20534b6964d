"""The task or actor call that runs in this process now. The runtime context, output and cancellation read it."""

from __future__ import annotations

import contextvars
import threading
from typing import Any, ClassVar

from eagleray._private.state import process


class Running:
    """The task or call that runs.

    One object for workers that run one thing at a time: threads that a task starts see it too.
    """

    def __init__(self) -> None:
        self.task_id: bytes | None = None
        self.name = ""
        self.function: Any = None


class RunningPerThread(threading.local):
    """The same for actors with several threads."""

    def __init__(self) -> None:
        self.task_id: bytes | None = None
        self.name = ""
        self.function: Any = None


class RunningBeside:
    """The same for actors with one thread, in which a second one begins while the first may run a call.

    Args:
        first: What the first thread has, and threads of the user's.
    """

    def __init__(self, first: Running) -> None:
        places = {threading.get_ident(): Running()}
        self.__dict__.update(_first=first, _places=places)

    def _mine(self) -> Running:
        found: Running = self._places.get(threading.get_ident(), self._first)
        return found

    def __getattr__(self, name: str) -> Any:
        return getattr(self._mine(), name)

    def __setattr__(self, name: str, value: Any) -> None:
        setattr(self._mine(), name, value)


class RunningPerCoroutine:
    """The same for actors with an event loop."""

    _PLACES: ClassVar[dict[str, int]] = {"task_id": 0, "name": 1, "function": 2}

    def __init__(self) -> None:
        self.variable: contextvars.ContextVar[tuple[bytes | None, str, Any]] = contextvars.ContextVar(
            "eagleray-running", default=(None, "", None)
        )

    def begin(self, task_id: bytes, name: str, function: Any) -> None:
        """Notes what the calling coroutine runs."""
        self.variable.set((task_id, name, function))

    def __getattr__(self, name: str) -> Any:
        place = self._PLACES.get(name)
        if place is None:
            raise AttributeError(name)
        return self.variable.get()[place]


class _Actor:
    """The actor that this process hosts."""

    def __init__(self, spec: dict[str, Any]) -> None:
        self.id: bytes = spec["actor_id"]
        self.name: str = spec.get("name") or ""
        self.namespace: str = spec.get("namespace") or ""
        self.class_name: str = spec.get("class_name") or ""
        self.incarnation: int = spec.get("incarnation") or 1
        self.exclusive: bool = bool(spec.get("exclusive"))
        self.owner_addr: str = spec.get("owner_addr") or ""
        self.meta: bytes = spec.get("meta") or b""


class _Here:
    """This worker's situation; a driver's stays empty."""

    def __init__(self) -> None:
        self.running: Any = Running()
        self.label = ""  # in front of what this process writes
        self.unfinished_line = False  # something was written that does not end with a line
        self.in_section = False  # a task has written something, and nothing after it says that it has ended
        self.wrote_error = False  # something was written to standard error since the last end of a section
        self.actor: _Actor | None = None
        self.resources: dict[str, int] = {}
        self.devices: dict[str, list[str]] = {}
        self.int_ids = True
        self.strategy = ""  # the scheduling strategy of the task or actor if that is a placement group
        self.group: bytes | None = None  # the placement group that it runs in
        self.captures = False  # whether what it creates runs in the group, too


here = _Here()


def become_actor(spec: dict[str, Any]) -> None:
    """Notes that this process hosts an actor from now on."""
    here.actor = _Actor(spec)


def enter_group(strategy: str) -> None:
    """Notes in which placement group this process works from now on.

    Args:
        strategy: The scheduling strategy of the task or actor: ``group:HEX:INDEX``, with ``:capture`` at its end if
            tasks and actors that it creates run in the group, too. Any other text: it runs in none.
    """
    kind, _, rest = strategy.partition(":")
    strategy = strategy if kind == "group" else ""
    if strategy == here.strategy:
        return
    here.strategy = strategy
    here.group = bytes.fromhex(rest.partition(":")[0]) if strategy else None
    here.captures = strategy.endswith(":capture")
    process.place_changed()


def actor_id() -> bytes | None:
    """The actor that this process hosts."""
    return here.actor.id if here.actor is not None else None
