"""Placement groups over four nodes: where the bundles lie, and what becomes of them when a node is lost."""

from __future__ import annotations

from collections.abc import Iterator

import eagleray
import pytest
from eagleray.cluster_utils import Cluster
from eagleray.exceptions import PlacementGroupUnschedulableError
from eagleray.util.placement_group import PlacementGroup, placement_group, placement_group_table, remove_placement_group
from grouping import InGroup, becomes_free, made, ready
from pace import PATIENCE_S, becomes, until

pytestmark = pytest.mark.timeout(300)


@pytest.fixture(scope="module")
def cluster() -> Iterator[Cluster]:
    """Four nodes with two CPUs each. The program works on the first one."""
    eagleray.shutdown()
    nodes = Cluster(initialize_head=True, head_node_args={"num_cpus": 2, "_system_config": {"node_timeout": 5}})
    try:
        for _ in range(3):
            nodes.add_node(num_cpus=2)
        nodes.wait_for_nodes()
        nodes.connect()
        yield nodes
    finally:
        eagleray.shutdown()
        nodes.shutdown()


@pytest.fixture(autouse=True)
def quiet(cluster: Cluster) -> None:
    total = eagleray.cluster_resources()["CPU"]
    becomes_free(total)


def nodes_of(group: PlacementGroup) -> list[str]:
    """The node of each bundle."""
    return list(placement_group_table(group)["bundles_to_node_id"].values())


@eagleray.remote
def node() -> str:
    return eagleray.get_runtime_context().get_node_id()


def where(group: PlacementGroup) -> list[str]:
    """Where a task of each bundle runs."""
    refs = [node.options(scheduling_strategy=InGroup(group, index)).remote() for index in range(group.bundle_count)]
    found: list[str] = eagleray.get(refs, timeout=PATIENCE_S)
    return found


@pytest.mark.parametrize(
    ("strategy", "bundles", "nodes"),
    [
        ("PACK", 2, 1),
        ("STRICT_PACK", 2, 1),
        ("PACK", 4, 2),
        ("SPREAD", 4, 4),
        ("SPREAD", 6, 4),
        ("STRICT_SPREAD", 4, 4),
    ],
)
def test_bundles_lie_where_the_strategy_says_and_tasks_run_there(strategy: str, bundles: int, nodes: int) -> None:
    def nodes_used() -> int:
        with made([{"CPU": 1}] * bundles, strategy) as group:
            ready(group)
            found = nodes_of(group)
            assert "" not in found and where(group) == found
            return len(set(found))

    if strategy.startswith("STRICT"):
        assert nodes_used() == nodes
    else:  # the head chooses by what it has heard of, and may not have heard yet that the group before is gone
        becomes(nodes_used, nodes)


@pytest.mark.parametrize(("strategy", "bundles"), [("STRICT_PACK", 3), ("STRICT_SPREAD", 5), ("PACK", 9)])
def test_what_the_nodes_can_never_have_is_an_error(strategy: str, bundles: int) -> None:
    with made([{"CPU": 1}] * bundles, strategy) as group:
        with pytest.raises(PlacementGroupUnschedulableError):
            group.wait(PATIENCE_S)
        with pytest.raises(PlacementGroupUnschedulableError):
            eagleray.get(group.ready(), timeout=PATIENCE_S)


def test_an_actor_lives_on_the_node_of_its_bundle() -> None:
    @eagleray.remote(num_cpus=1)
    class Where:
        def node(self) -> str:
            return eagleray.get_runtime_context().get_node_id()

    with made([{"CPU": 1}] * 4, "STRICT_SPREAD") as group:
        actors = [Where.options(scheduling_strategy=InGroup(group, index)).remote() for index in range(4)]
        found = eagleray.get([actor.node.remote() for actor in actors], timeout=PATIENCE_S)
        assert found == nodes_of(group)


def test_groups_of_a_detached_actor_end_when_a_kill_restarts_it() -> None:
    @eagleray.remote(num_cpus=0, max_restarts=1, max_task_retries=-1)
    class Maker:
        def __init__(self) -> None:
            self.made = ready(placement_group([{"CPU": 1}] * 2, "STRICT_SPREAD"))

        def group(self) -> PlacementGroup:
            return self.made

    actor = Maker.options(name="maker", lifetime="detached").remote()
    first = eagleray.get(actor.group.remote(), timeout=PATIENCE_S)
    eagleray.kill(actor, no_restart=False)
    becomes(lambda: placement_group_table(first)["state"], "REMOVED")
    second = eagleray.get(actor.group.remote(), timeout=PATIENCE_S)
    assert second != first and placement_group_table(second)["state"] == "CREATED"
    eagleray.kill(actor)
    becomes(lambda: placement_group_table(second)["state"], "REMOVED")


def test_bundles_of_a_lost_node_are_placed_again(cluster: Cluster) -> None:
    more = cluster.add_node(num_cpus=2, resources={"here": 1})
    cluster.wait_for_nodes()
    group = ready(placement_group([{"CPU": 1, "here": 1}, {"CPU": 1}], "STRICT_SPREAD"))
    assert nodes_of(group)[0] == more.node_id
    kept = nodes_of(group)[1]
    in_first = node.options(scheduling_strategy=InGroup(group, 0))
    cluster.remove_node(more)
    becomes(lambda: placement_group_table(group)["state"], "RESCHEDULING")
    assert nodes_of(group)[1] == kept
    again = cluster.add_node(num_cpus=2, resources={"here": 1})
    ref = in_first.remote()
    until(lambda: placement_group_table(group)["state"] == "CREATED")
    assert nodes_of(group) == [again.node_id, kept]
    assert eagleray.get(ref, timeout=PATIENCE_S) == again.node_id and group.wait(60)
    remove_placement_group(group)
    cluster.remove_node(again)
    becomes(lambda: eagleray.cluster_resources().get("CPU"), 8.0)
