"""Large objects that go between the nodes of a cluster, also when they do not fit into the nodes' memory."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from typing import Any

import eagleray as ray
import pytest
from eagleray.cluster_utils import Cluster
from pace import until

np = pytest.importorskip("numpy")

pytestmark = pytest.mark.timeout(300)

ARENA = 100_000_000
LIMIT = 60.0
NODES = ("one", "two", "three", "four")


@pytest.fixture(scope="module")
def cluster() -> Iterator[Cluster]:
    """Four nodes with small arenas. Each has a resource of its name."""
    assert not ray.is_initialized(), "another fixture's session is running"
    made = Cluster()
    try:
        for name in NODES:
            made.add_node(num_cpus=2, object_store_memory=ARENA, resources={name: 1000}, node_name=name, wait=False)
        made.wait_for_nodes()
        made.connect()
        yield made
    finally:
        made.shutdown()


def at(node: str, function: Callable[..., Any], *arguments: Any, **options: Any) -> Any:
    """Runs a function on a node."""
    return ray.remote(num_cpus=0, resources={node: 1}, **options)(function).remote(*arguments)


def stats(node: str) -> dict[str, int]:
    """What a node's store has and has done."""

    def ask() -> dict[str, int]:
        import msgpack
        from eagleray._private.state import process

        said = msgpack.unpackb(process.require().hot.rpc("obj_stats", b"", 5000))
        return {**said.pop("spilling"), **said}

    found: dict[str, int] = ray.get(at(node, ask))
    return found


def noise(seed: int, size: int) -> Any:
    """Bytes that do not shrink when they are compressed."""
    return np.random.default_rng(seed).integers(0, 256, size, dtype=np.uint8)


def check(seed: int, size: int) -> Callable[[Any], bool]:
    """A function that says whether it got that noise."""

    def same(value: Any) -> bool:
        import numpy as np

        return bool(np.array_equal(value, np.random.default_rng(seed).integers(0, 256, size, dtype=np.uint8)))

    return same


def empty() -> bool:
    """Whether no node has an object, in memory or on disk."""
    return not any(stats(node)["objects"] for node in NODES)


def test_all_nodes_read_one_object_at_once(cluster: Cluster) -> None:
    """70 MB go from node to node. Then a fourth node reads from all that have it."""
    ref = ray.put(noise(1, 70_000_000))
    same = check(1, 70_000_000)
    assert ray.get([at(node, same, ref) for node in ("two", "three")], timeout=LIMIT) == [True, True]
    assert ray.get(at("four", same, ref), timeout=LIMIT)
    del ref
    until(empty, LIMIT)


def test_arguments_of_three_arenas(cluster: Cluster) -> None:
    """Neither the node that has the arguments nor the one that reads them has room for all.

    What lies on disk is sent from there, and copies are not written to disk.
    """
    before = {node: stats(node) for node in ("one", "two")}
    size = 10_000_000
    refs = [ray.put(noise(i, size)) for i in range(30)]
    assert stats("one")["spill_bytes"] > before["one"]["spill_bytes"], "the arguments fit into one arena"
    assert all(ray.get([at("two", check(i, size), ref) for i, ref in enumerate(refs)], timeout=LIMIT))
    after = {node: stats(node) for node in ("one", "two")}
    assert after["two"]["spill_bytes"] == before["two"]["spill_bytes"], "copies were written to disk"
    assert after["one"]["restore_bytes"] == before["one"]["restore_bytes"], "objects came back to be sent"
    del refs
    until(empty, LIMIT)


def test_the_reader_has_no_room(cluster: Cluster) -> None:
    """A task whose node's arena is full of what others need gets its argument all the same."""

    def full(refs: list[Any], mine: list[Any]) -> bool:
        import eagleray as ray
        import numpy as np

        held = [ray.put(np.full(20_000_000, i, dtype=np.uint8)) for i in range(4)]
        views = ray.get(held)  # pinned: they cannot leave
        value = ray.get(refs[0])
        return all(view[-1] == i for i, view in enumerate(views)) and bool((value == mine[0]).all())

    ref = ray.put(np.full(60_000_000, 7, dtype=np.uint8))
    assert ray.get(at("two", full, [ref], [7]), timeout=LIMIT)
    del ref
    until(empty, LIMIT)


def test_freed_while_it_is_pulled(cluster: Cluster) -> None:
    """An object whose owner lets go of it while another node reads it leaves nothing on any node."""
    for wait in (0.0, 0.005, 0.02, 0.05, 0.1):
        ref = ray.put(noise(2, 60_000_000))
        reads = [at(node, check(2, 60_000_000), ref) for node in ("two", "three")]
        time.sleep(wait)  # at any moment of the pull
        for read in reads:
            ray.cancel(read, force=True)
        del ref, reads, read
    until(empty, LIMIT)


def test_a_result_that_its_owner_drops_goes_from_all_nodes(cluster: Cluster) -> None:
    def make() -> Any:
        import numpy as np

        return np.full(30_000_000, 3, dtype=np.uint8)

    ref = at("two", make)
    last = [at(node, lambda value: int(value[-1]), ref) for node in ("three", "four", "one")]
    assert ray.get(last, timeout=LIMIT) == [3, 3, 3]
    assert stats("three")["objects"] + stats("four")["objects"] > 0
    del ref, last
    until(empty, LIMIT)
