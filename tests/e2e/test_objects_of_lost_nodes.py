"""Objects whose copies, owners or makers were on a node that is killed."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import eagleray
import pytest
from eagleray.cluster_utils import Cluster, ClusterNode
from losing import stored
from pace import PATIENCE_S, until

np = pytest.importorskip("numpy")
pytestmark = pytest.mark.timeout(240)

MANY = 100_000  # float64: goes through the store
LIMIT = PATIENCE_S


class Nodes:
    """A cluster of which tests kill nodes. The program works on a node with the resource ``home``."""

    def __init__(self) -> None:
        self.cluster = Cluster(initialize_head=True, head_node_args={"num_cpus": 2, "resources": {"home": 100}})

    def add(self, name: str = "", **more: Any) -> ClusterNode:
        """A node with the resource ``far``, and with one of its own if it gets a name."""
        resources = {"far": 100, **({name: 100} if name else {})}
        return self.cluster.add_node(num_cpus=2, resources=resources, **more)

    def kill(self, node: ClusterNode) -> None:
        """Kills a node's daemon. Whoever notices that, and when, is what the tests are about."""
        os.kill(int(node.pid), signal.SIGKILL)

    def clear(self) -> None:
        """Takes out all nodes but the first."""
        for node in list(self.cluster.worker_nodes):
            self.cluster.remove_node(node)

    def by_id(self, node_id: str) -> ClusterNode:
        return next(node for node in self.cluster.worker_nodes if node.node_id == node_id)


@pytest.fixture(scope="module")
def shared() -> Iterator[Nodes]:
    made = Nodes()
    try:
        with eagleray.init(address=made.cluster.address, log_to_driver=False):
            yield made
    finally:
        made.cluster.shutdown()


@pytest.fixture
def nodes(shared: Nodes) -> Iterator[Nodes]:
    yield shared
    shared.clear()
    until(lambda: stored() == 0, "nothing is left in the store of the program's node")


def on(name: str, **options: Any) -> Callable[[Any], Any]:
    """A task for a node with this resource."""
    return eagleray.remote(num_cpus=0.1, resources={name: 1}, **options)


def where() -> str:
    return str(eagleray.get_runtime_context().get_node_id())


def note(path: Path) -> None:
    """Notes that a task has begun."""
    with open(path, "a") as file:
        file.write("x")


def runs(path: Path) -> int:
    return len(path.read_text()) if path.exists() else 0


def get(refs: Any) -> Any:
    return eagleray.get(refs, timeout=LIMIT)


def ready(*refs: Any) -> None:
    done, _ = eagleray.wait(list(refs), num_returns=len(refs), timeout=LIMIT, fetch_local=False)
    assert len(done) == len(refs)


def test_computed_again_on_another_node(nodes: Nodes, tmp_path: Path) -> None:
    first, second = nodes.add(), nodes.add()

    @on("far")
    def make(x: int) -> Any:
        note(tmp_path / "runs")
        return {"node": where(), "data": np.full(MANY, x)}

    ref = make.remote(7)
    ready(ref)
    node = get(on("far")(lambda value: value["node"]).remote(ref))
    assert node in (first.node_id, second.node_id) and runs(tmp_path / "runs") == 1
    nodes.kill(first)
    nodes.kill(second)
    third = nodes.add()
    value = get(ref)
    assert value["node"] == third.node_id and int(value["data"].sum()) == 7 * MANY
    assert runs(tmp_path / "runs") == 2


def test_chain_whose_parts_nobody_holds(nodes: Nodes, tmp_path: Path) -> None:
    first = nodes.add()

    @on("far")
    def start() -> Any:
        note(tmp_path / "start")
        return np.arange(MANY)

    @on("far")
    def double(x: Any) -> Any:
        note(tmp_path / "double")
        return x * 2

    ref = double.remote(double.remote(start.remote()))
    ready(ref)
    nodes.kill(first)
    nodes.add()
    assert (get(ref) == np.arange(MANY) * 4).all()
    assert (runs(tmp_path / "start"), runs(tmp_path / "double")) == (2, 4)


