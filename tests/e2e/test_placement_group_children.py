"""Which tasks and actors run in the placement group of the code that creates them."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator

import eagleray
import pytest
from eagleray.util.placement_group import PlacementGroup, get_current_placement_group
from grouping import InGroup, Member, group_id, made, ready
from pace import PATIENCE_S

pytestmark = pytest.mark.usefixtures("ray")


@pytest.fixture
def group(ray: object) -> Iterator[PlacementGroup]:
    with made([{"CPU": 2}]) as found:
        yield ready(found)


@eagleray.remote(num_cpus=0)
def children() -> list[str | None]:
    """Where a task and an actor without options of their own run."""
    member = Member.remote()
    found: list[str | None] = eagleray.get([group_id.remote(), member.group_id.remote()])
    return found


@eagleray.remote(num_cpus=0)
def grandchildren() -> list[str | None]:
    return eagleray.get(children.remote())


def of(remote: object, group: PlacementGroup, capture: bool | None = None, *args: object) -> object:
    """What a task in the group returns."""
    strategy = InGroup(group, 0, capture)
    return eagleray.get(remote.options(scheduling_strategy=strategy).remote(*args), timeout=PATIENCE_S)  # type: ignore[attr-defined]


def test_children_are_outside_unless_the_group_is_captured(group: PlacementGroup) -> None:
    assert of(children, group) == of(children, group, False) == [None, None]
    assert of(children, group, True) == [group.id.hex()] * 2
    assert of(children, group) == [None, None], "also after a task that captured"


def test_children_of_children_are_in_the_group_too(group: PlacementGroup) -> None:
    assert of(grandchildren, group, True) == [group.id.hex()] * 2
    assert of(grandchildren, group) == [None, None]


def test_children_of_actors(group: PlacementGroup) -> None:
    for capture, wanted in ((True, group.id.hex()), (False, None), (None, None)):
        member = Member.options(scheduling_strategy=InGroup(group, 0, capture)).remote()
        assert eagleray.get(member.group_id.remote(), timeout=PATIENCE_S) == group.id.hex()
        assert eagleray.get(member.children.remote(), timeout=PATIENCE_S) == [wanted] * 2


def test_children_of_constructors_coroutines_and_threads(group: PlacementGroup) -> None:
    @eagleray.remote(num_cpus=0)
    class Coroutines:
        def __init__(self) -> None:
            self.first = eagleray.get(group_id.remote())

        async def children(self) -> tuple[str | None, str | None]:
            await asyncio.sleep(0)
            return self.first, await group_id.remote()

    @eagleray.remote(num_cpus=0, max_concurrency=3, concurrency_groups={"io": 1})
    class Threads:
        def child(self) -> tuple[str | None, PlacementGroup | None]:
            return eagleray.get(group_id.remote()), get_current_placement_group()

        @eagleray.method(concurrency_group="io")
        def io(self) -> tuple[str | None, PlacementGroup | None]:
            return self.child()

    inside = InGroup(group, 0, True)
    coroutines = Coroutines.options(scheduling_strategy=inside).remote()
    found = eagleray.get([coroutines.children.remote() for _ in range(5)], timeout=PATIENCE_S)
    assert found == [(group.id.hex(),) * 2] * 5
    threads = Threads.options(scheduling_strategy=inside).remote()
    calls = [threads.child.remote() for _ in range(6)] + [threads.io.remote()]
    assert eagleray.get(calls, timeout=PATIENCE_S) == [(group.id.hex(), group)] * 7


def test_children_that_say_otherwise(group: PlacementGroup) -> None:
    with made([{"CPU": 1}]) as other:

        @eagleray.remote(num_cpus=0)
        def says(other: PlacementGroup) -> list[str | None]:
            options: list[dict[str, object]] = [
                {"placement_group": None},
                {"scheduling_strategy": InGroup(None)},
                {"scheduling_strategy": "DEFAULT"},
                {"scheduling_strategy": "SPREAD"},
                {"placement_group": other},
                {"placement_group": "default"},
                {"placement_group_capture_child_tasks": False},
            ]
            refs = [group_id.options(**chosen).remote() for chosen in options]
            refs += [Member.options(**chosen).remote().group_id.remote() for chosen in options]
            found: list[str | None] = eagleray.get(refs)
            return found

        wanted = [None, None, None, None, other.id.hex(), group.id.hex(), None]
        assert of(says, group, True, other) == wanted * 2


def test_a_task_may_capture_its_group_for_one_child(group: PlacementGroup) -> None:
    @eagleray.remote(num_cpus=0)
    def one() -> list[str | None]:
        child = group_id.options(placement_group_capture_child_tasks=True)
        found: list[str | None] = eagleray.get([child.remote(), group_id.remote()])
        return found

    assert of(one, group) == [group.id.hex(), None]


def test_a_child_that_fits_no_bundle_is_refused(group: PlacementGroup) -> None:
    @eagleray.remote(num_cpus=0)
    def large() -> str:
        try:
            group_id.options(num_cpus=3).remote()
        except ValueError as error:
            return str(error)
        return ""

    assert "no bundle has so much" in str(of(large, group, True))
    assert of(large, group) == ""


def test_children_use_what_their_group_has(group: PlacementGroup) -> None:
    """The parent holds nothing, so two children of one CPU run at once in a bundle of two, and a third one waits."""

    @eagleray.remote
    def child() -> str | None:
        return eagleray.get_runtime_context().get_placement_group_id()

    @eagleray.remote(num_cpus=0)
    def parent() -> list[str | None]:
        found: list[str | None] = eagleray.get([child.remote() for _ in range(6)])
        return found

    assert of(parent, group, True) == [group.id.hex()] * 6
