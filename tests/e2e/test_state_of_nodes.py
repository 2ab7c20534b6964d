"""What programs are told of all nodes: who holds what, what runs where, what is free, and what waits and why."""

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
import numpy as np
import pytest
from eagleray._private.cli import BINARY
from eagleray.cluster_utils import Cluster
from eagleray.util import state
from eagleray.util.state.exception import RayStateApiException
from pace import until

BIG = 200_000
COMMAND = str(Path(sys.executable).with_name("eagleray"))
pytestmark = pytest.mark.timeout(300)


class Nodes:
    """Three nodes: this program's, and two of which each has a resource of its own."""

    def __init__(self, cluster: Cluster) -> None:
        self.head = cluster.head_node
        self.b = cluster.add_node(num_cpus=2, resources={"b": 2}, node_name="bee")
        self.c = cluster.add_node(num_cpus=1, resources={"c": 1})


@pytest.fixture(scope="module")
def nodes() -> Iterator[Nodes]:
    assert not ray.is_initialized(), "another fixture's session is running"
    cluster = Cluster(initialize_head=True, head_node_args={"num_cpus": 1, "node_name": "one"})
    try:
        made = Nodes(cluster)
        cluster.connect()
        cluster.wait_for_nodes()
        yield made
    finally:
        cluster.shutdown()


@pytest.fixture
def gate(tmp_path: Path) -> Iterator[Path]:
    """A file that tasks wait for. It is there when the test has ended."""
    path = tmp_path / "gate"
    yield path
    path.touch()


@ray.remote(num_cpus=0)
def work(path: str, *kept: Any) -> tuple[str, int]:
    """Waits for a file. Returns the node and the process."""
    while not os.path.exists(path):
        time.sleep(0.005)
    return ray.get_runtime_context().get_node_id(), os.getpid()


def on(name: str, amount: float = 0.1) -> Any:
    """The function ``work`` on the node that has that resource."""
    return work.options(resources={name: amount})


def running(name: str = "work") -> dict[str, Any]:
    """The running tasks of a name by their node."""
    return {str(row.node_id): row for row in state.list_tasks(filters=[("name", "=", name), ("state", "=", "RUNNING")])}


def status(nodes: Nodes) -> str:
    words = [BINARY, "status", "--address", nodes.head.session_dir]
    return subprocess.run(words, capture_output=True, text=True, timeout=60, check=True).stdout


def test_tasks_and_workers_of_all_nodes(nodes: Nodes, gate: Path) -> None:
    refs = [on("b").remote(str(gate)), on("c").remote(str(gate))]
    until(lambda: running().keys() == {nodes.b.node_id, nodes.c.node_id})
    rows = running()
    workers = {row.pid: row.node_id for row in state.list_workers(filters=[("is_alive", "=", "True")], limit=1000)}
    for node_id, row in rows.items():
        assert row.type == "NORMAL_TASK" and row.job_id == ray.get_runtime_context().get_job_id()
        assert workers[row.worker_pid] == node_id
    assert workers[os.getpid()] == nodes.head.node_id
    (job,) = state.list_jobs(filters=[("status", "=", "RUNNING")], detail=True)
    assert job.driver_info["pid"] == str(os.getpid()) and job.driver_info["node_ip_address"] == "127.0.0.1"
    assert {row.node_id for row in state.list_nodes()} == {nodes.head.node_id, nodes.b.node_id, nodes.c.node_id}
    assert state.summarize_tasks()["cluster"]["summary"]["work"]["state_counts"]["RUNNING"] == 2
    gate.touch()
    assert dict(ray.get(refs)) == {node_id: row.worker_pid for node_id, row in rows.items()}


def test_objects_of_all_nodes(nodes: Nodes, gate: Path) -> None:
    @ray.remote(num_cpus=0, resources={"b": 0.1})
    def make() -> Any:
        return np.zeros(BIG)

    made = make.remote()
    ray.wait([made], fetch_local=False)
    here = ray.put(np.ones(BIG))
    kept = on("c").remote(str(gate), [made, here])
    until(lambda: nodes.c.node_id in running())
    until(lambda: len(state.get_objects(made.hex())) == len(state.get_objects(here.hex())) == 2)
    worker = running()[nodes.c.node_id].worker_pid
    of_made = {row.pid: row for row in state.get_objects(made.hex())}
    of_here = {row.pid: row for row in state.get_objects(here.hex())}
    assert of_made.keys() == of_here.keys() == {os.getpid(), worker}
    assert {row.place for row in of_made.values()} == {"ELSEWHERE"}  # on the node b, where no process refers to it
    assert {row.place for row in of_here.values()} == {"ARENA"}
    assert of_here[worker].object_size == of_here[os.getpid()].object_size >= 8 * BIG
    assert of_made[os.getpid()].object_size >= 8 * BIG and of_here[os.getpid()].borrowers == [worker]
    assert ray.get(made)[0] == 0  # now a copy is here
    assert {row.place for row in state.get_objects(made.hex())} == {"ARENA"}
    text = subprocess.run(
        [COMMAND, "memory", "--address", nodes.head.session_dir], capture_output=True, text=True, timeout=60
    )
    assert text.returncode == 0 and made.hex() in text.stdout and "--- object stores of 3 nodes ---" in text.stdout
    gate.touch()
    ray.get(kept)