def test_copy_takes_the_place_of_the_primary(nodes: Nodes) -> None:
    """What cannot be made again is read from the node that has read it before."""
    first, other = nodes.add("b"), nodes.add("c")

    @on("b", max_retries=0)
    def make() -> Any:
        return np.frombuffer(os.urandom(8 * MANY), np.int64)

    mine, theirs = make.remote(), make.remote()
    total = on("c")(lambda x: int(x.sum()))
    before = int(get(mine).sum()), get(total.remote(theirs))
    nodes.kill(first)
    assert get(total.remote(mine)) == before[0]
    assert int(get(theirs).sum()) == before[1]
    nodes.kill(other)
    assert (int(get(mine).sum()), int(get(theirs).sum())) == before


def test_cannot_be_computed_again(nodes: Nodes) -> None:
    first = nodes.add()
    make = on("far", max_retries=0)(lambda: np.zeros(MANY))
    ref = make.remote()
    ready(ref)
    nodes.kill(first)
    with pytest.raises(eagleray.exceptions.ObjectReconstructionFailedError) as caught:
        get(ref)
    text = str(caught.value)
    assert ref.hex() in text and "max_retries=0" in text and first.node_id in text, text


def test_task_that_ran_there(nodes: Nodes, tmp_path: Path) -> None:
    """A task that a dead node ran is tried again elsewhere; without retries its error names the node."""
    first = nodes.add()

    @on("far")
    def once(path: Path) -> str:
        note(path)
        while runs(path) < 2:
            time.sleep(0.01)
        return where()

    again, never = once.remote(tmp_path / "again"), once.options(max_retries=0).remote(tmp_path / "never")
    until(lambda: runs(tmp_path / "again") == runs(tmp_path / "never") == 1)
    nodes.kill(first)
    with pytest.raises(eagleray.exceptions.NodeDiedError) as caught:
        get(never)
    assert first.node_id in str(caught.value), caught.value
    second = nodes.add()
    assert get(again) == second.node_id


def test_owner_was_there(nodes: Nodes) -> None:
    """What processes of a dead node owned is lost, whoever holds it; who waits hears so."""
    first, other = nodes.add("b"), nodes.add("c")

    @on("b")
    def puts() -> Any:
        def slow() -> Any:
            time.sleep(600)

        return [eagleray.put(np.zeros(MANY)), eagleray.put(5), on("c")(slow).remote()]

    large, small, pending = get(puts.remote())
    copied = get(puts.remote())[0]
    assert get(on("c")(lambda x: float(x.sum())).remote(copied)) == 0
    assert float(get(copied).sum()) == 0
    until(lambda: stored() == 1)
    waits = on("c", max_retries=0)(lambda refs: eagleray.get(refs[0])).remote([pending])
    nodes.kill(first)

    def gone(ref: Any) -> bool:
        try:
            get(ref)
        except eagleray.exceptions.OwnerDiedError:
            return True
        return False

    until(lambda: gone(copied), "the copy is read until the end of the node is known")
    for ref in (large, pending, copied):
        with pytest.raises(eagleray.exceptions.OwnerDiedError) as caught:
            get(ref)
        assert ref.hex() in str(caught.value) and "owne" in str(caught.value)
    with pytest.raises(eagleray.exceptions.OwnerDiedError):
        get(waits)
    assert eagleray.wait([large, pending], num_returns=2, timeout=LIMIT)[1] == []
    with contextlib.suppress(eagleray.exceptions.OwnerDiedError):  # a small value may have come before
        assert get(small) == 5
    until(lambda: stored() == 0, "the copy of the dead owner's object goes")
    idle = on("c")(lambda: 3)
    assert get(idle.options(num_cpus=2).remote()) == 3, "what the dead owner had running ends"
    assert other.node_id


