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


def watch_worker(worker: Any, actor: Any) -> None:
    """Stamps what a worker's Python does with a call; before it takes the first one.

    Args:
        worker: The class of workers.
        actor: The class of what is around an actor's instance.
    """
    load, method = worker.load, actor.method

    def load_traced(self: Any, fid: bytes, fetched: bool = False) -> Any:
        function, retry_on = load(self, fid, fetched)
        if not isinstance(function, type):
            function = _span(function, DECODED, RAN)
            self._functions[fid] = (function, retry_on)
        return function, retry_on

    def method_traced(self: Any, name: str) -> Any:
        return _span(method(self, name), DECODED, _method_ends)

    worker.load, actor.method = load_traced, method_traced


_method_ends = RAN


def watch_loop(module: Any) -> None:
    """The same for an actor with an event loop: its methods only begin when they are called.

    They end where their results are encoded; None is not, so such a method's end is that of the stage after it.
    """
    global _method_ends
    _method_ends = 0
    module.encode_results = _span(module.encode_results, RAN, 0)
