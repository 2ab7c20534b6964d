"""Work that names a node and does not wait for room there: it goes to another node, or fails."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import eagleray
import pytest
from eagleray.cluster_utils import Cluster
from eagleray.exceptions import ActorUnschedulableError, TaskUnschedulableError
from eagleray.util.scheduling_strategies import NodeAffinitySchedulingStrategy as Affinity
from pace import until

pytestmark = pytest.mark.timeout(300)

BUSY = "has no room for .*CPU.* now.*_fail_on_unavailable"


@pytest.fixture(scope="module")
def two() -> Iterator[list[str]]:
    """A cluster of two nodes with one CPU and with two. The program works on the first one."""
    eagleray.shutdown()
    cluster = Cluster(initialize_head=True, head_node_args={"num_cpus": 1, "node_name": "first"})
    try:
        other = cluster.add_node(num_cpus=2, node_name="second")
        cluster.wait_for_nodes()
        cluster.connect()
        assert cluster.head_node
        yield [cluster.head_node.node_id, other.node_id]
    finally:
        cluster.shutdown()


@pytest.fixture
def nodes(two: list[str]) -> list[str]:
    until(lambda: eagleray.available_resources().get("CPU") == 3.0)
    return two


@eagleray.remote
def here() -> str:
    return eagleray.get_runtime_context().get_node_id()


@eagleray.remote(num_cpus=1)
class Stays:
    def where(self) -> str:
        return eagleray.get_runtime_context().get_node_id()


def fill(node: str, count: int) -> list[Any]:
    """Actors that hold a CPU each of a node."""
    actors = [Stays.options(scheduling_strategy=Affinity(node, soft=False)).remote() for _ in range(count)]
    assert eagleray.get([actor.where.remote() for actor in actors], timeout=60) == [node] * count
    return actors


@pytest.mark.parametrize("named", [0, 1])
def test_a_task_that_spills_leaves_a_node_without_room_and_comes_back(nodes: list[str], named: int) -> None:
    node, other = nodes[named], nodes[1 - named]
    spills = here.options(scheduling_strategy=Affinity(node, True, _spill_on_unavailable=True))
    assert eagleray.get(spills.remote(), timeout=60) == node
    actors = fill(node, named + 1)
    assert eagleray.get([spills.remote() for _ in range(3)], timeout=60) == [other] * 3
    for actor in actors:
        eagleray.kill(actor)
    until(lambda: eagleray.available_resources().get("CPU") == 3.0)
    assert eagleray.get(spills.remote(), timeout=60) == node


@pytest.mark.parametrize("named", [0, 1])
def test_an_actor_that_spills_leaves_a_node_without_room(nodes: list[str], named: int) -> None:
    node, other = nodes[named], nodes[1 - named]
    spills = Stays.options(scheduling_strategy=Affinity(node, True, _spill_on_unavailable=True))
    actors = [spills.remote() for _ in range(3)]
    found = eagleray.get([actor.where.remote() for actor in actors], timeout=60)
    assert sorted(found) == sorted([nodes[0], nodes[1], nodes[1]])
    assert found[0] == node
    waits = spills.remote()
    assert eagleray.wait([waits.where.remote()], timeout=1)[0] == []
    eagleray.kill(actors[found.index(other)])
    assert eagleray.get(waits.where.remote(), timeout=60) == other
    for actor in [waits, *actors]:
        eagleray.kill(actor)


@pytest.mark.parametrize("named", [0, 1])
def test_work_that_fails_does_so_when_its_node_has_no_room(nodes: list[str], named: int, tmp_path: Path) -> None:
    node = nodes[named]
    now = Affinity(node, False, _fail_on_unavailable=True)
    assert eagleray.get([here.options(scheduling_strategy=now).remote() for _ in range(3)], timeout=60) == [node] * 3
    actors = fill(node, named + 1)
    failing = here.options(scheduling_strategy=now).remote()
    with pytest.raises(TaskUnschedulableError, match=BUSY):
        eagleray.get(failing, timeout=60)
    dead = Stays.options(scheduling_strategy=now, max_restarts=3).remote()
    with pytest.raises(ActorUnschedulableError, match=BUSY):
        eagleray.get(dead.where.remote(), timeout=60)
    for actor in actors:
        eagleray.kill(actor)
    until(lambda: eagleray.available_resources().get("CPU") == 3.0)
    with pytest.raises(ActorUnschedulableError, match=BUSY):  # it is dead, also now that there is room
        eagleray.get(dead.where.remote(), timeout=60)
    assert eagleray.get(here.options(scheduling_strategy=now).remote(), timeout=60) == node
    lives = Stays.options(scheduling_strategy=now).remote()
    assert eagleray.get(lives.where.remote(), timeout=60) == node


def test_a_lone_node_fails_and_waits_too() -> None:
    eagleray.shutdown()
    eagleray.init(address="local", num_cpus=1)
    node = eagleray.get_runtime_context().get_node_id()
    (holder,) = fill(node, 1)
    now = Affinity(node, False, _fail_on_unavailable=True)
    with pytest.raises(TaskUnschedulableError, match=BUSY):
        eagleray.get(here.options(scheduling_strategy=now).remote(), timeout=60)
    with pytest.raises(ActorUnschedulableError, match=BUSY):
        eagleray.get(Stays.options(scheduling_strategy=now).remote().where.remote(), timeout=60)
    waits = here.options(scheduling_strategy=Affinity(node, True, _spill_on_unavailable=True)).remote()
    assert eagleray.wait([waits], timeout=1)[0] == []
    eagleray.kill(holder)
    assert eagleray.get(waits, timeout=60) == node
    eagleray.shutdown()
