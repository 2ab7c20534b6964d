"""The tracer's stages in Python: spans around the functions that a call runs through, if EAGLERAY_TRACE is set.

Without the variable this module costs one look at the environment, and no function is wrapped.
The stages' numbers are core/internal/trace's.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

CALLED, RETURNED, DECODED, RAN, GIVEN = 1, 4, 12, 13, 18

#: The folder of the tracer's files; None where nothing is recorded.
FOLDER = os.environ.get("EAGLERAY_TRACE") or os.environ.get("RAY_TRACE") or None
#: Whether this process stamps stages.
ON = FOLDER is not None


def around(function: Callable[..., Any], before: int, after: int) -> Callable[..., Any]:
    """Wraps a function so that its stages are stamped. The first call loads the core."""
    span: Any = None

    def traced(*args: Any, **kwargs: Any) -> Any:
        nonlocal span
        if span is None:
            span = _span(function, before, after)
        return span(*args, **kwargs)

    return traced


def _span(function: Callable[..., Any], before: int, after: int) -> Any:
    from eagleray._private.calls import core

    return core.load().span(function, before, after)


def watch_calls(*runners: Any) -> None:
    """Wraps the functions that run calls in a worker. It is called before the first call.

    Args:
        runners: The classes of call runners.
    """

    def traced(find: Callable[[Any, Any], Any]) -> Callable[[Any, Any], Any]:
        def find_traced(self: Any, key: Any) -> Any:
            found = self.known[key] = _span(find(self, key), DECODED, _function_ends)
            return found

        return find_traced

    for runner in runners:
        runner.find = traced(runner.find)


_function_ends = RAN


def watch_loop(module: Any) -> None:
    """Does the same for an actor with an event loop, where a call of a method only begins it.

    A method ends where its result is encoded. None is not encoded, so then the next stage's end counts.
    """
    global _function_ends
    _function_ends = 0
    module.encode_results = _span(module.encode_results, RAN, 0)
