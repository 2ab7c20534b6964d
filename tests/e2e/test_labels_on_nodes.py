"""Labels of nodes over three nodes: what tasks and actors ask of them, and where these run."""

from __future__ import annotations

import os
import signal
from collections import Counter
from collections.abc import Iterator
from typing import Any

import eagleray
import numpy as np
import pytest
from eagleray.cluster_utils import Cluster
from eagleray.exceptions import ActorUnschedulableError, TaskUnschedulableError
from eagleray.util.placement_group import placement_group
from eagleray.util.scheduling_strategies import (
    DoesNotExist,
    Exists,
    In,
    NodeAffinitySchedulingStrategy,
    NodeLabelSchedulingStrategy,
    NotIn,
    PlacementGroupSchedulingStrategy,
)
from pace import until

pytestmark = pytest.mark.timeout(300)


@pytest.fixture(scope="module")
def three() -> Iterator[Cluster]:
    """Nodes in the zones a, b and b, with 1, 2 and 2 CPUs. The program works on the first one."""
    eagleray.shutdown()
    cluster = Cluster(initialize_head=True, head_node_args={"num_cpus": 1, "node_name": "one", "labels": {"zone": "a"}})
    try:
        cluster.add_node(num_cpus=2, node_name="two", labels={"zone": "b", "tier": "spot"}, resources={"x": 1})
        cluster.add_node(num_cpus=2, node_name="three", labels={"zone": "b", "tier": "large"})
        cluster.wait_for_nodes()
        cluster.connect()
        yield cluster
    finally:
        cluster.shutdown()


@pytest.fixture
def nodes(three: Cluster) -> Iterator[Cluster]:
    until(lambda: eagleray.available_resources().get("CPU") == 5.0)
    yield three


def here() -> str:
    mine = eagleray.get_runtime_context().get_node_id()
    name: str = next(node["NodeName"] for node in eagleray.nodes() if node["NodeID"] == mine)
    return name


@eagleray.remote
def where() -> str:
    return here()


@eagleray.remote(num_cpus=1)
class Place:
    def where(self) -> str:
        return here()

    def pid(self) -> int:
        return os.getpid()


def found(count: int = 12, **options: Any) -> set[str]:
    """On which nodes tasks run."""
    return set(eagleray.get([where.options(**options).remote() for _ in range(count)], timeout=60))


def of_actor(**options: Any) -> str:
    actor = Place.options(**options).remote()
    name: str = eagleray.get(actor.where.remote(), timeout=60)
    eagleray.kill(actor)
    return name


@pytest.mark.parametrize(
    ("selector", "allowed"),
    [
        ({"zone": "a"}, {"one"}),
        ({"zone": "!a"}, {"two", "three"}),
        ({"zone": "in(b,c)"}, {"two", "three"}),
        ({"zone": "!in(b,c)"}, {"one"}),
        ({"tier": "spot"}, {"two"}),
        ({"tier": "!spot"}, {"one", "three"}),
        ({"zone": "b", "tier": "large"}, {"three"}),
    ],
)
def test_tasks_and_actors_run_on_nodes_that_a_selector_allows(
    nodes: Cluster, selector: dict[str, str], allowed: set[str]
) -> None:
    assert found(label_selector=selector) <= allowed
    assert of_actor(label_selector=selector) in allowed


@pytest.mark.parametrize(
    ("strategy", "allowed"),
    [
        (NodeLabelSchedulingStrategy({"zone": In("b")}), {"two", "three"}),
        (NodeLabelSchedulingStrategy({"zone": NotIn("b")}), {"one"}),
        (NodeLabelSchedulingStrategy({"tier": Exists()}), {"two", "three"}),
        (NodeLabelSchedulingStrategy({"tier": DoesNotExist()}), {"one"}),
        (NodeLabelSchedulingStrategy({"zone": In("b")}, soft={"tier": In("large")}), {"two", "three"}),
    ],
)
def test_tasks_and_actors_run_on_nodes_that_a_strategy_of_labels_allows(
    nodes: Cluster, strategy: NodeLabelSchedulingStrategy, allowed: set[str]
) -> None:
    assert found(scheduling_strategy=strategy) <= allowed
    assert of_actor(scheduling_strategy=strategy) in allowed


