"""Placement groups: made, waited for, worked in."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import eagleray
import pytest
from eagleray.exceptions import GetTimeoutError
from eagleray.util.placement_group import (
    PlacementGroup,
    get_current_placement_group,
    placement_group,
    placement_group_table,
    remove_placement_group,
)
from grouping import InGroup, Member, becomes_free, free, group_id, made, ready
from pace import PATIENCE_S, meet, until

pytestmark = pytest.mark.usefixtures("ray")


def test_a_group_becomes_ready_and_sets_resources_aside() -> None:
    becomes_free(4.0)
    with made([{"CPU": 1}, {"CPU": 2}]) as group:
        found = eagleray.get(group.ready(), timeout=PATIENCE_S)
        assert isinstance(found, PlacementGroup) and found == group and group.wait(0) and group.wait()
        assert group.bundle_count == 2 and found.bundle_specs == [{"CPU": 1.0}, {"CPU": 2.0}]
        becomes_free(1.0)
        row = placement_group_table(group)
        assert row["state"] == "CREATED" and row["strategy"] == "PACK" and row["name"] == ""
        assert row["bundles"] == {0: {"CPU": 1.0}, 1: {"CPU": 2.0}}
        here = eagleray.get_runtime_context().get_node_id()
        assert row["bundles_to_node_id"] == {0: here, 1: here}
    becomes_free(4.0)


def test_a_task_runs_in_the_bundle_that_it_names(tmp_path: Path) -> None:
    @eagleray.remote
    def meets(folder: Path) -> tuple[str | None, dict[str, float]]:
        meet(folder, 3)
        return eagleray.get_runtime_context().get_placement_group_id(), (
            eagleray.get_runtime_context().get_assigned_resources()
        )

    with made([{"CPU": 1}, {"CPU": 2}]) as group:
        ready(group)
        first = meets.options(scheduling_strategy=InGroup(group, 0))
        second = meets.options(scheduling_strategy=InGroup(group, placement_group_bundle_index=1))
        refs = [first.remote(tmp_path), second.remote(tmp_path), second.remote(tmp_path)]
        assert eagleray.get(refs, timeout=PATIENCE_S) == [(group.id.hex(), {"CPU": 1.0})] * 3


def test_tasks_wait_for_room_in_their_bundle(tmp_path: Path) -> None:
    @eagleray.remote
    def stays(name: str) -> str:
        (tmp_path / name).touch()
        until(lambda: (tmp_path / "go").exists())
        return name

    with made([{"CPU": 1}, {"CPU": 1}]) as group:
        ready(group)
        in_first = stays.options(scheduling_strategy=InGroup(group, 0))
        refs = [in_first.remote("a"), in_first.remote("b")]
        other = stays.options(scheduling_strategy=InGroup(group, 1)).remote("c")
        until(lambda: (tmp_path / "c").exists() and {"a", "b"} & {path.name for path in tmp_path.iterdir()})
        with pytest.raises(GetTimeoutError):
            eagleray.get(refs, timeout=0.3)
        assert len(list(tmp_path.iterdir())) == 2, "one of the two tasks of the first bundle waits"
        (tmp_path / "go").touch()
        assert eagleray.get([*refs, other], timeout=PATIENCE_S) == ["a", "b", "c"]


def test_work_without_a_bundle_runs_in_any(tmp_path: Path) -> None:
    @eagleray.remote
    def meets() -> str | None:
        meet(tmp_path, 3)
        return eagleray.get_runtime_context().get_placement_group_id()

    with made([{"CPU": 1}, {"CPU": 2}]) as group:
        refs = [meets.options(scheduling_strategy=InGroup(group)).remote() for _ in range(3)]
        assert eagleray.get(refs, timeout=PATIENCE_S) == [group.id.hex()] * 3


def test_the_older_options_name_a_group_and_a_bundle() -> None:
    with made([{"CPU": 1}, {"slot": 1}]) as group:
        assert eagleray.get(group_id.options(placement_group=group).remote(), timeout=PATIENCE_S) == group.id.hex()
        ref = group_id.options(placement_group=group, placement_group_bundle_index=1, resources={"slot": 1}).remote()
        assert eagleray.get(ref, timeout=PATIENCE_S) == group.id.hex()
        member = Member.options(placement_group=group, placement_group_bundle_index=0, num_cpus=1).remote()
        assert eagleray.get(member.group_id.remote(), timeout=PATIENCE_S) == group.id.hex()
        assert eagleray.get(group_id.remote(), timeout=PATIENCE_S) is None


def test_an_actor_lives_in_its_bundle() -> None:
    becomes_free(4.0)
    with made([{"CPU": 2}]) as group:
        ready(group)
        member = Member.options(num_cpus=2, scheduling_strategy=InGroup(group, 0)).remote()
        assert eagleray.get(member.group_id.remote(), timeout=PATIENCE_S) == group.id.hex()
        becomes_free(2.0)
        assert free() == 2.0, "what it holds was set aside before"
    becomes_free(4.0)


def test_an_actor_that_restarts_is_in_its_group_again() -> None:
    import os

    @eagleray.remote(num_cpus=1, max_restarts=1, max_task_retries=1)
    class Dies(Member._decorated):  # type: ignore[misc, name-defined]
        def pid(self) -> int:
            return os.getpid()

    with made([{"CPU": 1}]) as group:
        dies = Dies.options(scheduling_strategy=InGroup(group, 0)).remote()
        first = eagleray.get(dies.pid.remote(), timeout=PATIENCE_S)
        os.kill(first, 9)
        until(lambda: eagleray.get(dies.pid.remote(), timeout=PATIENCE_S) != first)
        assert eagleray.get(dies.group_id.remote(), timeout=PATIENCE_S) == group.id.hex()


def test_a_worker_that_leaves_a_group_is_in_none() -> None:
    """Workers are used again: what one was told about a group must not stay with it."""

    @eagleray.remote
    def where() -> tuple[PlacementGroup | None, str | None, bool]:
        runtime = eagleray.get_runtime_context()
        capture = runtime.should_capture_child_tasks_in_placement_group
        return get_current_placement_group(), runtime.get_placement_group_id(), capture

    with made([{"CPU": 1}]) as group, made([{"CPU": 1}]) as other:
        for wanted, capture in [(group, True), (None, False), (other, False), (group, False), (None, False)]:
            options = {} if wanted is None else {"scheduling_strategy": InGroup(wanted, 0, capture)}
            found = eagleray.get(where.options(**options).remote(), timeout=PATIENCE_S)
            assert found == (wanted, wanted.id.hex() if wanted else None, capture)


def test_handles_travel_in_arguments_values_closures_and_results() -> None:
    with made([{"CPU": 1}], name="travels") as group:

        @eagleray.remote(num_cpus=0)
        def closes() -> tuple[bool, int]:
            return group.wait(60), group.bundle_count

        @eagleray.remote(num_cpus=0)
        def takes(given: PlacementGroup, inside: list[PlacementGroup], ref: PlacementGroup) -> PlacementGroup:
            assert given == inside[0] == ref and len({given, inside[0], ref}) == 1
            assert given.bundle_specs == [{"CPU": 1.0}]
            return given

        assert eagleray.get(closes.remote(), timeout=PATIENCE_S) == (True, 1)
        ref = eagleray.put(group)
        assert eagleray.get(takes.remote(group, [group], ref), timeout=PATIENCE_S) == group

        @eagleray.remote(num_cpus=0)
        def uses(given: PlacementGroup) -> str | None:
            return eagleray.get(group_id.options(scheduling_strategy=InGroup(given, 0)).remote())

        assert eagleray.get(uses.remote(group), timeout=PATIENCE_S) == group.id.hex()


def test_a_task_makes_a_group_and_removes_it() -> None:
    @eagleray.remote(num_cpus=0)
    def makes() -> tuple[str | None, str, str]:
        group = placement_group([{"CPU": 1}])
        found = eagleray.get(group_id.options(scheduling_strategy=InGroup(group)).remote())
        remove_placement_group(group)
        return found, group.id.hex(), placement_group_table(group)["state"]

    found, made_id, state = eagleray.get(makes.remote(), timeout=PATIENCE_S)
    assert found == made_id and state == "REMOVED"
    becomes_free(4.0)


def test_groups_wait_for_what_others_have() -> None:
    becomes_free(4.0)
    with made([{"CPU": 3}]) as first:
        ready(first)
        with made([{"CPU": 3}]) as second:
            assert not second.wait(0.2) and placement_group_table(second)["state"] == "PENDING"
            waits = second.ready()
            assert eagleray.wait([waits], timeout=0) == ([], [waits])
            remove_placement_group(first)
            assert eagleray.get(waits, timeout=PATIENCE_S) == second and second.wait(0)
    becomes_free(4.0)


def test_work_waits_for_its_group() -> None:
    becomes_free(4.0)
    with made([{"CPU": 4}]) as first:
        ready(first)
        with made([{"CPU": 2}]) as second:
            task = group_id.options(num_cpus=1, scheduling_strategy=InGroup(second, 0)).remote()
            member = Member.options(num_cpus=1, scheduling_strategy=InGroup(second)).remote()
            call = member.group_id.remote()
            assert eagleray.wait([task, call], num_returns=2, timeout=0.3) == ([], [task, call])
            remove_placement_group(first)
            assert eagleray.get([task, call], timeout=PATIENCE_S) == [second.id.hex()] * 2


def test_fractions_memory_and_custom_resources() -> None:
    becomes_free(4.0)
    with made([{"CPU": 0.5, "slot": 0.25, "memory": 1 << 20}]) as group:
        ready(group)
        becomes_free(3.5)
        half = group_id.options(num_cpus=0.5, resources={"slot": 0.25}, memory=1 << 20, placement_group=group)
        assert eagleray.get(half.remote(), timeout=PATIENCE_S) == group.id.hex()
        with pytest.raises(ValueError, match="no bundle has so much"):
            group_id.options(resources={"slot": 0.5}, placement_group=group).remote()
        with pytest.raises(ValueError, match="no bundle has so much"):
            group_id.options(memory=2 << 20, placement_group=group).remote()


def test_work_that_fits_no_bundle_or_names_none_is_refused() -> None:
    with made([{"CPU": 1}]) as group:
        for target in (group_id, Member):
            with pytest.raises(ValueError, match="Cannot schedule"):
                target.options(num_cpus=2, scheduling_strategy=InGroup(group)).remote()
            with pytest.raises(ValueError, match="bundle index 1 is invalid"):
                target.options(scheduling_strategy=InGroup(group, 1)).remote()
            with pytest.raises(ValueError, match="there is no placement group"):
                target.options(placement_group_bundle_index=0).remote()


def test_many_groups_in_turn_leave_nothing_behind() -> None:
    becomes_free(4.0)
    groups = [placement_group([{"CPU": 0.5}, {"CPU": 0.5}]) for _ in range(20)]  # five times what there is
    for group in groups:
        assert eagleray.get(group_id.options(placement_group=group).remote(), timeout=PATIENCE_S) == group.id.hex()
        remove_placement_group(group)
    becomes_free(4.0)
    table: dict[str, Any] = placement_group_table()
    assert all(table[group.id.hex()]["state"] == "REMOVED" for group in groups)
