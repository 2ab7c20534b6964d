"""Cancellation in a worker: what the core's signal does to the code that runs."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from eagleray._private.context import here
from eagleray._private.state import process
from eagleray._private.worker.interruption import Cancelled, take_dropped


class _Cancellation:
    """What the handler of the signal knows and finds.

    Attributes:
        early: The tasks that were cancelled while nothing of theirs ran: before their function began, or after it
            ended.
        spoiled: Whether a task was cancelled during an import. The modules are half loaded then, so this process runs
            no other task.
        handler: What an actor with an event loop does instead of raising.
        runner: The code in which a cancellation is only noted, because the task's own code does not run there.
    """

    __slots__ = ("early", "handler", "runner", "spoiled")

    def __init__(self) -> None:
        self.early: set[bytes] = set()
        self.spoiled = False
        self.handler: Callable[[bytes], None] | None = None
        self.runner: Any = None


cancellation = _Cancellation()


def interrupt(signum: int, frame: Any) -> None:
    """Handles the core's sign that tasks were cancelled. Raises in the code of the one that runs."""
    session = process.session
    if session is None:
        return
    found = False
    asked = take_dropped()
    while (task_id := session.hot.current_cancelled()) is not None:
        asked.append(task_id)
    for task_id in asked:
        if cancellation.handler is not None:
            cancellation.handler(task_id)
        elif here.actor is None:  # a plain actor's calls may ask whether they were cancelled
            if here.running.task_id == task_id and getattr(frame, "f_code", None) is not cancellation.runner:
                found = True
            else:
                cancellation.early.add(task_id)
    if found:
        cancellation.spoiled = cancellation.spoiled or _importing(frame)
        raise Cancelled


def _importing(frame: Any) -> bool:
    """Whether an import is under way."""
    while frame is not None:
        if frame.f_code.co_filename.startswith("<frozen importlib"):
            return True
        frame = frame.f_back
    return False


def raise_if_cancelled(task_id: bytes) -> None:
    """Raises when the task was cancelled before its function began; forgets all earlier cancellations."""
    cancelled = task_id in cancellation.early
    cancellation.early.clear()
    if cancelled:
        raise Cancelled