def test_what_a_function_captured_is_let_go_on_other_nodes(nodes: Nodes) -> None:
    other = ray.put(2)

    @ray.remote(num_cpus=0, resources={"b": 0.1})
    def look() -> tuple[int, str]:
        return ray.get(other), ray.get_runtime_context().get_node_id()

    assert ray.get(look.remote()) == (2, nodes.b.node_id)
    until(lambda: len(state.get_objects(other.hex())) == 2)  # the worker keeps the function
    del look
    until(lambda: [row.is_owner for row in state.get_objects(other.hex())] == [True])


def test_what_is_free_and_what_waits(nodes: Nodes, gate: Path) -> None:
    until(lambda: [ray.available_resources().get(name) for name in ("CPU", "b", "c")] == [4.0, 2.0, 1.0])
    free = ray.available_resources()
    assert 0 < free["object_store_memory"] <= ray.cluster_resources()["object_store_memory"]
    refs = [on("b", 1.5).remote(str(gate)) for _ in range(2)]
    until(lambda: ray.available_resources().get("b") == 0.5)
    said = ""

    def waits() -> bool:
        nonlocal said
        said = status(nodes)
        return "Demand" in said

    until(waits)
    assert '1 \u00d7 {"b": 1.5}: 1 node could run it, when others give back b' in said, said
    lines = said.splitlines()
    assert lines[lines.index("Waiting for resources or workers") + 1].split() == ["work", "1"]
    assert "Resources of 3 nodes (used / total)" in said and "  b                      1.5 / 2" in said, said
    (of_b,) = (line for line in lines if line.startswith(f"  {nodes.b.node_id[:8]}  CPU"))
    assert "b 1.5 / 2" in of_b
    assert "1 job, " in said
    gate.touch()
    ray.get(refs)
    until(lambda: "Nothing waits." in status(nodes))


def lists_all_tasks() -> bool:
    """Whether the list of tasks leaves no node out."""
    try:
        state.list_tasks()
    except RayStateApiException as problem:
        assert "is left out: it has not answered for" in str(problem)
        return False
    return True


def test_a_node_that_does_not_answer_is_named(nodes: Nodes, gate: Path) -> None:
    ref = on("b").remote(str(gate))
    until(lambda: nodes.b.node_id in running())
    os.kill(int(nodes.c.pid), signal.SIGSTOP)
    try:
        name = f"node {nodes.c.node_id} (127.0.0.1) is left out: it did not answer within"
        with pytest.raises(RayStateApiException, match=r"the list of tasks is not complete: .*is left out") as problem:
            state.list_tasks(timeout=2)
        assert name in str(problem.value)
        with pytest.warns(UserWarning, match="the list of tasks is not complete"):
            rows = state.list_tasks(filters=[("state", "=", "RUNNING")], timeout=2, raise_on_missing_output=False)
        assert [row.node_id for row in rows] == [nodes.b.node_id]
        assert "c" not in ray.available_resources()
        assert ray.cluster_resources()["c"] == 1.0  # it is not dead
        began = time.monotonic()
        for _ in range(20):  # who has not answered yet is not waited for again
            ray.available_resources()
        assert time.monotonic() - began < 2.0
        assert "left out below: it" in status(nodes)
        assert len(state.list_nodes()) == 3
        words = [COMMAND, "list", "tasks", "--format=json", "--address", nodes.head.session_dir, "--timeout=3"]
        shown = subprocess.run(words, capture_output=True, text=True, timeout=60)
        assert shown.returncode == 0 and nodes.c.node_id in shown.stderr
        assert "RUNNING" in {row["state"] for row in json.loads(shown.stdout)}
    finally:
        os.kill(int(nodes.c.pid), signal.SIGCONT)
    gate.touch()
    ray.get(ref)
    until(lambda: ray.available_resources().get("c") == 1.0)
    until(lists_all_tasks)  # the late answer to this question may come after that to the other one


def test_resources_of_each_node(nodes: Nodes, gate: Path) -> None:
    from eagleray._private.state import available_resources_per_node, total_resources_per_node

    ids = {nodes.head.node_id, nodes.b.node_id, nodes.c.node_id}
    totals = total_resources_per_node()
    assert set(totals) == ids
    assert (
        totals[nodes.b.node_id]["b"] == 2 and totals[nodes.c.node_id]["CPU"] == 1 and "c" not in totals[nodes.b.node_id]
    )
    ref = work.options(resources={"b": 0.5}, num_cpus=2).remote(str(gate))

    def seen() -> bool:
        free = available_resources_per_node()
        return set(free) == ids and free[nodes.b.node_id]["b"] == 1.5 and "CPU" not in free[nodes.b.node_id]

    until(seen, "the other node's resources are in use")
    assert available_resources_per_node()[nodes.c.node_id]["c"] == 1
    gate.touch()
    ray.get(ref, timeout=60)
