"""Scheduling strategies of tasks over four nodes."""

from __future__ import annotations

import os
import time
import uuid
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import eagleray
import numpy as np
import pytest
from eagleray.cluster_utils import Cluster
from eagleray.exceptions import ActorUnschedulableError, TaskUnschedulableError
from eagleray.util.scheduling_strategies import NodeAffinitySchedulingStrategy as Affinity
from pace import until

pytestmark = pytest.mark.timeout(300)


class Nodes:
    """A cluster of four nodes with four CPUs each. The program works on the first one."""

    def __init__(self) -> None:
        self.cluster = Cluster(initialize_head=True, head_node_args={"num_cpus": 4, "node_name": "first"})
        self.ids = {"first": self.cluster.head_node.node_id if self.cluster.head_node else ""}
        try:
            for name, more in (("second", {"resources": {"b": 4}}), ("third", {}), ("gpus", {"num_gpus": 2})):
                node = self.cluster.add_node(num_cpus=4, node_name=name, **more)
                self.ids[name] = node.node_id
            self.cluster.wait_for_nodes()
            self.cluster.connect()
        except BaseException:
            self.cluster.shutdown()
            raise

    def names(self, found: list[str]) -> Counter[str]:
        """How often each node was found, by its name."""
        name = {node: name for name, node in self.ids.items()}
        return Counter(name[node] for node in found)

    def quiet(self) -> None:
        """Waits until nothing of the test before holds a resource of any node."""
        until(lambda: eagleray.available_resources().get("CPU") == 16.0)


@pytest.fixture(scope="module")
def four() -> Iterator[Nodes]:
    eagleray.shutdown()
    nodes = Nodes()
    try:
        yield nodes
    finally:
        nodes.cluster.shutdown()


@pytest.fixture
def nodes(four: Nodes) -> Nodes:
    four.quiet()
    return four


def here() -> str:
    return eagleray.get_runtime_context().get_node_id()


@eagleray.remote
def stays(seconds: float) -> str:
    time.sleep(seconds)
    return here()


@eagleray.remote
def holds(folder: Path) -> str:
    """Says that it runs, and runs until the folder has a file ``go``."""
    (folder / uuid.uuid4().hex).touch()
    while not (folder / "go").exists():
        time.sleep(0.02)
    return here()


def at_once(folder: Path, refs: list[Any]) -> list[str]:
    """Where tasks run that all run at the same time."""
    until(lambda: len(list(folder.iterdir())) == len(refs))
    (folder / "go").touch()
    found: list[str] = eagleray.get(refs, timeout=60)
    return found


def test_spread_uses_all_nodes_alike(nodes: Nodes, tmp_path: Path) -> None:
    spread = holds.options(scheduling_strategy="SPREAD")
    found = nodes.names(at_once(tmp_path, [spread.remote(tmp_path) for _ in range(8)]))
    assert found == dict.fromkeys(nodes.ids, 2), found


def test_default_fills_nodes_to_half_and_those_with_accelerators_last(nodes: Nodes, tmp_path: Path) -> None:
    found = nodes.names(at_once(tmp_path, [holds.remote(tmp_path) for _ in range(6)]))
    assert found == {"first": 2, "second": 2, "third": 2}, found


def test_default_fills_all_nodes(nodes: Nodes, tmp_path: Path) -> None:
    found = nodes.names(at_once(tmp_path, [holds.remote(tmp_path) for _ in range(16)]))
    assert found == dict.fromkeys(nodes.ids, 4), found


def test_large_arguments_come_first(nodes: Nodes) -> None:
    """A task runs where its large argument is, although its own node has room."""
    third = Affinity(nodes.ids["third"], soft=False)
    made = eagleray.remote(scheduling_strategy=third)(lambda: np.zeros(1_000_000)).remote()
    eagleray.wait([made], fetch_local=False)
    takes = eagleray.remote(lambda x: (here(), x.nbytes))
    assert eagleray.get(takes.remote(made)) == (nodes.ids["third"], 8_000_000)
    mine = eagleray.put(np.zeros(1_000_000))
    assert eagleray.get(takes.options(num_cpus=2).remote(mine)) == (nodes.ids["first"], 8_000_000)
    both = eagleray.remote(num_cpus=1.5)(lambda x, y: here())
    more = eagleray.remote(scheduling_strategy=third)(lambda: np.zeros(2_000_000)).remote()
    eagleray.wait([more], fetch_local=False)
    assert eagleray.get(both.remote(mine, more)) == nodes.ids["third"]


