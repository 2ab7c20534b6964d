"""Python's stages of the tracer: spans around what a call passes, put there only when EAGLERAY_TRACE is set.

Without it this module costs one look at the environment, and the functions are those that stand in the sources.
The stages' numbers are core/trace's.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

CALLED, RETURNED, DECODED, RAN, GIVEN = 1, 4, 12, 13, 18

#: Whether this process stamps stages.
ON = bool(os.environ.get("EAGLERAY_TRACE") or os.environ.get("RAY_TRACE"))


def around(function: Callable[..., Any], before: int, after: int) -> Callable[..., Any]:
    """The function with stages stamped; the core is loaded with the first call, not before."""
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
    """Stamps what a worker's Python does with a call; before it takes the first one.

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
    """The same for an actor with an event loop: its methods only begin when they are called.

    They end where their results are encoded; None is not, so such a method's end is that of the stage after it.
    """
    global _function_ends
    _function_ends = 0
    module.encode_results = _span(module.encode_results, RAN, 0)
