"""Tasks run on the node that holds most bytes of their large arguments, over three nodes."""

from __future__ import annotations

import uuid
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import eagleray
import numpy as np
import pytest
from eagleray.cluster_utils import Cluster
from eagleray.util.placement_group import placement_group, remove_placement_group
from eagleray.util.scheduling_strategies import NodeAffinitySchedulingStrategy, PlacementGroupSchedulingStrategy
from pace import until

pytestmark = pytest.mark.timeout(300)


class Nodes:
    """A cluster of three nodes with four CPUs each. The program works on the first one."""

    def __init__(self) -> None:
        self.cluster = Cluster(initialize_head=True, head_node_args={"num_cpus": 4, "node_name": "first"})
        self.ids = {"first": self.cluster.head_node.node_id if self.cluster.head_node else ""}
        try:
            for name in ("second", "third"):
                self.ids[name] = self.cluster.add_node(num_cpus=4, node_name=name).node_id
            self.cluster.wait_for_nodes()
            self.cluster.connect()
        except BaseException:
            self.cluster.shutdown()
            raise

    def on(self, name: str) -> NodeAffinitySchedulingStrategy:
        """The strategy of a task that runs on one node alone."""
        return NodeAffinitySchedulingStrategy(self.ids[name], soft=False)

    def make(self, name: str, size: int = 1_000_000) -> Any:
        """A value of so many bytes, which lies on one node only."""
        ref = make.options(scheduling_strategy=self.on(name)).remote(size)
        eagleray.wait([ref], fetch_local=False)
        return ref

    def names(self, found: list[str]) -> list[str]:
        name = {node: name for name, node in self.ids.items()}
        return [name[node] for node in found]

    def where(self, *refs: Any) -> list[str]:
        return self.names(eagleray.get(list(refs), timeout=60))


@pytest.fixture(scope="module")
def three() -> Iterator[Nodes]:
    eagleray.shutdown()
    nodes = Nodes()
    try:
        yield nodes
    finally:
        nodes.cluster.shutdown()


@pytest.fixture
def nodes(three: Nodes) -> Nodes:
    until(lambda: eagleray.available_resources().get("CPU") == 12.0)
    return three


@eagleray.remote
def make(size: int) -> Any:
    return np.zeros(size, np.uint8)


@eagleray.remote
def takes(*_: Any) -> str:
    return eagleray.get_runtime_context().get_node_id()


@eagleray.remote
def holds(folder: Path, *_: Any) -> str:
    """Says that it runs, and runs until the folder has a file ``go``."""
    (folder / uuid.uuid4().hex).touch()
    until((folder / "go").exists)
    return eagleray.get_runtime_context().get_node_id()


def test_each_task_of_a_function_goes_to_its_own_argument(nodes: Nodes) -> None:
    """Also while workers are kept for other tasks of the same function."""
    makers = {"second": nodes.make("second"), "third": nodes.make("third"), "first": eagleray.put(np.zeros(1_000_000))}
    for _ in range(5):
        for name, ref in makers.items():
            assert nodes.where(takes.remote(ref)) == [name]
        assert nodes.where(takes.remote(1)) in (["first"], ["second"], ["third"])


def test_a_task_without_large_arguments_stays_here(nodes: Nodes) -> None:
    assert nodes.where(takes.remote(1)) == ["first"]
    assert nodes.where(takes.remote(nodes.make("third", 10))) == ["first"]


def test_an_argument_that_is_not_made_yet(nodes: Nodes) -> None:
    for name in ("third", "second"):
        assert nodes.where(takes.remote(make.options(scheduling_strategy=nodes.on(name)).remote(300_000))) == [name]


def test_most_bytes_decide(nodes: Nodes) -> None:
    mine = eagleray.put(np.zeros(2_000_000, np.uint8))
    assert nodes.where(takes.remote(nodes.make("second"), nodes.make("third", 600_000))) == ["second"]
    parts = [nodes.make("third", 600_000) for _ in range(2)]
    assert nodes.where(takes.remote(nodes.make("second"), *parts)) == ["third"]
    assert nodes.where(takes.remote(nodes.make("second"), mine)) == ["first"]
    assert nodes.where(takes.remote(nodes.make("third", 3_000_000), mine)) == ["third"]