def test_soft_labels_come_first_while_there_is_room(nodes: Cluster) -> None:
    prefers = NodeLabelSchedulingStrategy({}, soft={"tier": In("large")})
    held = [Place.options(scheduling_strategy=prefers).remote() for _ in range(3)]
    names = [eagleray.get(actor.where.remote(), timeout=60) for actor in held]
    assert names[:2] == ["three", "three"] and names[2] in ("one", "two"), names


def test_fallback_strategy_is_tried_in_order(nodes: Cluster) -> None:
    options: dict[str, Any] = {
        "label_selector": {"tier": "spot"},
        "fallback_strategy": [{"label_selector": {"tier": "gone"}}, {"label_selector": {"zone": "a"}}],
    }
    held = []
    for _ in range(3):
        held.append(Place.options(**options).remote())
        eagleray.get(held[-1].where.remote(), timeout=60)
    assert [eagleray.get(actor.where.remote()) for actor in held] == ["two", "two", "one"]
    waits = where.options(**options).remote()
    assert eagleray.wait([waits], timeout=0.5)[0] == []  # no node of the list has room
    eagleray.kill(held[2])
    assert eagleray.get(waits, timeout=60) == "one"


def test_tasks_take_the_first_alternative_with_room(nodes: Cluster) -> None:
    """The program's own node is the worse alternative and has room, too."""
    options: dict[str, Any] = {
        "label_selector": {"tier": "large"},
        "fallback_strategy": [{"label_selector": {"zone": "a"}}],
    }
    assert found(1, **options) == {"three"}
    held = [Place.options(label_selector={"tier": "large"}).remote() for _ in range(2)]
    eagleray.get([actor.where.remote() for actor in held], timeout=60)
    assert found(1, **options) == {"one"}


def test_labels_go_with_spread_resources_and_a_named_node(nodes: Cluster) -> None:
    assert found(8, label_selector={"zone": "b"}, scheduling_strategy="SPREAD") == {"two", "three"}
    assert found(4, label_selector={"zone": "b"}, resources={"x": 0.1}) == {"two"}
    two = next(node["NodeID"] for node in eagleray.nodes() if node["NodeName"] == "two")
    hard, soft = (NodeAffinitySchedulingStrategy(two, soft=soft) for soft in (False, True))
    assert found(4, label_selector={"zone": "b"}, scheduling_strategy=hard) == {"two"}
    assert found(4, label_selector={"zone": "a"}, scheduling_strategy=soft) == {"one"}
    with pytest.raises(TaskUnschedulableError, match="zone=a"):
        found(1, label_selector={"zone": "a"}, scheduling_strategy=hard)
    assert found(4, label_selector={"ray.io/node-id": two}) == {"two"}


def test_labels_that_no_node_has_are_an_error_at_once(nodes: Cluster) -> None:
    with pytest.raises(TaskUnschedulableError, match="zone=c, and no node that is alive has them"):
        found(1, label_selector={"zone": "c"})
    with pytest.raises(ActorUnschedulableError, match="zone=c, and no node that is alive has them"):
        of_actor(label_selector={"zone": "c"})
    with pytest.raises(TaskUnschedulableError, match="none can ever give"):
        found(1, label_selector={"zone": "a"}, num_cpus=2)
    with pytest.raises(TaskUnschedulableError, match="none can ever give"):
        found(1, label_selector={"tier": "large"}, resources={"x": 1})


def test_labels_in_a_placement_group(nodes: Cluster) -> None:
    group = placement_group([{"CPU": 1}, {"CPU": 1}], bundle_label_selector=[{"tier": "spot"}, {"tier": "large"}])
    eagleray.get(group.ready(), timeout=60)
    inside = PlacementGroupSchedulingStrategy(group)
    assert found(4, scheduling_strategy=inside, label_selector={"tier": "large"}) == {"three"}
    assert of_actor(scheduling_strategy=inside, label_selector={"tier": "spot"}) == "two"
    with pytest.raises(TaskUnschedulableError, match="the bundles of its placement group are on nodes without them"):
        found(1, scheduling_strategy=inside, label_selector={"zone": "a"})
    with pytest.raises(ActorUnschedulableError, match="the bundles of its placement group are on nodes without them"):
        of_actor(scheduling_strategy=inside, label_selector={"zone": "a"})
    eagleray.util.remove_placement_group(group)