@pytest.mark.parametrize("name", ["first", "second", "gpus"])
def test_a_named_node_alone_runs_the_tasks(nodes: Nodes, name: str) -> None:
    there = stays.options(scheduling_strategy=Affinity(nodes.ids[name], soft=False))
    found = nodes.names(eagleray.get([there.remote(0.05) for _ in range(20)]))
    assert found == {name: 20}, found


def test_many_tasks_on_a_named_node(nodes: Nodes) -> None:
    there = eagleray.remote(scheduling_strategy=Affinity(nodes.ids["third"], soft=True))(here)
    assert nodes.names(eagleray.get([there.remote() for _ in range(500)])) == {"third": 500}


def test_a_softly_named_node_that_is_busy_is_waited_for(nodes: Nodes) -> None:
    there = stays.options(scheduling_strategy=Affinity(nodes.ids["second"], soft=True), num_cpus=4)
    found = nodes.names(eagleray.get([there.remote(0.3) for _ in range(3)]))
    assert found == {"second": 3}, found


def test_nodes_that_are_not_there(nodes: Nodes) -> None:
    unknown = os.urandom(28).hex()
    hard = stays.options(scheduling_strategy=Affinity(unknown, soft=False))
    with pytest.raises(TaskUnschedulableError, match=f"on node {unknown} .* no such node of the cluster is alive"):
        eagleray.get(hard.remote(0), timeout=30)
    soft = stays.options(scheduling_strategy=Affinity(unknown, soft=True))
    assert eagleray.get(soft.remote(0), timeout=30) in nodes.ids.values()


def test_a_named_node_that_is_too_small(nodes: Nodes) -> None:
    hard = stays.options(scheduling_strategy=Affinity(nodes.ids["third"], soft=False), resources={"b": 1})
    with pytest.raises(TaskUnschedulableError, match=r"which can never give .*b: asked 1, the node has none"):
        eagleray.get(hard.remote(0), timeout=30)
    soft = stays.options(scheduling_strategy=Affinity(nodes.ids["third"], soft=True), resources={"b": 1})
    assert eagleray.get(soft.remote(0), timeout=30) == nodes.ids["second"]


def test_resources_name_nodes(nodes: Nodes) -> None:
    by_custom = stays.options(resources={"b": 1})
    assert nodes.names(eagleray.get([by_custom.remote(0.05) for _ in range(8)])) == {"second": 8}
    by_address = stays.options(resources={"node:127.0.0.1": 0.01})
    assert eagleray.get(by_address.remote(0), timeout=30) in nodes.ids.values()
    assert nodes.names(eagleray.get([stays.options(num_gpus=1).remote(0.05) for _ in range(4)])) == {"gpus": 4}


def test_a_worker_of_another_node_names_nodes(nodes: Nodes) -> None:
    first, third = nodes.ids["first"], nodes.ids["third"]

    @eagleray.remote
    def submits() -> list[Any]:
        back = stays.options(scheduling_strategy=Affinity(first, soft=False))
        spread = stays.options(scheduling_strategy="SPREAD")
        return [here(), eagleray.get(back.remote(0)), eagleray.get([spread.remote(0.5) for _ in range(4)])]

    there = submits.options(scheduling_strategy=Affinity(third, soft=False))
    own, back, spread = eagleray.get(there.remote())
    assert own == third and back == first
    assert len(set(spread)) > 1, nodes.names(spread)