def test_result_of_a_worker_that_is_lost_while_it_writes(nodes: Nodes, tmp_path: Path) -> None:
    first = nodes.add(object_store_memory=400_000_000)

    @on("far", num_returns=2)
    def large() -> Any:
        note(tmp_path / "runs")
        return np.ones(4_000_000), np.ones(20_000_000)

    small, big = large.remote()
    until(lambda: runs(tmp_path / "runs") == 1)
    time.sleep(0.05)  # in the midst of writing, which nothing tells of; any other moment is right, too
    nodes.kill(first)
    nodes.add(object_store_memory=400_000_000)
    assert get(on("far")(lambda a, b: float(a.sum() + b.sum())).remote(small, big)) == 24_000_000


def test_argument_is_lost_while_it_is_read(nodes: Nodes, tmp_path: Path) -> None:
    """A task waits for its argument, whose only copy goes. The argument is computed again, and the task runs once."""
    first = nodes.add("b", object_store_memory=500_000_000)
    nodes.add("c", object_store_memory=500_000_000)

    @on("far")
    def make() -> Any:
        note(tmp_path / "made")
        return np.ones(30_000_000)

    ref = make.options(resources={"b": 1, "far": 1}).remote()
    ready(ref)
    total = on("c")(lambda x: (note(tmp_path / "read"), float(x.sum()))[1]).remote(ref)
    time.sleep(0.05)  # in the midst of reading, which nothing tells of; any other moment is right, too
    nodes.kill(first)
    third = nodes.add("b", object_store_memory=500_000_000)
    assert get(total) == 30_000_000 and runs(tmp_path / "read") == 1
    assert third.node_id


def test_waiting_for_what_is_lost(nodes: Nodes) -> None:
    first = nodes.add()

    @on("far")
    def slow() -> Any:
        time.sleep(1)  # so that the value is not there yet when it is asked for below, on the new node
        return np.ones(MANY)

    ref = slow.remote()
    ready(ref)
    nodes.kill(first)
    until(lambda: eagleray.wait([ref], timeout=0) == ([], [ref]), "the loss is known, and no node can make it yet")
    with pytest.raises(eagleray.exceptions.GetTimeoutError):
        eagleray.get(ref, timeout=0.1)
    nodes.add()
    with pytest.raises(eagleray.exceptions.GetTimeoutError):
        eagleray.get(ref, timeout=0.1)
    assert eagleray.wait([ref], timeout=LIMIT) == ([ref], [])
    assert float(get(ref).sum()) == MANY


def test_generator(nodes: Nodes, tmp_path: Path) -> None:
    """Items that were made, taken or not, and those to come."""
    first = nodes.add()

    @on("far", num_returns="streaming")
    def counts() -> Any:
        note(tmp_path / "runs")
        for i in range(12):
            if i == 6:
                while runs(tmp_path / "runs") < 2:
                    time.sleep(0.01)
            yield np.full(MANY, i)

    gen = counts.remote()
    taken = [next(gen) for _ in range(3)]
    until(lambda: eagleray.wait([taken[2]], timeout=0)[0])
    assert int(get(taken[0])[0]) == 0  # a copy is here now
    nodes.kill(first)
    nodes.add()
    taken += list(gen)
    assert [int(get(ref)[0]) for ref in taken] == list(range(12))


def test_references_inside(nodes: Nodes) -> None:
    """What the owner of the inner ones keeps comes back with the outer one; a dead owner's is lost."""
    first, _ = nodes.add("b"), nodes.add("c")
    inner = on("far")(lambda: np.full(MANY, 3)).options(resources={"b": 1}).remote()

    @on("far")
    def wrap(refs: list[Any]) -> Any:
        return {"given": refs[0], "own": eagleray.put(np.ones(MANY)), "pad": np.zeros(MANY)}

    outer = wrap.options(resources={"b": 1}).remote([inner])
    ready(outer, inner)
    own = get(outer)["own"]
    del outer
    other = wrap.options(resources={"b": 1}).remote([inner])
    ready(other)
    nodes.kill(first)
    with pytest.raises(eagleray.exceptions.OwnerDiedError):
        get(own)
    nodes.add("b")
    again = get(other)
    assert int(get(again["given"])[0]) == 3 and float(get(again["own"]).sum()) == MANY


