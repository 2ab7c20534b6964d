"""How the results of a generator travel: reads the options, and makes the entries of the core's template."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from typing import Any, NamedTuple

STREAMING, DYNAMIC = "streaming", "dynamic"
#: What ``num_returns`` may be, for messages.
NUM_RETURNS = "None, a non-negative integer, 'streaming' (for generators) or 'dynamic'"
LIMIT, EACH, SHARED_LIMIT = (
    "_generator_backpressure_num_objects",
    "_num_objects_per_yield",
    "_actor_generator_backpressure_num_objects",
)
_MODES = {STREAMING: 1, DYNAMIC: 2}
_GENERATORS = 0x20 | 0x200  # the flags of a code object: generator and asynchronous generator


def is_generator(function: Any) -> bool:
    """Reports whether a call of the function makes a generator."""
    return bool(function.__code__.co_flags & _GENERATORS)


def check_returns(num_returns: Any, generator: bool | None, name: str, stacklevel: int) -> None:
    """Checks ``num_returns`` where it is written: only generators yield their results one by one.

    Args:
        num_returns: What the user wrote.
        generator: Whether the function or method is a generator function. None: nobody here knows, so nothing is
            refused.
        name: What messages call it.
        stacklevel: The user's frame, counted from here.

    Raises:
        ValueError: the value needs a generator and the function is none.
    """
    if num_returns not in _MODES:
        return
    if num_returns == DYNAMIC:
        warnings.warn(
            "num_returns='dynamic' is deprecated: num_returns='streaming' gives the results while the task runs",
            DeprecationWarning,
            stacklevel=stacklevel + 1,
        )
    if generator is False:
        raise ValueError(f"num_returns={num_returns!r} needs a generator function, one that yields; {name} is none")


class Results(NamedTuple):
    """How the results of a call travel.

    Attributes:
        number: How many results there are. A generator whose results travel one by one has one: the generator itself.
        stream: The core's settings of such a generator: mode, items per yield, limit of items that nobody has taken,
            and whether the actor's generators share a limit. None for calls whose results come together at the end.
    """

    number: int
    stream: list[int] | None

    @property
    def streams_references(self) -> bool:
        """Reports whether the caller gets an iterator over references."""
        return self.stream is not None and self.stream[0] == _MODES[STREAMING]

    def spec(self) -> dict[str, Any]:
        """Returns the entries of a template that describe this to the core."""
        return {"num_returns": self.number} if self.stream is None else {"num_returns": 1, "flow": self.stream}


def results_of(options: Mapping[str, Any], generator: bool | None, *, shared_limit: bool = False) -> Results:
    """Returns how the results of calls with these options travel.

    Args:
        options: The options of the function or method.
        generator: Whether it is a generator function.
        shared_limit: Whether the actor's generators share one limit.
    """
    num_returns: Any = options.get("num_returns")
    if num_returns is None:
        num_returns = STREAMING if generator else 1
    if num_returns not in _MODES:
        return Results(num_returns, None)
    limit = options.get(LIMIT)
    if limit is None or num_returns == DYNAMIC:
        limit = 0
    return Results(1, [_MODES[num_returns], options.get(EACH) or 1, max(0, limit), int(shared_limit)])
