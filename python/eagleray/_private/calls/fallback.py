"""Alternatives of a remote function or an actor, which run while the resources of the first choice are not free."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from eagleray._private.calls.option_types import RESOURCES, check_type

#: The type of ``fallback=``, best alternative first: other needs, or another function or class with its needs.
Fallback = Sequence[Mapping[str, Any] | tuple[Any, Mapping[str, Any]]]
#: The largest number of alternatives. The core has the same limit.
MOST = 16


def check_list(name: str, value: Any) -> None:
    """Raises if ``fallback=`` is wrong, for functions and classes alike."""
    if len(value) > MOST:
        raise ValueError(f"The keyword {name!r} takes at most {MOST} alternatives, got {len(value)}")
    for index, entry in enumerate(value):
        _check_resources(f"{name}[{index}]", split(entry, f"{name}[{index}]")[1])


def check_after(name: str, value: Any) -> None:
    """Raises if ``fallback_after=`` is no time to wait."""
    if isinstance(value, bool) or not 0 <= value < math.inf:
        raise ValueError(f"The keyword {name!r} takes seconds, 0 or more, got {value!r}")


def split(entry: Any, where: str = "fallback") -> tuple[Any, Mapping[str, Any]]:
    """Returns an alternative's function or class, None for the same one, and its needs."""
    if isinstance(entry, dict):
        return None, entry
    if isinstance(entry, (tuple, list)) and len(entry) == 2:
        target, needs = entry
        if callable(target) and isinstance(needs, dict):
            return target, needs
    raise TypeError(
        f"{where} must be a dictionary of resources, as {{'num_cpus': 2}}, or a function and such a dictionary, as "
        f"(f, {{'num_cpus': 2}}); got {entry!r}"
    )


def _check_resources(where: str, needs: Mapping[str, Any]) -> None:
    for name, value in needs.items():
        if name in ("fallback", "fallback_after"):
            raise ValueError(f"{where} cannot have {name!r}: write all alternatives into one list, the best one first")
        if name not in RESOURCES:
            raise ValueError(f"{where} cannot set {name!r}: an alternative takes {', '.join(RESOURCES)}")
        check_type(f"{where}[{name!r}]", RESOURCES[name], value)


def refuse_both(options: Mapping[str, Any]) -> None:
    """Raises if ``fallback`` and Ray's ``fallback_strategy`` are both given."""
    if options.get("fallback") is not None and options.get("fallback_strategy") is not None:
        raise ValueError(
            "fallback and fallback_strategy cannot be used together: 'fallback' lists resources that do instead, and "
            "chooses by what is free"
        )


def check_together(options: Mapping[str, Any]) -> None:
    """Raises if options are right by themselves but not together.

    Args:
        options: The options in force, from the decorator and from ``.options()``.
    """
    if options.get("fallback_after") is not None and "fallback" not in options:
        raise ValueError("fallback_after is how long to wait before 'fallback' is used: give 'fallback', too")
    if options.get("fallback") is None:
        return
    refuse_both(options)


def normalise(options: dict[str, Any], wrap: Callable[[Any, str], Any]) -> None:
    """Checks the options together, and replaces other functions or classes by what ``wrap`` makes of them.

    Args:
        options: The options in force; ``fallback`` becomes a list of pairs.
        wrap: Makes a remote function or actor class of what the user wrote, or raises.
    """
    check_together(options)
    entries = options.get("fallback")
    if not entries:
        return
    made = []
    for index, entry in enumerate(entries):
        target, needs = split(entry)
        made.append(dict(needs) if target is None else (wrap(target, f"fallback[{index}]"), dict(needs)))
    options["fallback"] = made