def test_an_actor_restarts_on_a_node_with_its_labels(nodes: Cluster) -> None:
    actor = Place.options(label_selector={"tier": "large"}, max_restarts=3, max_task_retries=-1).remote()
    before = eagleray.get(actor.pid.remote(), timeout=60)
    for _ in range(2):
        os.kill(before, signal.SIGKILL)
        until(lambda dead=before: eagleray.get(actor.pid.remote(), timeout=60) != dead)
        before = eagleray.get(actor.pid.remote(), timeout=60)
        assert eagleray.get(actor.where.remote(), timeout=60) == "three"


def test_tasks_that_are_tried_again_keep_their_labels(nodes: Cluster) -> None:
    @eagleray.remote(max_retries=3, label_selector={"tier": "large"})
    def dies(counter: Any) -> str:
        if eagleray.get(counter.next.remote()) < 3:
            os._exit(1)
        return here()

    @eagleray.remote(num_cpus=0)
    class Counter_:
        count = 0

        def next(self) -> int:
            self.count += 1
            return self.count

    assert eagleray.get(dies.remote(Counter_.remote()), timeout=60) == "three"


def test_lost_objects_are_computed_on_nodes_with_the_labels(nodes: Cluster) -> None:
    @eagleray.remote(label_selector={"zone": "lost"})
    def makes() -> Any:
        return here(), np.zeros(1_000_000)

    first = nodes.add_node(num_cpus=1, node_name="first", labels={"zone": "lost"})
    made = makes.remote()
    eagleray.wait([made], timeout=60, fetch_local=False)
    second = nodes.add_node(num_cpus=1, node_name="second", labels={"zone": "lost"})
    nodes.remove_node(first, allow_graceful=False)
    assert eagleray.get(made, timeout=60)[0] == "second"
    nodes.remove_node(second)


def test_children_do_not_inherit_labels(nodes: Cluster) -> None:
    @eagleray.remote(num_cpus=0, label_selector={"tier": "large"})
    def parent() -> list[str]:
        return [here(), *eagleray.get([where.options(label_selector={"zone": "a"}).remote()])]

    assert eagleray.get(parent.remote(), timeout=60) == ["three", "one"]


def test_two_selectors_of_one_function_do_not_share_workers(nodes: Cluster) -> None:
    refs = []
    for _ in range(20):
        refs += [where.options(label_selector={"tier": tier}).remote() for tier in ("spot", "large")]
    names = eagleray.get(refs, timeout=60)
    assert Counter(names[::2]) == {"two": 20} and Counter(names[1::2]) == {"three": 20}


def test_labels_are_listed(nodes: Cluster) -> None:
    for node in (node for node in eagleray.nodes() if node["alive"]):
        assert node["Labels"]["ray.io/node-id"] == node["NodeID"]
        assert node["Labels"]["zone"] == ("a" if node["NodeName"] == "one" else "b")
    get = eagleray.remote(lambda: eagleray.get_runtime_context().get_node_labels())
    there = eagleray.get(get.options(label_selector={"tier": "spot"}).remote(), timeout=60)
    assert there["tier"] == "spot" and there["ray.io/node-id"] != eagleray.get_runtime_context().get_node_id()
    listed = {
        row.node_name: row.labels.get("tier")
        for row in eagleray.util.state.list_nodes(detail=True)
        if row.state == "ALIVE"
    }
    assert listed == {"one": None, "two": "spot", "three": "large"}


def test_a_node_that_joins_later_takes_what_waits_for_its_labels() -> None:
    eagleray.shutdown()
    cluster = Cluster(initialize_head=True, head_node_args={"num_cpus": 1, "env_vars": {"EAGLERAY_INFEASIBLE": "wait"}})
    try:
        cluster.connect()
        task = where.options(label_selector={"zone": "c"}).remote()
        actor = Place.options(scheduling_strategy=NodeLabelSchedulingStrategy({"zone": In("c")})).remote()
        called = actor.where.remote()
        assert eagleray.wait([task, called], timeout=0.3)[0] == []
        cluster.add_node(num_cpus=1, node_name="wrong", labels={"zone": "d"})
        assert eagleray.wait([task, called], timeout=0.3)[0] == []
        cluster.add_node(num_cpus=2, node_name="late", labels={"zone": "c"})
        assert eagleray.get([task, called], timeout=60) == ["late", "late"]
    finally:
        cluster.shutdown()
