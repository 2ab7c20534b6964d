"""The class with which tests of programs make clusters of several nodes."""

from __future__ import annotations

import os
import re
import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import eagleray
import pytest
from eagleray.cluster_utils import Cluster
from pace import until
from two_nodes import MARK, processes

pytestmark = pytest.mark.timeout(180)


@pytest.fixture
def mark(monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """Marks the processes of a test, and checks that none is left."""
    text = os.urandom(8).hex()
    monkeypatch.setenv(MARK, text)
    yield text
    assert not {pid: line for pid, line in processes(text).items() if pid != os.getpid()}


def test_nodes_come_and_go(mark: str, fresh: Any) -> None:
    cluster = Cluster(initialize_head=True, connect=True, head_node_args={"num_cpus": 2, "node_name": "first"})
    try:
        node = cluster.add_node(num_cpus=3, resources={"b": 2}, labels={"zone": "x"}, dashboard_port=1)
        other = cluster.add_node(wait=False)
        cluster.wait_for_nodes()
        rows = {row["NodeID"]: row for row in eagleray.nodes()}
        assert rows.keys() == {one.node_id for one in cluster.list_all_nodes()}
        assert rows[node.unique_id]["Labels"]["zone"] == "x" and rows[other.node_id]["Resources"]["CPU"] == 1.0
        assert eagleray.cluster_resources()["CPU"] == 6.0 and eagleray.cluster_resources()["b"] == 2.0
        folders = [Path(one._folder) for one in cluster.list_all_nodes()]
        assert all(folder.exists() for folder in folders)
        assert re.fullmatch(r"127\.0\.0\.1:\d+", cluster.gcs_address)
        assert node.address_info["raylet_socket_name"] == f"{node.session_dir}/d.sock"
        assert eagleray.get(eagleray.remote(lambda: 7).remote()) == 7
        assert node.node_ip_address == "127.0.0.1" and node.any_processes_alive()
        node.kill_raylet()
        until(lambda: not node.any_processes_alive())
        until(lambda: node.node_id not in [row["NodeID"] for row in eagleray.nodes() if row["Alive"]])
        cluster.remove_node(node)
        cluster.remove_node(other, allow_graceful=False)
        assert [row["NodeName"] for row in eagleray.nodes() if row["Alive"]] == ["first"]
        with pytest.raises(ValueError, match="is none of this cluster, or was removed"):
            cluster.remove_node(node)
    finally:
        cluster.shutdown()
    assert not eagleray.is_initialized() and cluster.list_all_nodes() == []
    assert not any(folder.exists() for folder in folders)


def test_a_program_works_on_any_node(mark: str, fresh: Any) -> None:
    cluster = Cluster()
    try:
        with pytest.raises(RuntimeError, match="the cluster has no head"):
            cluster.connect()
        cluster.add_node()
        node = cluster.add_node(resources={"here": 1})
        with eagleray.init(address=node.session_dir):
            task = eagleray.remote(resources={"here": 1})(lambda: eagleray.get_runtime_context().get_node_id())
            assert eagleray.get(task.remote()) == node.node_id
        with pytest.raises(ValueError, match="remove the other nodes before"):
            assert cluster.head_node is not None
            cluster.remove_node(cluster.head_node)
    finally:
        cluster.shutdown()


def test_processes_of_nodes_are_told_as_by_ray(mark: str, fresh: Any) -> None:
    cluster = Cluster(initialize_head=True)
    try:
        head, killed, crashed = cluster.head_node, cluster.add_node(), cluster.add_node()
        assert head is not None and head.address == cluster.address
        with eagleray.init(address=killed.address):
            assert eagleray.get_runtime_context().get_node_id() == killed.node_id
        assert head.all_processes.keys() == {"raylet", "reaper", "gcs_server"}
        assert killed.all_processes.keys() == {"raylet", "reaper"} == dict(killed.live_processes()).keys()
        assert killed.all_processes["raylet"][0].process.pid == int(killed.pid)
        assert cluster.remaining_processes_alive()

        # The head is started again, and then all processes run.
        first = head.all_processes["gcs_server"][0].process
        first.kill()
        assert first.wait(30) == 0
        until(cluster.remaining_processes_alive)
        assert head.all_processes["gcs_server"][0].process.pid != first.pid

        # What was killed on purpose is none of the remaining processes.
        killed.kill_raylet()
        until(lambda: not killed.any_processes_alive())
        assert killed.live_processes() == [] and killed.all_processes == {}
        assert killed.remaining_processes_alive() and cluster.remaining_processes_alive()

        # A crash ends a process that should remain.
        assert crashed.remaining_processes_alive()
        with pytest.raises(subprocess.TimeoutExpired):
            crashed.all_processes["raylet"][0].process.wait(0)
        os.kill(int(crashed.pid), signal.SIGKILL)
        until(lambda: not crashed.any_processes_alive())
        assert {name for name, _ in crashed.dead_processes()} == {"raylet", "reaper"}
        assert not crashed.remaining_processes_alive() and not cluster.remaining_processes_alive()
        cluster.remove_node(crashed)
        assert crashed.remaining_processes_alive() and cluster.remaining_processes_alive()
    finally:
        cluster.shutdown()


def test_a_head_that_is_killed_is_there_again(mark: str, fresh: Any) -> None:
    cluster = Cluster(initialize_head=True, connect=True)
    try:
        head, node = cluster.head_node, cluster.add_node(num_cpus=2)
        assert head is not None
        before = head.all_processes["gcs_server"][0].process
        group = eagleray.util.placement_group([{"CPU": 2}])
        head.kill_gcs_server()
        assert before.poll() is not None
        head.start_gcs_server()
        after = head.all_processes["gcs_server"][0].process
        assert after.pid != before.pid and after.poll() is None
        assert eagleray.get(group.ready(), timeout=60) == group
        for call in (node.kill_gcs_server, node.start_gcs_server):
            with pytest.raises(RuntimeError, match="only the first node of a cluster has one"):
                call()
    finally:
        cluster.shutdown()


def test_a_cluster_without_encryption(mark: str, fresh: Any) -> None:
    cluster = Cluster(initialize_head=True, head_node_args={"insecure": True})
    try:
        with pytest.raises(ValueError, match="insecure is an argument of the first node only"):
            cluster.add_node(insecure=True)
        there = cluster.add_node(resources={"there": 1})
        with eagleray.init(address=cluster.address):
            task = eagleray.remote(resources={"there": 1})(
                lambda: (eagleray.get_runtime_context().get_node_id(), b"x" * 9_000_000)
            )
            node_id, data = eagleray.get(task.remote())
            assert node_id == there.node_id and data == b"x" * 9_000_000
        cluster._insecure = []
        with pytest.raises(RuntimeError, match="--insecure"):
            cluster.add_node()
    finally:
        cluster.shutdown()


def test_wrong_arguments_leave_nothing(mark: str, fresh: Any) -> None:
    cluster = Cluster()
    try:
        with pytest.raises(TypeError, match="add_node\\(\\) has no argument 'cpus'"):
            cluster.add_node(cpus=1)
        with pytest.raises(RuntimeError, match="object_store_memory is 10 bytes"):
            cluster.add_node(object_store_memory=10)
        assert cluster.list_all_nodes() == [] and cluster.head_node is None
        with pytest.raises(ValueError, match="initialize_head=True"):
            Cluster(connect=True)
        with pytest.raises(ValueError, match="initialize_head=True"):
            Cluster(head_node_args={"num_cpus": 1})
    finally:
        cluster.shutdown()


def test_nothing_is_left_when_the_program_fails(mark: str, script: Any) -> None:
    source = """
    from eagleray.cluster_utils import Cluster

    cluster = Cluster(initialize_head=True, connect=True)
    print(cluster.add_node()._folder, cluster.head_node._folder)
    raise KeyError("as a failed test")
    """
    done = script(source, check=False)
    assert "as a failed test" in done.stderr and done.returncode == 1
    assert [folder for folder in done.stdout.split() if Path(folder).exists()] == []