def test_a_node_that_leaves(nodes: Nodes, tmp_path: Path) -> None:
    node = nodes.cluster.add_node(num_cpus=1, node_name="fifth")
    nodes.cluster.wait_for_nodes()
    hard = stays.options(scheduling_strategy=Affinity(node.node_id, soft=False), max_retries=1)
    soft = stays.options(scheduling_strategy=Affinity(node.node_id, soft=True), max_retries=1)
    assert eagleray.get([hard.remote(0), soft.remote(0)]) == [node.node_id] * 2
    there = Affinity(node.node_id, soft=False)
    runs = holds.options(scheduling_strategy=there, max_retries=1).remote(tmp_path)
    until(lambda: list(tmp_path.iterdir()))
    waits = soft.remote(0)
    ready, _ = eagleray.wait([waits], timeout=0.5)
    assert not ready
    nodes.cluster.remove_node(node)
    # For ten seconds another node might take its place. But none takes its id, so nothing here waits for one.
    begun = time.monotonic()
    assert eagleray.get(waits, timeout=30) in nodes.ids.values()
    assert eagleray.get(soft.remote(0), timeout=30) in nodes.ids.values()
    for ref in (runs, hard.remote(0)):
        with pytest.raises(TaskUnschedulableError, match="no such node of the cluster is alive"):
            eagleray.get(ref, timeout=30)
    actor = Stays.options(scheduling_strategy=there).remote()
    with pytest.raises(ActorUnschedulableError, match="no such node of the cluster is alive"):
        eagleray.get(actor.where.remote(), timeout=30)
    assert time.monotonic() - begun < 9


def test_ids_that_are_none_are_refused_at_once() -> None:
    none: tuple[Any, ...] = ("abc", "x" * 56, 7)
    for wrong in none:
        with pytest.raises(ValueError, match="ids of nodes have 56 hexadecimal digits"):
            stays.options(scheduling_strategy=Affinity(wrong, soft=False))
    with pytest.raises(ValueError, match="takes 'DEFAULT', 'SPREAD', a NodeAffinitySchedulingStrategy, a Node"):
        stays.options(scheduling_strategy="PACK")


@pytest.mark.parametrize(("option", "soft"), [("_spill_on_unavailable", False), ("_fail_on_unavailable", True)])
def test_options_of_an_affinity_that_contradict_each_other_are_refused(option: str, soft: bool) -> None:
    node = "ab" * 28
    assert Affinity(node, soft, **{option: False}) == Affinity(node, soft=soft)
    with pytest.raises(ValueError, match=f"{option}=True needs soft={not soft}"):
        Affinity(node, soft, **{option: True})
    assert Affinity(node, not soft, **{option: True}) != Affinity(node, not soft)


def test_an_actor_that_fits_the_sum_and_no_node(nodes: Nodes) -> None:
    @eagleray.remote(num_cpus=5)
    class Large:
        pass

    with pytest.raises(ActorUnschedulableError, match=r'nodes of the cluster have at most .*"CPU": 4.*CPU: asked 5'):
        eagleray.get(Large.remote().__ray_ready__.remote(), timeout=30)

    @eagleray.remote(num_gpus=1, resources={"b": 1})
    class Both:
        pass

    with pytest.raises(ActorUnschedulableError, match=r'"GPU": 2, "b": 4} \(no node has all of it\)'):
        eagleray.get(Both.remote().__ray_ready__.remote(), timeout=30)


@eagleray.remote(num_cpus=0)
class Stays:
    def where(self) -> str:
        return here()


def test_actors_follow_strategies(nodes: Nodes) -> None:
    for name in ("second", "gpus"):
        there = Stays.options(scheduling_strategy=Affinity(nodes.ids[name], soft=False))
        assert nodes.names(eagleray.get([there.remote().where.remote() for _ in range(3)])) == {name: 3}
    actors = [Stays.options(scheduling_strategy="SPREAD").remote() for _ in range(8)]
    assert nodes.names(eagleray.get([actor.where.remote() for actor in actors])) == dict.fromkeys(nodes.ids, 2)


def test_an_actor_that_names_a_node_that_is_not_there(nodes: Nodes) -> None:
    unknown = os.urandom(28).hex()
    hard = Stays.options(scheduling_strategy=Affinity(unknown, soft=False)).remote()
    with pytest.raises(ActorUnschedulableError, match=f"on node {unknown} .* no such node of the cluster is alive"):
        eagleray.get(hard.where.remote(), timeout=30)
    soft = Stays.options(scheduling_strategy=Affinity(unknown, soft=True)).remote()
    assert eagleray.get(soft.where.remote(), timeout=30) in nodes.ids.values()