def test_copies_on_other_nodes_count(nodes: Nodes) -> None:
    one, other = nodes.make("second"), nodes.make("third")
    assert nodes.where(takes.options(scheduling_strategy=nodes.on("third")).remote(one)) == ["third"]
    assert nodes.where(takes.remote(one, other)) == ["third"]


def test_borrowed_arguments(nodes: Nodes) -> None:
    """A task of another process, which does not own the arguments and runs on another node."""

    @eagleray.remote(num_cpus=0)
    def passes_on(refs: list[Any]) -> str:
        found: str = eagleray.get(takes.remote(*refs))
        return found

    for at in ("first", "second", "third"):
        for name in ("second", "third"):
            ref = nodes.make(name)
            assert nodes.where(passes_on.options(scheduling_strategy=nodes.on(at)).remote([ref])) == [name], at


def test_results_of_actors_and_generators(nodes: Nodes) -> None:
    @eagleray.remote(num_cpus=0)
    class Maker:
        def make(self) -> Any:
            return np.zeros(1_000_000)

    @eagleray.remote
    def stream() -> Iterator[Any]:
        yield np.zeros(1_000_000)
        yield np.zeros(1_000_000)

    kind: Any = Maker
    maker = kind.options(scheduling_strategy=nodes.on("third")).remote()
    assert nodes.where(takes.remote(maker.make.remote())) == ["third"]
    items: Any = stream.options(scheduling_strategy=nodes.on("second")).remote()
    for ref in items:
        assert nodes.where(takes.remote(ref)) == ["second"]


def test_without_room_another_node_is_used_at_once(nodes: Nodes, tmp_path: Path) -> None:
    ref = nodes.make("third")
    refs = [holds.remote(tmp_path, ref) for _ in range(12)]
    until(lambda: len(list(tmp_path.iterdir())) == 12)
    (tmp_path / "go").touch()
    assert Counter(nodes.where(*refs)) == {"first": 4, "second": 4, "third": 4}


def test_a_full_node_is_not_waited_for(nodes: Nodes, tmp_path: Path) -> None:
    ref = nodes.make("third")
    until(lambda: eagleray.available_resources().get("CPU") == 12.0)
    full = [holds.options(scheduling_strategy=nodes.on("third")).remote(tmp_path) for _ in range(4)]
    until(lambda: len(list(tmp_path.iterdir())) == 4)
    assert nodes.where(takes.remote(ref)) == ["first"]
    (tmp_path / "go").touch()
    eagleray.get(full)


def test_strategies_that_say_where_come_first(nodes: Nodes, tmp_path: Path) -> None:
    ref = nodes.make("third")
    assert nodes.where(takes.options(scheduling_strategy=nodes.on("second")).remote(ref)) == ["second"]
    spread = [holds.options(scheduling_strategy="SPREAD").remote(tmp_path, ref) for _ in range(3)]
    until(lambda: len(list(tmp_path.iterdir())) == 3)
    (tmp_path / "go").touch()
    assert set(nodes.where(*spread)) > {"first"}


def test_in_a_placement_group(nodes: Nodes) -> None:
    group = placement_group([{"CPU": 2}] * 3, strategy="STRICT_SPREAD")
    eagleray.get(group.ready(), timeout=60)
    try:
        inside = PlacementGroupSchedulingStrategy(group)
        refs = {name: nodes.make(name) for name in ("second", "third")}
        for name in ("second", "third", "second"):
            assert nodes.where(takes.options(scheduling_strategy=inside).remote(refs[name])) == [name]
    finally:
        remove_placement_group(group)


def test_the_node_of_the_argument_dies(nodes: Nodes) -> None:
    """The argument is made again, and its task runs where it is made then."""
    node = nodes.cluster.add_node(num_cpus=2, resources={"made": 1}, node_name="brief")
    eagleray.get(takes.options(resources={"made": 1}).remote(), timeout=60)
    ref = make.options(resources={"made": 1}).remote(1_000_000)
    assert eagleray.get(takes.remote(ref)) == node.node_id
    nodes.cluster.remove_node(node, allow_graceful=False)
    late = takes.remote(ref)
    again = nodes.cluster.add_node(num_cpus=2, resources={"made": 1}, node_name="again")
    try:
        assert eagleray.get(late, timeout=120) == again.node_id
    finally:
        nodes.cluster.remove_node(again)
