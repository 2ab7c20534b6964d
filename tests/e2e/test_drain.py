"""Nodes that are drained: they get no new work, and leave when they are idle or at their deadline."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import eagleray as ray
import pytest
from eagleray._private.cli import BINARY
from eagleray._private.outside.state import state as global_state
from eagleray.cluster_utils import Cluster, ClusterNode
from eagleray.exceptions import ActorDiedError, NodeDiedError
from eagleray.util import state
from eagleray.util.placement_group import placement_group, placement_group_table
from eagleray.util.scheduling_strategies import NodeAffinitySchedulingStrategy, PlacementGroupSchedulingStrategy
from pace import until

pytestmark = pytest.mark.timeout(300)
PREEMPTION, IDLE = "DRAIN_NODE_REASON_PREEMPTION", "DRAIN_NODE_REASON_IDLE_TERMINATION"


@pytest.fixture(scope="module")
def cluster() -> Iterator[Cluster]:
    """A cluster whose head has no CPU; each test adds the nodes that it drains."""
    ray.shutdown()
    made = Cluster(initialize_head=True, head_node_args={"num_cpus": 0, "node_name": "first"})
    try:
        made.connect()
        yield made
    finally:
        made.shutdown()


@pytest.fixture
def pair(cluster: Cluster) -> Iterator[list[ClusterNode]]:
    """Two nodes: one to be drained, and one that stays."""
    nodes = [cluster.add_node(num_cpus=4, resources={name: 2}, node_name=name) for name in ("leaves", "stays")]
    cluster.wait_for_nodes()
    try:
        yield nodes
    finally:
        for node in nodes:
            cluster.remove_node(node)


def drain(cluster: Cluster, node: str, *more: str, reason: str = PREEMPTION, message: str = "spot") -> Any:
    words = [BINARY, "drain-node", "--address", cluster.address, "--node-id", node, "--reason", reason]
    return subprocess.run(
        [*words, "--reason-message", message, *more], capture_output=True, text=True, timeout=60, check=False
    )


def row(node: ClusterNode) -> dict[str, Any]:
    return next(one for one in ray.nodes() if one["NodeID"] == node.node_id)


def here() -> str:
    return ray.get_runtime_context().get_node_id()


@ray.remote(num_cpus=1)
def work(gate: str, begun: str = "") -> str:
    """Waits for a file, after it has made another one."""
    if begun:
        Path(begun).touch()
    while not os.path.exists(gate):
        time.sleep(0.01)
    return here()


@ray.remote(num_cpus=1)
class Stays:
    def where(self) -> str:
        return here()


def on(node: ClusterNode, soft: bool = True) -> NodeAffinitySchedulingStrategy:
    return NodeAffinitySchedulingStrategy(node.node_id, soft=soft)


def test_work_goes_elsewhere_and_the_node_leaves_when_it_is_idle(
    cluster: Cluster, pair: list[ClusterNode], tmp_path: Path
) -> None:
    leaves, stays = pair
    gate, begun = tmp_path / "gate", tmp_path / "begun"
    runs = work.options(scheduling_strategy=on(leaves), max_retries=0).remote(str(gate), str(begun))
    until(begun.exists)
    done = drain(cluster, leaves.node_id, message="the spot price rose")
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    drained = {"reason": PREEMPTION, "message": "the spot price rose", "deadline_ms": 0}
    assert row(leaves)["Drain"] == drained and "Drain" not in row(stays)
    assert global_state.get_draining_nodes() == {leaves.node_id: 0}
    (shown,) = state.list_nodes(filters=[("node_id", "=", leaves.node_id)])
    assert shown.state == "ALIVE" and "leaves the cluster" in str(shown.state_message)
    status = subprocess.run(
        [BINARY, "status", "--address", cluster.address], capture_output=True, text=True, check=True
    )
    assert "draining node" in status.stdout and "it was preempted: the spot price rose" in status.stdout
    words = [BINARY, "status", "--json", "--address", cluster.address]
    shown_nodes = json.loads(subprocess.run(words, capture_output=True, text=True, check=True).stdout)["nodes"]
    assert {one["name"]: one["state"] for one in shown_nodes} == {
        "first": "alive",
        "leaves": "draining",
        "stays": "alive",
    }
    (head,) = cluster.head_node.all_processes["gcs_server"] if cluster.head_node else ()
    os.kill(head.process.pid, signal.SIGKILL)  # the next process of the head knows it
    open_gate = tmp_path / "open"
    open_gate.touch()
    assert ray.get([work.remote(str(open_gate)) for _ in range(4)], timeout=60) == [stays.node_id] * 4
    actors = [Stays.remote() for _ in range(2)]
    assert ray.get([actor.where.remote() for actor in actors], timeout=60) == [stays.node_id] * 2
    assert row(leaves)["Alive"]
    gate.touch()
    assert ray.get(runs, timeout=60) == leaves.node_id  # what runs comes to its end
    until(lambda: not row(leaves)["Alive"])
    assert row(leaves)["DeathReasonMessage"].startswith("it was preempted: the spot price rose (")
    until(lambda: not leaves.any_processes_alive())
    events = [one for one in state.list_cluster_events(detail=True) if one.custom_fields == {"node_id": leaves.node_id}]
    said = [(one.severity, one.message.partition(") ")[2]) for one in events]
    assert said[0] == ("INFO", "has joined the cluster")
    assert said[1] == ("WARNING", f"gets no new work and leaves the cluster ({PREEMPTION}: the spot price rose)")
    assert said[2][0] == "WARNING" and said[2][1].startswith("is dead: it was preempted: the spot price rose (")
    assert len(said) == 3 and [one.time for one in events] == sorted(one.time for one in events)
    assert state.list_cluster_events(filters=[("event_id", "=", events[2].event_id)])[0].message == events[2].message
    (shown,) = state.list_nodes(filters=[("node_id", "=", leaves.node_id)], detail=True)
    assert shown.start_time_ms and shown.end_time_ms and shown.start_time_ms < shown.end_time_ms
    for actor in actors:
        ray.kill(actor)


def test_a_node_that_works_is_not_drained_for_being_idle(
    cluster: Cluster, pair: list[ClusterNode], tmp_path: Path
) -> None:
    leaves, stays = pair
    gate, begun = tmp_path / "gate", tmp_path / "begun"
    actor = Stays.options(num_cpus=0, scheduling_strategy=on(leaves, soft=False)).remote()
    assert ray.get(actor.where.remote(), timeout=60) == leaves.node_id
    refused = drain(cluster, leaves.node_id, reason=IDLE)
    assert refused.returncode == 1 and "not accepted: the node is not idle: it has 1 actors" in refused.stderr
    ray.kill(actor)
    task = work.options(scheduling_strategy=on(leaves, soft=False)).remote(str(gate), str(begun))
    until(begun.exists)
    refused = drain(cluster, leaves.node_id, reason=IDLE)
    assert refused.returncode == 1 and "not accepted: the node is not idle" in refused.stderr
    assert "Drain" not in row(leaves)
    gate.touch()
    assert ray.get(task, timeout=60) == leaves.node_id
    until(lambda: drain(cluster, leaves.node_id, reason=IDLE).returncode == 0)
    until(lambda: not row(leaves)["Alive"])
    assert row(leaves)["DeathReasonMessage"].startswith("it was idle and was drained: spot (")
    assert drain(cluster, leaves.node_id, reason=IDLE).returncode == 0  # it is drained already
    assert row(stays)["Alive"]


def test_at_the_deadline_the_node_ends_and_actors_move_at_no_cost(
    cluster: Cluster, pair: list[ClusterNode], tmp_path: Path
) -> None:
    leaves, stays = pair
    gate, begun = tmp_path / "gate", tmp_path / "begun"
    moves = Stays.options(scheduling_strategy=on(leaves), max_restarts=1, max_task_retries=-1).remote()
    dies = Stays.options(num_cpus=0, scheduling_strategy=on(leaves)).remote()
    assert ray.get([moves.where.remote(), dies.where.remote()], timeout=60) == [leaves.node_id] * 2
    task = work.options(scheduling_strategy=on(leaves)).remote(str(gate), str(begun))
    until(begun.exists)
    begun.unlink()
    lost = work.options(num_cpus=0, scheduling_strategy=on(leaves), max_retries=0).remote(
        str(gate), str(tmp_path / "lost")
    )
    until((tmp_path / "lost").exists)
    group = placement_group([{"leaves": 0.1, "CPU": 0}, {"stays": 0.1}], strategy="SPREAD")
    movable = placement_group([{"CPU": 0.001}], strategy="PACK")
    assert group.wait(60) and movable.wait(60)
    asked, now_ms = time.monotonic(), time.time_ns() // 10**6
    assert drain(cluster, leaves.node_id, "--deadline-remaining-seconds", "3").returncode == 0
    for deadline_ms in global_state.get_draining_nodes().values():  # none if the node has ended already
        assert now_ms + 3000 <= deadline_ms < now_ms + 60_000
    until(begun.exists)  # the task is tried again
    assert time.monotonic() - asked >= 3
    gate.touch()
    assert ray.get(task, timeout=60) == stays.node_id
    assert ray.get(moves.where.remote(), timeout=60) == stays.node_id
    (shown,) = state.list_actors(filters=[("actor_id", "=", moves._actor_id.hex())], detail=True)
    assert (shown.num_restarts, shown.num_restarts_due_to_node_preemption) == (1, 1)
    with pytest.raises(NodeDiedError, match="it was preempted: spot"):
        ray.get(lost, timeout=60)
    with pytest.raises(ActorDiedError, match="it was preempted: spot"):
        ray.get(dies.where.remote(), timeout=60)
    until(lambda: placement_group_table(group)["state"] == "RESCHEDULING")
    until(lambda: placement_group_table(movable)["state"] == "CREATED")
    there = PlacementGroupSchedulingStrategy(movable)
    until(lambda: set(placement_group_table(movable)["bundles_to_node_id"].values()) == {stays.node_id})
    assert (
        ray.get(work.options(num_cpus=0.001, scheduling_strategy=there).remote(str(gate)), timeout=60) == stays.node_id
    )
    os.kill(ray.get(moves.__ray_call__.remote(lambda self: os.getpid()), timeout=60), 9)
    assert ray.get(moves.where.remote(), timeout=60) == stays.node_id  # its one restart was still there
    for one in (group, movable):
        ray.util.remove_placement_group(one)
    ray.kill(moves)


def test_a_program_on_a_node_that_is_drained_goes_on_until_the_end(
    cluster: Cluster, pair: list[ClusterNode], tmp_path: Path
) -> None:
    leaves, stays = pair
    program = tmp_path / "program.py"
    program.write_text(
        "import sys, time, pathlib\nimport eagleray as ray\n"
        "ray.init(address=sys.argv[1])\n"
        "ask = ray.remote(num_cpus=1)(lambda: ray.get_runtime_context().get_node_id())\n"
        "ray.get(ask.remote())\nprint('ready', flush=True)\nsys.stdin.readline()\n"
        "print(*ray.get([ask.remote() for _ in range(4)]), flush=True)\nsys.stdin.readline()\n"
    )
    with subprocess.Popen(
        [sys.executable, program, leaves.address], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as running:
        assert running.stdin and running.stdout
        assert running.stdout.readline() == "ready\n"
        refused: list[str] = []

        def program_counts() -> bool:
            refused.append(drain(cluster, leaves.node_id, reason=IDLE).stderr)
            return "not idle: the program of job" in refused[-1]

        until(program_counts, what=refused)
        assert drain(cluster, leaves.node_id).returncode == 0
        until(lambda: "Drain" in row(leaves))
        running.stdin.write("\n")
        running.stdin.flush()
        assert running.stdout.readline().split() == [stays.node_id] * 4
        assert row(leaves)["Alive"]
        running.stdin.write("\n")
        running.stdin.flush()
        assert running.wait(60) == 0
    until(lambda: not row(leaves)["Alive"])


def test_what_cannot_be_drained(cluster: Cluster) -> None:
    head = next(one["NodeID"] for one in ray.nodes() if one["NodeName"] == "first")
    refused = drain(cluster, head)
    assert refused.returncode == 1 and "not accepted: a head of the cluster runs on the machine" in refused.stderr
    assert drain(cluster, os.urandom(28).hex()).returncode == 0  # as under Ray: a node that nobody knows is gone
    for words, says in (
        (["--node-id", "abc"], "is not the id of a node"),
        (["--deadline-remaining-seconds", "-1"], "is not a whole number of seconds"),
        (["--reason", "SPITE"], "DRAIN_NODE_REASON_PREEMPTION"),
        (["--reason-message", "x" * 5000], "at most 4096"),
    ):
        wrong = drain(cluster, head, *words)
        assert wrong.returncode == 2 and says in wrong.stderr, wrong.stderr
    bare = subprocess.run([BINARY, "drain-node", "--reason", IDLE], capture_output=True, text=True, check=False)
    assert bare.returncode == 2 and "--reason-message is missing" in bare.stderr
