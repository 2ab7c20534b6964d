"""Placement groups: parts of nodes, called bundles, that are set aside together for tasks and actors.

``eagleray.util.placement_group`` is the function ``placement_group`` of this module, as in Ray. What the module has
besides is imported from it: ``from eagleray.util.placement_group import PlacementGroup``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from eagleray._private.calls import placement, placement_groups
from eagleray._private.calls.placement_groups import GroupHandle
from eagleray._private.context import here
from eagleray._private.ids import PlacementGroupID
from eagleray._private.session import group_table
from eagleray._private.state import process
from eagleray.remote_function import RemoteFunction
from eagleray.util.scheduling_strategies import PlacementGroupSchedulingStrategy

if TYPE_CHECKING:
    from eagleray._private.refs import ObjectRef

#: The strategies of ``placement_group``.
VALID_PLACEMENT_GROUP_STRATEGIES = set(placement_groups.STRATEGIES)


class PlacementGroup(GroupHandle):
    """A handle to a placement group. Handles can be sent to tasks and actors; equal handles name the same group.

    A group lives as long as its job, or as the actor that has made it, no matter whether there are handles. A detached
    group lives until it is removed.

    Attributes:
        id: The ``PlacementGroupID`` of the group.
        bundle_specs: What each bundle sets aside, as ``[{"CPU": 2.0}, {"GPU": 1.0}]``; memory is in bytes.
        bundle_count: The number of bundles.
        is_empty: Whether the handle names no group.
    """

    @staticmethod
    def empty() -> PlacementGroup:
        """A handle that names no group. As an option of a task or an actor it is like None."""
        return PlacementGroup(PlacementGroupID.nil())

    def ready(self) -> ObjectRef[PlacementGroup]:
        """A reference that is ready when all bundles have their nodes. Its value is this handle.

        ``get`` of the reference raises ``PlacementGroupUnschedulableError`` when the nodes of the cluster can never
        have the bundles, and ``TaskPlacementGroupRemoved`` when the group was removed.

        Raises:
            ValueError: the handle names a group that does not exist.
        """
        in_group = _bundle_reservation_check.options(scheduling_strategy=PlacementGroupSchedulingStrategy(self))
        ref: ObjectRef[PlacementGroup] = in_group.remote(self)
        return ref


def bundle_reservation_check_func(placement_group: PlacementGroup) -> PlacementGroup:
    """The task behind ``PlacementGroup.ready``: it runs in the group and returns the handle."""
    return placement_group


_bundle_reservation_check: RemoteFunction[Any, PlacementGroup] = RemoteFunction(
    bundle_reservation_check_func, {"num_cpus": 0}
)


def placement_group(
    bundles: list[dict[str, Any]],
    strategy: str | None = None,
    name: str = "",
    lifetime: str | None = None,
    _soft_target_node_id: str | None = None,
    bundle_label_selector: list[dict[str, str]] | None = None,
    topology_strategy: Any = None,
) -> PlacementGroup:
    """Makes a placement group and returns its handle at once. ``ready`` and ``wait`` of the handle wait for its nodes.

    All bundles are set aside, or none is. A bundle lies on one node.

    Args:
        bundles: What each bundle sets aside: ``[{"CPU": 2, "GPU": 1}, {"memory": 2**30}]``. The names are "CPU", "GPU",
            "memory" (bytes), "gpu_memory" (bytes of one device, or a text such as "8GiB") and those of other resources.
        strategy: "PACK": few nodes, if possible one. "SPREAD": as many nodes as possible. "STRICT_PACK": one node.
            "STRICT_SPREAD": another node for each bundle. None is "PACK".
        name: The name by which ``get_placement_group`` finds the group, in the namespace of this program.
        lifetime: "detached": the group lives until it is removed. None: it ends with its job, or with the actor that
            makes it.
        bundle_label_selector: The labels that the node of each bundle is to have, one dictionary for each bundle.
        topology_strategy: Not supported.

    Raises:
        ValueError: an argument is wrong.
        TypeError: the name is no text.
        RaySystemError: a living group has the name.
    """
    if topology_strategy is not None:
        raise ValueError("topology_strategy is not supported: leave it out, and choose nodes by bundle_label_selector")
    if _soft_target_node_id is not None:
        raise ValueError("_soft_target_node_id is not supported: leave it out, or name nodes by bundle_label_selector")
    strategy = "PACK" if strategy is None else strategy
    placement_groups.check_bundles(bundles)
    placement_groups.check_labels(bundle_label_selector, bundles)
    placement_groups.check_strategy(strategy)
    if lifetime not in (None, "detached"):
        raise ValueError(f"lifetime of a placement group takes None or 'detached', got {lifetime!r}")
    if not isinstance(name, str):
        raise TypeError(f"name of a placement group must be a text, got {type(name).__name__}: {name!r}")
    group_id = placement_groups.create(
        process.require(), bundles, strategy, name, lifetime == "detached", bundle_label_selector
    )
    return PlacementGroup(group_id, placement_groups.as_set_aside(bundles))


def remove_placement_group(placement_group: PlacementGroup) -> None:
    """Ends a placement group. What its bundles have is free for other work again.

    It returns when the cluster has noted that, and tasks and actors that run in the group end a moment later. Tasks
    fail with ``TaskPlacementGroupRemoved``, also those that wait, and calls of the actors with
    ``ActorPlacementGroupRemoved``. A task that runs and may not be run again (``max_retries=0``) fails with
    ``WorkerCrashedError``. A group that was removed before is left alone.

    Raises:
        TypeError: the argument is no placement group.
    """
    if not isinstance(placement_group, GroupHandle):
        raise TypeError(f"remove_placement_group() takes a PlacementGroup, got {placement_group!r}")
    if not placement_group.is_empty:
        placement_groups.remove(process.require(), placement_group.id.binary())


def get_placement_group(placement_group_name: str) -> PlacementGroup:
    """Returns a handle to the living group with this name, in the namespace of this program.

    Raises:
        ValueError: the name is empty, or there is no such group.
        TypeError: the name is no text.
    """
    if placement_group_name is None or placement_group_name == "":
        raise ValueError("get_placement_group() takes the name of a group that is not empty")
    if not isinstance(placement_group_name, str):
        raise TypeError(f"get_placement_group() takes the name of a group, a text; got {placement_group_name!r}")
    session = process.require()
    found = placement_groups.fetch_named(session, placement_group_name)
    if found is None:
        raise ValueError(
            f"Failed to look up placement group with name {placement_group_name!r}: there is none in namespace "
            f"{session.namespace!r}"
        )
    return PlacementGroup(PlacementGroupID(found["group_id"]), group_table.bundles(found))


def placement_group_table(placement_group: PlacementGroup | None = None) -> dict[str, Any]:
    """Says where a group is, or where all groups are, also those that were removed.

    Args:
        placement_group: The group; None for all.

    Returns:
        For one group ``placement_group_id`` (in hex), ``name``, ``bundles`` (index → amounts), ``bundles_to_node_id``
        (index → id in hex, empty for a bundle without a node), ``strategy``, ``state`` (PENDING, CREATED, RESCHEDULING,
        REMOVED) and ``stats`` (times in milliseconds). It is empty if there is no such group. For all groups such a
        dictionary for each, by the group's id in hex.

    Raises:
        TypeError: the argument is no placement group.
    """
    if placement_group is not None and not isinstance(placement_group, GroupHandle):
        raise TypeError(f"placement_group_table() takes a PlacementGroup, or None for all; got {placement_group!r}")
    session = process.require()
    if placement_group is not None:
        found = placement_groups.fetch(session, placement_group.id.binary())
        return group_table.row(found) if found is not None else {}
    return {record["group_id"].hex(): group_table.row(record) for record in placement_groups.fetch_all(session)}


def get_current_placement_group() -> PlacementGroup | None:
    """Returns the group that the calling task or actor runs in; None outside of groups, and in a driver."""
    process.require()
    return PlacementGroup(PlacementGroupID(here.group)) if here.group is not None else None


def check_placement_group_index(placement_group: PlacementGroup, bundle_index: int) -> None:
    """Raises ValueError if the group has no bundle with this index; -1 stands for any bundle.

    Raises:
        TypeError: the first argument is no placement group, or the index no whole number.
        ValueError: there is no such bundle.
    """
    if not isinstance(placement_group, GroupHandle):
        raise TypeError(f"check_placement_group_index() takes a PlacementGroup, got {placement_group!r}")
    placement.check_index(placement_group, bundle_index)


__all__ = [
    "VALID_PLACEMENT_GROUP_STRATEGIES",
    "PlacementGroup",
    "PlacementGroupSchedulingStrategy",
    "check_placement_group_index",
    "get_current_placement_group",
    "get_placement_group",
    "placement_group",
    "placement_group_table",
    "remove_placement_group",
]
