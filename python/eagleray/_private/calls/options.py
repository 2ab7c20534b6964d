"""The options of remote functions and actors: one table, checked where they are written."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from eagleray._private import driver_log, suggestions
from eagleray._private.calls import environments, fallback, flow, labels, placement, retrying
from eagleray._private.calls.option_types import ACTOR, NUMBER, RESOURCES, TASK, Check, Option, both, check_type
from eagleray._private.calls.resources import ON_LEAK

_KIND_NAMES = {TASK: "remote functions", ACTOR: "actors"}


#: The largest number that fits the wire format.
_MOST = 2**63 - 1


#: Least number → what is accepted, in the words that programs match.
_ACCEPTED = {
    -1: "None, 0, -1 or a positive integer, where -1 represents infinity",
    0: "None, 0 or a positive integer",
    1: "None or a positive integer",
}


def _at_least(least: int, accepted: str = "") -> Check:
    def check(name: str, value: Any) -> None:
        if value < least:
            raise ValueError(f"The keyword {name!r} only accepts {accepted or _ACCEPTED[least]}. Got {value!r}")
        if value > _MOST:
            raise ValueError(f"The keyword {name!r} only accepts numbers up to {_MOST}, got {value!r}")

    return check


def _one_of(*allowed: str) -> Check:
    def check(name: str, value: Any) -> None:
        if value not in allowed:
            raise ValueError(f"The keyword {name!r} only accepts one of {list(allowed)}, got {value!r}")

    return check


def _num_returns(name: str, value: Any) -> None:
    if isinstance(value, str):
        if value not in (flow.STREAMING, flow.DYNAMIC):
            raise TypeError(f"The keyword {name!r} takes a number, 'streaming' or 'dynamic', got {value!r}")
        return
    _at_least(0, flow.NUM_RETURNS)(name, value)


def _items_ahead(name: str, value: Any) -> None:
    if value == 0:
        raise ValueError(
            f"{name}=0 is not allowed: 1 lets the generator make one item whenever one is taken, -1 is no limit"
        )


def _items_ahead_together(name: str, value: Any) -> None:
    if value != -1:
        _at_least(1, "None, a positive integer or -1 (no limit)")(name, value)


def _per_yield(name: str, value: Any) -> None:
    _at_least(1)(name, value)


def _max_calls(name: str, value: Any) -> None:
    if isinstance(value, str):
        if value != ON_LEAK:
            raise ValueError(f"The keyword {name!r} takes a number or {ON_LEAK!r}, got {value!r}")
        return
    _at_least(0)(name, value)


def _exceptions(name: str, value: Any) -> None:
    retrying.check_classes(value)


def _namespace(name: str, value: Any) -> None:
    if not value:
        raise ValueError(f"The keyword {name!r} takes a name; leave it out for the session's namespace")


def _groups(name: str, value: Any) -> None:
    for group, limit in value.items():
        if not isinstance(group, str) or not group or "\0" in group:
            raise ValueError(f"The keys of {name!r} are names of groups, texts that are not empty; got {group!r}")
        if not isinstance(limit, int):
            raise TypeError(
                f"{name!r} gives each group the number of calls that may run at a time; {group!r} has {limit!r}"
            )
        if limit < 1:
            raise ValueError(f"{name!r} must let at least 1 call of {group!r} run at a time, got {limit!r}")


def _environment(name: str, value: Any) -> None:
    environments.check_early(value)


def _unsupported(name: str, value: Any) -> None:
    raise ValueError(f"The option {name!r} is not supported")


def _texts(name: str, value: Any) -> None:
    """Ray's libraries mark what they submit with texts, for Ray's dashboard. Nothing shows them here."""
    for key, text in value.items():
        if not isinstance(key, str) or not isinstance(text, str):
            raise TypeError(f"{name!r} has texts by name, got {key!r}: {text!r}")


def _no_transport(name: str, value: Any) -> None:
    if value:
        raise ValueError(
            f"{name}=True is not supported: there is no tensor transport beside the object store. Leave it out: "
            "tensors on the CPU are read in shared memory without a copy, and eagleray.util.collective sends tensors "
            "between actors"
        )


_told_of_events = False


def _events(name: str, value: Any) -> None:
    global _told_of_events
    if value is False and not _told_of_events:
        _told_of_events = True
        driver_log.warning(
            f"{name}=False has no effect: no task events are recorded; lists of tasks come from the processes."
        )


def _task(*types: type, check: Check | None = None, decorator_only: bool = False) -> Option:
    return Option(frozenset({TASK}), types, check, decorator_only)


def _actor(*types: type, check: Check | None = None, decorator_only: bool = False) -> Option:
    return Option(frozenset({ACTOR}), types, check, decorator_only)


TABLE: dict[str, Option] = {
    "num_cpus": RESOURCES["num_cpus"],
    "num_gpus": RESOURCES["num_gpus"],
    "gpu_memory": RESOURCES["gpu_memory"],
    "gpu_memory_enforce": both(bool),
    "memory": RESOURCES["memory"],
    "resources": RESOURCES["resources"],
    "accelerator_type": RESOURCES["accelerator_type"],
    "name": both(str),
    "runtime_env": both(dict, check=_environment),
    "scheduling_strategy": both(object, check=placement.check_strategy),
    "placement_group": both(object, check=placement.check_group),
    "placement_group_bundle_index": both(int),
    "placement_group_capture_child_tasks": both(bool),
    "object_store_memory": both(int, check=_unsupported),
    "enable_task_events": both(bool, check=_events),
    "label_selector": both(dict, check=labels.check_selector),
    "fallback": both(list, tuple, check=fallback.check_list),
    "fallback_after": both(*NUMBER, check=fallback.check_after),
    "fallback_strategy": both(list, check=labels.check_fallback),
    "_labels": both(dict, check=_texts),
    "num_returns": _task(int, str, check=_num_returns),
    flow.LIMIT: _task(int, check=_items_ahead),
    flow.EACH: _task(int, check=_per_yield, decorator_only=True),
    flow.SHARED_LIMIT: _actor(int, check=_items_ahead_together),
    "max_retries": _task(int, check=_at_least(-1)),
    "retry_exceptions": _task(bool, list, tuple, check=_exceptions),
    "retry_with_more_memory": _task(bool),
    "max_calls": _task(int, str, check=_max_calls, decorator_only=True),
    "namespace": _actor(str, check=_namespace),
    "lifetime": _actor(str, check=_one_of("detached", "non_detached")),
    "get_if_exists": _actor(bool),
    "max_restarts": _actor(int, check=_at_least(-1)),
    "max_task_retries": _actor(int, check=_at_least(-1)),
    "exclusive": _actor(bool),
    "max_concurrency": _actor(int, check=_at_least(0)),
    "max_pending_calls": _actor(int, check=_at_least(-1)),
    "concurrency_groups": _actor(dict, check=_groups, decorator_only=True),
    "allow_out_of_order_execution": _actor(bool),
    "enable_tensor_transport": _actor(bool, check=_no_transport),
}


def check_options(options: Mapping[str, Any], kind: str, *, in_options: bool) -> None:
    """Checks the options of a remote function or an actor.

    Args:
        options: What the user wrote.
        kind: ``TASK`` or ``ACTOR``.
        in_options: Whether this is a call of ``.options()``, not the decorator.

    Raises:
        TypeError: a value has the wrong type.
        ValueError: a name or a value is wrong.
    """
    if "fallback_strategy" in options and "fallback" in options:
        fallback.refuse_both(options)
    check_more_memory(options)
    for name, value in options.items():
        option = TABLE.get(name)
        if option is None or kind not in option.kinds:
            raise ValueError(
                f"Invalid option keyword {name!r} for {_KIND_NAMES[kind]}{_suggestion(name, kind)}. "
                f"Valid ones are {_valid(kind)}."
            )
        if option.decorator_only and in_options:
            raise ValueError(f"Setting {name!r} is not supported in '.options()': write it in the decorator")
        check_type(name, option, value)


def check_more_memory(options: Mapping[str, Any]) -> None:
    """Refuses ``retry_with_more_memory`` for a function without retries."""
    if options.get("retry_with_more_memory") and options.get("max_retries") == 0:
        raise ValueError(
            "retry_with_more_memory=True does nothing with max_retries=0: such a task is never tried again"
        )


def _valid(kind: str) -> list[str]:
    return [
        name
        for name, option in TABLE.items()
        if kind in option.kinds and option.check is not _unsupported and not name.startswith("_")
    ]


def _suggestion(name: str, kind: str) -> str:
    other = TABLE.get(name)
    if other is not None:
        return f" (it is one of {_KIND_NAMES[next(iter(other.kinds))]})"
    return suggestions.suggestion(name, _valid(kind))
