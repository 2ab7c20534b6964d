"""How the results of a generator travel: what the options say and what the core is told."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from typing import Any

STREAMING, DYNAMIC = "streaming", "dynamic"
LIMIT, EACH, SHARED_LIMIT = (
    "_generator_backpressure_num_objects",
    "_num_objects_per_yield",
    "_actor_generator_backpressure_num_objects",
)
_MODES = {STREAMING: 1, DYNAMIC: 2}
_GENERATORS = 0x20 | 0x200  # of a code object's flags: plain and asynchronous


def is_generator(function: Any) -> bool:
    """Whether calls of the function make a generator."""
    return bool(function.__code__.co_flags & _GENERATORS)


def check_returns(num_returns: Any, generator: bool, name: str, stacklevel: int) -> None:
    """Checks ``num_returns`` where it is written: only generators yield their results one by one.

    Args:
        num_returns: What the user wrote.
        generator: Whether the function or method is a generator function.
        name: What messages call it.
        stacklevel: Where the user wrote it, counted from here.

    Raises:
        ValueError: it needs a generator and this is none.
    """
    if num_returns not in _MODES:
        return
    if num_returns == DYNAMIC:
        warnings.warn(
            "num_returns='dynamic' is deprecated: num_returns='streaming' gives the results while the task runs",
            DeprecationWarning,
            stacklevel=stacklevel + 1,
        )
    if not generator:
        raise ValueError(f"num_returns={num_returns!r} needs a generator function, one that yields; {name} is none")


def of(options: Mapping[str, Any], generator: bool, *, shared_limit: bool = False) -> list[int] | None:
    """What the core is told about a call's results; None: they come together, when it ends.

    Args:
        options: Of the function or method.
        generator: Whether it is a generator function.
        shared_limit: Whether the actor's generators have a limit together.
    """
    num_returns = options.get("num_returns")
    if num_returns is None and generator:
        num_returns = STREAMING
    if num_returns not in _MODES:
        return None
    limit = options.get(LIMIT)
    if limit is None or num_returns == DYNAMIC:
        limit = 0
    return [_MODES[num_returns], options.get(EACH) or 1, max(0, limit), int(shared_limit)]
