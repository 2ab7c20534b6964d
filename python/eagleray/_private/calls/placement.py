"""Where a task or an actor is to run: its scheduling strategy, and the placement group that it runs in."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from eagleray._private.calls import labels
from eagleray._private.calls.placement_groups import GroupHandle
from eagleray._private.calls.resources import GPU_MEMORY, show
from eagleray._private.context import here
from eagleray._private.ids import PlacementGroupID
from eagleray._private.state import process

_NODE_ID = re.compile("[0-9a-f]{56}")
#: The value of ``placement_group`` that stands for the group of the code that creates a task or an actor.
INHERIT = "default"
_IN_GROUP = "group:"


def names_group(strategy: Any) -> bool:
    """Whether a scheduling strategy is a ``PlacementGroupSchedulingStrategy``."""
    return hasattr(strategy, "placement_group")


def check_strategy(name: str, value: Any) -> None:
    """Raises if the value is no scheduling strategy."""
    if names_group(value):
        _check_group(f"{name}: placement_group", value.placement_group)
        capture = value.placement_group_capture_child_tasks
        if not (capture is None or isinstance(capture, bool)):
            raise TypeError(f"{name}: placement_group_capture_child_tasks takes True, False or None, got {capture!r}")
        return
    if labels.is_strategy(value):
        labels.check_strategy(name, value)
        return
    if not isinstance(value, str) and not hasattr(value, "node_id"):
        raise TypeError(
            f"The keyword {name!r} takes 'DEFAULT', 'SPREAD', a NodeAffinitySchedulingStrategy, a "
            f"NodeLabelSchedulingStrategy or a PlacementGroupSchedulingStrategy, got {value!r}"
        )
    strategy_name(value)


def check_group(name: str, value: Any) -> None:
    """Raises if the value of ``placement_group=`` is no group."""
    if not (isinstance(value, str) and value == INHERIT):
        _check_group(name, value)


def _check_group(name: str, value: Any) -> None:
    if value is not None and not isinstance(value, GroupHandle):
        raise TypeError(
            f"{name} takes a PlacementGroup, as placement_group() returns it, or None for no group; got {value!r}"
        )


def check_together(options: Mapping[str, Any]) -> None:
    """Raises if a group is given twice, or if options do not go with a group.

    Args:
        options: The options in force, from the decorator and from ``.options()``.
    """
    strategy: Any = options.get("scheduling_strategy")
    group = options.get("placement_group")
    if isinstance(group, GroupHandle) and strategy is not None:
        raise ValueError(
            "placement_group and scheduling_strategy cannot be used together: write "
            "scheduling_strategy=PlacementGroupSchedulingStrategy(placement_group=…)"
        )
    group = getattr(strategy, "placement_group", group)
    if isinstance(group, GroupHandle) and options.get("fallback") is not None:
        raise ValueError("fallback in a placement group is not supported yet: leave one of them out")


def check_node_id(wanted: Any) -> None:
    """Raises if a NodeAffinitySchedulingStrategy names what cannot be the id of a node."""
    if not isinstance(wanted, str) or not _NODE_ID.fullmatch(wanted):
        raise ValueError(
            f"NodeAffinitySchedulingStrategy names node {wanted!r}: ids of nodes have 56 hexadecimal digits, as "
            "NodeID in ray.nodes()"
        )


def strategy_name(strategy: Any) -> str:
    """Returns the scheduling strategy that the user wrote, which names no placement group, in the core's form."""
    if strategy is None or strategy == "DEFAULT" or labels.is_strategy(strategy):
        return "DEFAULT"
    if strategy == "SPREAD":
        return "SPREAD"
    wanted = getattr(strategy, "node_id", None)
    if wanted is not None:
        check_node_id(wanted)
        if strategy.soft:
            return f"node:{wanted}:soft" + (":spill" if getattr(strategy, "_spill_on_unavailable", False) else "")
        return f"node:{wanted}" + (":fail" if getattr(strategy, "_fail_on_unavailable", False) else "")
    raise ValueError(
        "scheduling_strategy takes 'DEFAULT', 'SPREAD', a NodeAffinitySchedulingStrategy, a "
        f"NodeLabelSchedulingStrategy or a PlacementGroupSchedulingStrategy, got {strategy!r}"
    )


def in_group(strategy: str) -> bool:
    """Whether a strategy in the core's form names a placement group."""
    return strategy.startswith(_IN_GROUP)


