"""How placement groups end, how long those with a name and detached ones live, and those that never fit."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import eagleray
import pytest
from eagleray._private.ids import PlacementGroupID
from eagleray.exceptions import (
    ActorDiedError,
    ActorPlacementGroupRemoved,
    PlacementGroupUnschedulableError,
    RayActorError,
    RaySystemError,
    TaskPlacementGroupRemoved,
)
from eagleray.util.placement_group import (
    PlacementGroup,
    get_placement_group,
    placement_group,
    placement_group_table,
    remove_placement_group,
)
from grouping import InGroup, Member, becomes_free, group_id, made, ready
from pace import PATIENCE_S, becomes, until

pytestmark = pytest.mark.usefixtures("ray")


def test_removal_fails_tasks_that_wait_and_that_run(tmp_path: Path) -> None:
    @eagleray.remote(max_retries=3)
    def stays() -> None:
        (tmp_path / str(os.getpid())).touch()
        until(lambda: False, "the task is ended", seconds=3600)

    becomes_free(4.0)
    group = ready(placement_group([{"CPU": 1}]))
    strategy = InGroup(group, 0)
    refs = [stays.options(scheduling_strategy=strategy).remote() for _ in range(3)]
    until(lambda: list(tmp_path.iterdir()))
    remove_placement_group(group)
    for ref in refs:
        with pytest.raises(TaskPlacementGroupRemoved):
            eagleray.get(ref, timeout=PATIENCE_S)
    assert len(list(tmp_path.iterdir())) == 1, "no task was tried again"
    becomes_free(4.0)
    until(lambda: not _alive(int(next(tmp_path.iterdir()).name)), "the worker has ended")


def _alive(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def test_removal_ends_actors() -> None:
    becomes_free(4.0)
    group = ready(placement_group([{"CPU": 1}]))
    actor = Member.options(num_cpus=1, max_restarts=-1, scheduling_strategy=InGroup(group, 0)).remote()
    assert eagleray.get(actor.group_id.remote(), timeout=PATIENCE_S) == group.id.hex()
    remove_placement_group(group)

    def how_it_ended() -> type[BaseException] | None:
        try:
            eagleray.get(actor.group_id.remote(), timeout=PATIENCE_S)
        except RayActorError as error:
            assert isinstance(error, ActorDiedError)
            return type(error)
        return None

    becomes(how_it_ended, ActorPlacementGroupRemoved)
    becomes_free(4.0)


def test_removal_fails_actors_that_wait() -> None:
    becomes_free(4.0)
    with made([{"CPU": 4}]) as all_of_it:
        ready(all_of_it)
        group = placement_group([{"CPU": 1}])
        call = Member.options(scheduling_strategy=InGroup(group)).remote().group_id.remote()
        assert eagleray.wait([call], timeout=0.2)[0] == []
        remove_placement_group(group)
        with pytest.raises(ActorPlacementGroupRemoved):
            eagleray.get(call, timeout=PATIENCE_S)


def test_a_removed_group_stays_removed() -> None:
    group = ready(placement_group([{"CPU": 1}]))
    remove_placement_group(group)
    remove_placement_group(group)
    with pytest.raises(TaskPlacementGroupRemoved):
        eagleray.get(group.ready(), timeout=PATIENCE_S)
    with pytest.raises(TaskPlacementGroupRemoved):
        group.wait(60)
    with pytest.raises(TaskPlacementGroupRemoved):
        eagleray.get(group_id.options(placement_group=group).remote(), timeout=PATIENCE_S)
    actor = Member.options(placement_group=group).remote()
    with pytest.raises(ActorPlacementGroupRemoved):
        eagleray.get(actor.group_id.remote(), timeout=PATIENCE_S)
    assert placement_group_table(group)["state"] == "REMOVED" and group.bundle_specs == [{"CPU": 1.0}]
    becomes_free(4.0)


def test_removal_of_a_group_that_waits() -> None:
    becomes_free(4.0)
    with made([{"CPU": 4}]) as all_of_it:
        ready(all_of_it)
        group = placement_group([{"CPU": 1}])
        waits = group.ready()
        remove_placement_group(group)
        with pytest.raises(TaskPlacementGroupRemoved):
            eagleray.get(waits, timeout=PATIENCE_S)
    becomes_free(4.0)


# ---- names and lifetimes ---------------------------------------------------


def test_names_are_taken_until_their_group_is_removed() -> None:
    with made([{"CPU": 1}], name="named") as group:
        assert get_placement_group("named") == group and get_placement_group("named").bundle_specs == [{"CPU": 1.0}]
        with pytest.raises(RaySystemError, match="'named'"):
            placement_group([{"CPU": 1}], name="named")

        @eagleray.remote(num_cpus=0)
        def find() -> Any:
            return get_placement_group("named")

        assert eagleray.get(find.remote(), timeout=PATIENCE_S) == group
    with pytest.raises(ValueError, match="Failed to look up placement group"):
        get_placement_group("named")
    with made([{"CPU": 1}], name="named") as again:
        assert get_placement_group("named") == again != group


def test_a_group_ends_with_the_actor_that_has_made_it_unless_it_is_detached() -> None:
    @eagleray.remote(num_cpus=0)
    class Makes:
        def make(self, lifetime: str | None) -> Any:
            group = placement_group([{"CPU": 1}], lifetime=lifetime)
            assert group.wait(60)
            return group

    becomes_free(4.0)
    actor = Makes.remote()
    short, long = eagleray.get([actor.make.remote(None), actor.make.remote("detached")], timeout=PATIENCE_S)
    assert placement_group_table(short)["state"] == placement_group_table(long)["state"] == "CREATED"
    eagleray.kill(actor)
    becomes(lambda: placement_group_table(short)["state"], "REMOVED")
    assert placement_group_table(long)["state"] == "CREATED"
    remove_placement_group(long)
    becomes_free(4.0)


def test_a_group_ends_with_its_job_unless_it_is_detached(session: Any, script: Callable[..., Any]) -> None:
    becomes_free(4.0)
    script(
        f"""
        import eagleray as ray
        from eagleray.util.placement_group import placement_group

        ray.init({session["address"]!r}, namespace="tests")
        for name, lifetime in (("short", None), ("long", "detached")):
            assert placement_group([{{"CPU": 1}}], name=name, lifetime=lifetime).wait(60)
        """
    )
    states = {row["name"]: row["state"] for row in placement_group_table().values() if row["name"] in ("short", "long")}
    assert states["long"] == "CREATED"

    def is_gone() -> bool:
        try:
            get_placement_group("short")
        except ValueError:
            return True
        return False

    until(is_gone, "the group of the program that has ended is removed")
    group = get_placement_group("long")
    assert eagleray.get(group_id.options(placement_group=group).remote(), timeout=PATIENCE_S) == group.id.hex()
    remove_placement_group(group)
    becomes_free(4.0)


# ---- groups that never fit -------------------------------------------------


@pytest.mark.parametrize(
    ("bundles", "strategy", "says"),
    [
        ([{"CPU": 5}], "PACK", "CPU"),
        ([{"CPU": 2}, {"CPU": 3}], "PACK", "together"),
        ([{"CPU": 1}, {"nowhere": 1}], "SPREAD", "nowhere"),
        ([{"CPU": 1}, {"CPU": 1}], "STRICT_SPREAD", "STRICT_SPREAD"),
        ([{"GPU": 3}], "STRICT_PACK", "GPU"),
    ],
)
def test_a_group_that_never_fits_is_an_error_at_once(bundles: Any, strategy: str, says: str) -> None:
    with made(bundles, strategy) as group:
        with pytest.raises(PlacementGroupUnschedulableError, match=says):
            group.wait(PATIENCE_S)
        with pytest.raises(PlacementGroupUnschedulableError, match=says):
            eagleray.get(group.ready(), timeout=PATIENCE_S)
        assert placement_group_table(group)["state"] == "PENDING"
    becomes_free(4.0)


def test_infeasible_wait_brings_the_way_of_ray_back(script: Callable[..., Any]) -> None:
    script(
        """
        import eagleray as ray
        from eagleray.util.placement_group import placement_group, placement_group_table

        ray.init(num_cpus=1, infeasible="wait", log_to_driver=False)
        group = placement_group([{"CPU": 2}])
        assert not group.wait(0.5)
        ref = group.ready()
        assert ray.wait([ref], timeout=0.5) == ([], [ref])
        assert placement_group_table(group)["state"] == "PENDING"
        """
    )


def test_a_detached_actor_that_is_restarted_leaves_no_group_behind() -> None:
    @eagleray.remote(num_cpus=0, max_restarts=1, max_task_retries=-1)
    class Maker:
        def make(self) -> str:
            return ready(placement_group([{"CPU": 1}], name="made by a detached actor")).id.hex()

        def lasting(self) -> str:
            return ready(placement_group([{"CPU": 1}], lifetime="detached")).id.hex()

    becomes_free(4.0)
    actor = Maker.options(name="maker", lifetime="detached").remote()
    first, kept = eagleray.get([actor.make.remote(), actor.lasting.remote()], timeout=PATIENCE_S)
    eagleray.kill(actor, no_restart=False)
    becomes(lambda: placement_group_table()[first]["state"], "REMOVED")
    second = eagleray.get(actor.make.remote(), timeout=PATIENCE_S)  # the name is free again
    assert placement_group_table()[second]["state"] == placement_group_table()[kept]["state"] == "CREATED"
    eagleray.kill(actor)
    becomes(lambda: placement_group_table()[second]["state"], "REMOVED")
    remove_placement_group(PlacementGroup(PlacementGroupID.from_hex(kept)))
    becomes_free(4.0)
