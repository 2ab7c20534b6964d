"""Where tasks and actors run, beyond "DEFAULT" and "SPREAD"."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from eagleray._private.calls.placement_groups import GroupHandle


@dataclass(frozen=True)
class NodeAffinitySchedulingStrategy:
    """Runs a task or an actor on one node.

    The work waits for room on its node, unless one of the last two arguments says otherwise: then it waits for half a
    second, in which leases without work come back. If the node is dead, was never there or can never give what the work
    needs, a task fails with ``TaskUnschedulableError`` and an actor with ``ActorUnschedulableError``, or with ``soft``
    the work runs on another node.

    Args:
        node_id: The node's id in hex, as ``NodeID`` in ``nodes()``.
        soft: Whether other nodes do when that node cannot.
        _spill_on_unavailable: Whether other nodes do, too, when that node has no room. It needs ``soft=True``.
        _fail_on_unavailable: Whether the work fails when that node has no room, as if it could never have it. It needs
            ``soft=False``.

    Raises:
        ValueError: the id cannot be one, or the arguments contradict each other.
    """

    node_id: str
    soft: bool
    _spill_on_unavailable: bool = False
    _fail_on_unavailable: bool = False

    def __post_init__(self) -> None:
        from eagleray._private.calls.placement import check_node_id

        check_node_id(self.node_id)
        if self._spill_on_unavailable and not self.soft:
            raise ValueError("_spill_on_unavailable=True needs soft=True: with soft=False no other node may be taken")
        if self._fail_on_unavailable and self.soft:
            raise ValueError("_fail_on_unavailable=True needs soft=False: with soft=True another node may be taken")


@dataclass(eq=False)
class PlacementGroupSchedulingStrategy:
    """Runs a task or an actor in a placement group, on what one of its bundles has set aside.

    The work waits until the group has its nodes and the bundle has room. If the group is removed, a task fails with
    ``TaskPlacementGroupRemoved`` and an actor ends with ``ActorPlacementGroupRemoved``.

    Args:
        placement_group: The group. None: no group, also where the code that creates the work runs in one.
        placement_group_bundle_index: The number of the bundle, from 0. -1: any bundle that has room.
        placement_group_capture_child_tasks: Whether the tasks and actors that the work creates run in the group, too,
            if they have no strategy of their own. None: as for the code that creates the work.
    """

    placement_group: GroupHandle | None
    placement_group_bundle_index: int = -1
    placement_group_capture_child_tasks: bool | None = None


class In:
    """The label has one of these values.

    Args:
        values: The values, at least one.
    """

    def __init__(self, *values: str) -> None:
        self.values = _texts("In", values)

    @property
    def condition(self) -> str:
        """The condition in the core's form."""
        return f"in({','.join(self.values)})"


class NotIn:
    """The label has none of these values, or the node has no such label.

    Args:
        values: The values, at least one.
    """

    def __init__(self, *values: str) -> None:
        self.values = _texts("NotIn", values)

    @property
    def condition(self) -> str:
        """The condition in the core's form."""
        return f"!in({','.join(self.values)})"


class Exists:
    """The node has the label, with any value."""

    condition = "*"


class DoesNotExist:
    """The node does not have the label."""

    condition = "!*"


_Operator = In | NotIn | Exists | DoesNotExist


def _texts(operator: str, values: tuple[str, ...]) -> list[str]:
    if not values:
        raise ValueError(
            f'{operator} takes at least one value, as {operator}("a", "b"): '
            f"The variadic parameter of the {operator} operator must be a non-empty tuple"
        )
    for index, value in enumerate(values):
        if not isinstance(value, str):
            raise ValueError(
                f"Type of value in position {index} for the {operator} operator must be str, got {value!r}"
            )
    return list(values)


@dataclass(frozen=True)
class _Expression:
    """What is asked of one label."""

    key: str
    operator: _Operator


class NodeLabelSchedulingStrategy:
    """Runs a task or an actor on a node with certain labels.

    Work that no node of the cluster could ever run fails with ``TaskUnschedulableError`` or
    ``ActorUnschedulableError``, as other work does that asks for too much.

    Args:
        hard: What the labels of the node have to be: name → ``In``, ``NotIn``, ``Exists`` or ``DoesNotExist``.
        soft: What they should be, too. Of the nodes with room those that meet it come first.
    """

    def __init__(self, hard: Mapping[str, _Operator] | None, *, soft: Mapping[str, _Operator] | None = None) -> None:
        self.hard = _expressions("hard", hard)
        self.soft = _expressions("soft", soft)
        if not self.hard and not self.soft:
            raise ValueError("NodeLabelSchedulingStrategy: hard and soft cannot both be empty: ask for a label")

    def __repr__(self) -> str:
        return f"NodeLabelSchedulingStrategy({_shown(self.hard)}, soft={_shown(self.soft)})"


def _shown(expressions: list[_Expression]) -> dict[str, str]:
    return {expression.key: expression.operator.condition for expression in expressions}


def _expressions(which: str, asked: Mapping[str, _Operator] | None) -> list[_Expression]:
    if asked is None:
        return []
    if not isinstance(asked, Mapping):
        raise ValueError(f'{which} must be a dictionary, as {{"zone": In("a")}}, got {asked!r}')
    made = []
    for key, operator in asked.items():
        if not isinstance(key, str):
            raise ValueError(f"{which}: the name of a label must be a text, got {key!r}")
        if not isinstance(operator, (In, NotIn, Exists, DoesNotExist)):
            raise ValueError(
                f"{which}: {key} takes one of In, NotIn, Exists and DoesNotExist, as {{{key!r}: In('a')}}, got "
                f"{operator!r}"
            )
        made.append(_Expression(key, operator))
    return made


def __getattr__(name: str) -> Any:
    from eagleray._private import missing

    raise missing.attribute("eagleray.util.scheduling_strategies", name, sys._getframe(1))