def strategy_of(
    options: Mapping[str, Any], what: str, needs: Mapping[str, int], creation: Mapping[str, int] | None = None
) -> str:
    """Returns the scheduling strategy of a task or an actor in the core's form.

    Work with neither a strategy nor a group in its options runs in the group of the code that creates it, if that one
    captures what it creates.

    Args:
        options: The options in force.
        what: The function or class, for messages.
        needs: What it holds while it runs, in integer units.
        creation: What an actor needs to be created, if that is more.

    Raises:
        ValueError: the group has no such bundle, or none with what the work needs; or a bundle is named and no group;
            or too much is asked of labels.
    """
    return _without_labels(options, what, needs, creation) + labels.suffix_of(options, what)


def _without_labels(
    options: Mapping[str, Any], what: str, needs: Mapping[str, int], creation: Mapping[str, int] | None
) -> str:
    strategy = options.get("scheduling_strategy")
    if strategy is not None and not names_group(strategy):
        return strategy_name(strategy)
    index: Any
    if strategy is not None:
        group: Any = strategy.placement_group
        index, capture = strategy.placement_group_bundle_index, strategy.placement_group_capture_child_tasks
    else:
        group = options.get("placement_group", INHERIT)
        index = options.get("placement_group_bundle_index")
        capture = options.get("placement_group_capture_child_tasks")
    index = -1 if index is None else index
    capture = here.captures if capture is None else bool(capture)
    if isinstance(group, str):
        group = _current(here.group) if capture and here.group is not None else None
    if group is None or group.is_empty:
        if index != -1:
            raise ValueError(
                f"{what}: placement_group_bundle_index={index!r} names a bundle, and there is no placement group: give "
                "placement_group, too. Without one the bundle index must be -1"
            )
        return strategy_name(None)
    if options.get("fallback"):
        raise ValueError(
            f"{what} would run in the placement group of the code that creates it, and fallback in a placement group "
            "is not supported yet: give it placement_group=None"
        )
    check_index(group, index)
    _check_shape(group, what, needs, creation or {})
    return f"{_IN_GROUP}{group.id.hex()}:{index}" + (":capture" if capture else "")


def check_index(group: GroupHandle, index: Any) -> None:
    """Raises if a group has no bundle with this index.

    Raises:
        TypeError: the index is no whole number.
        ValueError: there is no such bundle; or the handle names no group, and the index is not -1.
    """
    if isinstance(index, bool) or not isinstance(index, int):
        raise TypeError(f"placement_group_bundle_index takes a whole number, got {index!r}")
    if group.is_empty:
        if index != -1:
            raise ValueError(f"bundle index {index} is given without a placement group: the bundle index must be -1")
        return
    count = group.bundle_count
    if not -1 <= index < count:
        raise ValueError(
            f"placement group bundle index {index} is invalid: the group has {count} bundles, numbered from 0 to "
            f"{count - 1}, and -1 stands for any of them"
        )


def _check_shape(group: GroupHandle, what: str, needs: Mapping[str, int], creation: Mapping[str, int]) -> None:
    """Raises ValueError if no bundle of the group has room for a request, however much of it is free."""
    shapes = group.shapes()
    for request, why in ((needs, ""), (creation, " to be created")):
        if not any(_fits(request, shape) for shape in shapes):
            shown = ", ".join(show(shape) for shape in shapes[:_SHOWN]) + (", …" if len(shapes) > _SHOWN else "")
            raise ValueError(
                f"Cannot schedule {what} in the placement group: it needs {show(request)}{why}, and no bundle has so "
                f"much. The bundles are {shown}. Ask for less, or make the group with a larger bundle"
            )


_SHOWN = 5


def _fits(request: Mapping[str, int], bundle: Mapping[str, int]) -> bool:
    return all(value <= bundle.get(name, 0) or _by_device(name, bundle) for name, value in request.items())


def _by_device(name: str, bundle: Mapping[str, int]) -> bool:
    """Whether the core has to judge: GPUs and their memory are two measures of the same devices."""
    return (name == GPU_MEMORY and "GPU" in bundle) or (name == "GPU" and GPU_MEMORY in bundle)


class _Current:
    """The handle to the group that this process works in, asked for once."""

    epoch = -1
    handle: GroupHandle | None = None


def _current(group_id: bytes) -> GroupHandle:
    known = _Current.handle
    if known is None or _Current.epoch != process.epoch or known.id.binary() != group_id:
        known = _Current.handle = GroupHandle(PlacementGroupID(group_id))
        _Current.epoch = process.epoch
    return known
