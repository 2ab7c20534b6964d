"""Functions of high modules that low modules call.

Modules import each other one way only. Where a low one must reach upwards (the first call of a program starts the
default session), the package above both registers the function here, by a name.
"""

from __future__ import annotations

TYPE_CHECKING = False  # importing typing for it would be half of the time that "import eagleray" takes
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

#: Starts the session of a program that uses the API without init().
START_SESSION = "start the default session"
#: What each living node has, and what of that is free.
TOTAL_PER_NODE = "the resources of each node"
AVAILABLE_PER_NODE = "the free resources of each node"
#: What the C extension of eagleray.kernels is configured with.
KERNELS = "the classes and functions that eagleray._kern uses"
#: The function behind ``array[index] = value``.
ASSIGN_TO_ARRAY = "the function that writes into a part of an array"

_registered: dict[str, Callable[[], Any]] = {}


def register(name: str, function: Callable[[], Any]) -> None:
    """Makes ``function`` what ``call`` of this name calls."""
    _registered[name] = function


def call(name: str) -> Any:
    """Calls what is registered under this name."""
    return _registered[name]()
