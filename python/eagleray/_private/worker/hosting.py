"""What an actor needs of the worker in whose process it lives."""

from __future__ import annotations

from typing import Any, NoReturn, Protocol

from eagleray._private.worker.startup import Assigned


class HostingWorker(Protocol):
    """The part of ``worker.main.Worker`` that actors use.

    Attributes:
        hot: The core.
        idle_ms: Milliseconds without work after which free memory is given back to the system, -1 for never.
        ran_tasks: Whether the process has run tasks before.
        assigned: The devices and variables that the process was assigned.
    """

    hot: Any
    idle_ms: int
    ran_tasks: bool
    assigned: Assigned

    def load(self, fid: bytes, fetched: bool = False) -> Any:
        """The function or class that travels under ``fid``."""
        ...

    def forget(self, fid: bytes) -> None:
        """Lets go of a function that holds references."""
        ...

    def quit(self, status: int) -> NoReturn:
        """Ends the process without an answer: the user's code has called ``sys.exit``."""
        ...

    def leave(self, reason: str) -> NoReturn:
        """Ends the process after its answers were sent."""
        ...