KEEPER = """
import sys
import eagleray as ray

@ray.remote(num_cpus=0, name="keeper", lifetime="detached")
class Keeper:
    def __init__(self):
        self.refs = []

    def keep(self, refs):
        self.refs += refs

    def read(self):
        found = [float(value.sum()) for value in ray.get(self.refs, timeout=30)]
        self.refs.clear()
        return found

ray.init(address=sys.argv[1], namespace="lost")
keeper = Keeper.remote()
ray.get(keeper.read.remote())
"""


def test_the_one_between_dies(nodes: Nodes, tmp_path: Path) -> None:
    """A reference goes from one node over a second to a third one, and the second is killed then."""
    third = nodes.add("c")
    subprocess.run([sys.executable, "-c", KEEPER, third.session_dir], check=True, timeout=LIMIT)
    keeper = eagleray.get_actor("keeper", "lost")

    @on("b", max_retries=0)
    def between(refs: list[Any], daemon: int, slow: bool) -> None:
        call = eagleray.get_actor("keeper", "lost").keep.remote(refs)
        if slow:
            eagleray.get(call)
        os.kill(daemon, signal.SIGKILL)
        time.sleep(600)

    for i in range(4):
        second = nodes.add("b")
        ref = eagleray.put(np.ones(MANY))
        task = between.remote([ref], int(second.pid), i < 3)
        del ref
        with pytest.raises(eagleray.exceptions.NodeDiedError):
            get(task)
        found = get(keeper.read.remote())
        assert found == [float(MANY)] or (i == 3 and found == []), (i, found)
        nodes.cluster.remove_node(second)
    eagleray.kill(keeper)


def test_older_result_does_not_win(nodes: Nodes, tmp_path: Path) -> None:
    """Each run returns something else. All readers see the same one after the first was lost."""
    first = nodes.add("b")
    nodes.add("c")

    @on("far")
    def make() -> Any:
        note(tmp_path / "runs")
        return np.full(MANY, runs(tmp_path / "runs"))

    ref = make.options(resources={"b": 1}).remote()
    ready(ref)
    nodes.kill(first)
    until(lambda: len([n for n in eagleray.nodes() if n["Alive"]]) == 2)
    again = nodes.add("b")
    look = eagleray.remote(num_cpus=0.1)(lambda x: int(x[0]))
    seen = get([look.options(resources={name: 1}).remote(ref) for name in ("b", "c", "home") * 4])
    assert set(seen) == {2} and int(get(ref)[0]) == 2 and runs(tmp_path / "runs") == 2
    assert again in nodes.cluster.worker_nodes


def test_locations(nodes: Nodes) -> None:
    """``get_object_locations`` follows copies, losses and owners on other nodes."""
    from eagleray.experimental import get_object_locations

    first, second = nodes.add("b"), nodes.add("c")
    here = where()
    ref, small = on("b")(lambda: np.zeros(MANY)).remote(), eagleray.put(1)
    never = on("b")(lambda: time.sleep(600)).remote()
    mine = eagleray.put(np.zeros(MANY))
    ready(ref)
    found = get_object_locations([ref, small, never, mine])
    assert found[ref] == {"node_ids": [first.node_id], "object_size": found[ref]["object_size"], "did_spill": False}
    assert 8 * MANY <= found[ref]["object_size"] < 9 * MANY
    assert found[small]["node_ids"] == [] and found[small]["object_size"] > 0
    assert found[never] == {"node_ids": [], "object_size": None, "did_spill": False}
    assert found[mine]["node_ids"] == [here]
    get(on("c")(lambda x: len(x)).remote(ref))
    assert get_object_locations([ref])[ref]["node_ids"] == [first.node_id, second.node_id]
    there = on("c")(lambda refs: list(get_object_locations(refs).values()))
    assert get(there.remote([ref, mine])) == list(get_object_locations([ref, mine]).values())
    eagleray.cancel(never)
    nodes.kill(first)
    until(lambda: get_object_locations([ref])[ref]["node_ids"] == [second.node_id])
    wrong: Any = [3]
    with pytest.raises(TypeError, match="takes ObjectRefs, got int"):
        get_object_locations(wrong)
