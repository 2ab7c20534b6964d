"""The description of one option, the check of its value, and the options that state resources."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from eagleray._private.calls.resources import check_custom, check_gpu_memory, check_quantity

TASK, ACTOR = "task", "actor"
NUMBER = (int, float)

Check = Callable[[str, Any], None]


class Option(NamedTuple):
    """One option: where it applies, its types (None is always allowed), and further conditions."""

    kinds: frozenset[str]
    types: tuple[type, ...]
    check: Check | None = None
    decorator_only: bool = False


def both(*types: type, check: Check | None = None) -> Option:
    """An option of remote functions and of actors."""
    return Option(frozenset({TASK, ACTOR}), types, check)


#: The options that state what a task or an actor needs. Each alternative of ``fallback=`` has them, too.
RESOURCES: dict[str, Option] = {
    "num_cpus": both(*NUMBER, check=check_quantity),
    "num_gpus": both(*NUMBER, check=check_quantity),
    "gpu_memory": both(object, check=check_gpu_memory),
    "memory": both(*NUMBER, check=check_quantity),
    "resources": both(dict, check=check_custom),
    "accelerator_type": both(str),
}


def check_type(name: str, option: Option, value: Any) -> None:
    """Checks one value; ``name`` is what messages call it."""
    if value is None:
        return
    if not isinstance(value, option.types):
        # Programs that match Ray's message look for the types as Python writes them.
        wanted = (*option.types, type(None))
        raise TypeError(f"The type of keyword {name!r} must be {wanted}, but received type {type(value)}: {value!r}")
    if option.check is not None:
        option.check(name, value)
