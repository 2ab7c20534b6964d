"""What the tests of placement groups share."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any

import eagleray
from eagleray.util.placement_group import PlacementGroup, placement_group, remove_placement_group
from eagleray.util.scheduling_strategies import PlacementGroupSchedulingStrategy
from pace import becomes

InGroup = PlacementGroupSchedulingStrategy


@contextlib.contextmanager
def made(bundles: list[dict[str, Any]], *args: Any, **kwargs: Any) -> Iterator[PlacementGroup]:
    """A group that is removed at the end."""
    group = placement_group(bundles, *args, **kwargs)
    try:
        yield group
    finally:
        remove_placement_group(group)


def ready(group: PlacementGroup) -> PlacementGroup:
    """Waits until the group has its nodes."""
    assert group.wait(60)
    return group


def free(name: str = "CPU") -> float:
    """How much of a resource no group and no work has."""
    return eagleray.available_resources().get(name, 0.0)


def becomes_free(amount: float, name: str = "CPU") -> None:
    becomes(lambda: free(name), amount)


@eagleray.remote(num_cpus=0)
def group_id() -> str | None:
    """The group that this task runs in."""
    return eagleray.get_runtime_context().get_placement_group_id()


@eagleray.remote(num_cpus=0)
class Member:
    """An actor that says where it is."""

    def group_id(self) -> str | None:
        return eagleray.get_runtime_context().get_placement_group_id()

    def children(self) -> list[str | None]:
        member = Member.remote()
        found: list[str | None] = eagleray.get([group_id.remote(), member.group_id.remote()])
        return found
