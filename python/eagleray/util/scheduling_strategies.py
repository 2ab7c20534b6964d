"""Where tasks and actors run, beyond "DEFAULT" and "SPREAD"."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from eagleray._private.calls.placement_groups import GroupHandle


@dataclass(frozen=True)
class NodeAffinitySchedulingStrategy:
    """Runs a task or an actor on one node.

    The work waits for room on its node. If the node is dead, was never there or can never give what the work needs, a
    task fails with ``TaskUnschedulableError`` and an actor with ``ActorUnschedulableError``, or with ``soft`` the work
    runs on another node.

    Args:
        node_id: The node's id in hex, as ``NodeID`` in ``nodes()``.
        soft: Whether other nodes do when that node cannot.
    """

    node_id: str
    soft: bool
    _spill_on_unavailable: bool = False
    _fail_on_unavailable: bool = False


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


def __getattr__(name: str) -> Any:
    from eagleray._private import missing

    raise missing.attribute("eagleray.util.scheduling_strategies", name, sys._getframe(1))
