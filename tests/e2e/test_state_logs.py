"""``util.state``: logs of this node and of others, ``StateApiClient``, and what is not recorded."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import eagleray as ray
import pytest
from eagleray.cluster_utils import Cluster
from eagleray.util import state
from eagleray.util.state import common, logs
from eagleray.util.state.exception import RayStateApiException
from pace import until

pytestmark = pytest.mark.timeout(300)


@pytest.fixture(scope="module")
def other() -> Iterator[str]:
    """The id of a second node, with the resource ``b``."""
    assert not ray.is_initialized(), "another fixture's session is running"
    cluster = Cluster(initialize_head=True, head_node_args={"num_cpus": 1})
    try:
        node = cluster.add_node(num_cpus=1, resources={"b": 2})
        cluster.connect()
        cluster.wait_for_nodes()
        yield node.node_id
    finally:
        cluster.shutdown()


@ray.remote(num_cpus=0)
class Speaker:
    def say(self, *lines: str) -> int:
        for line in lines:
            print(line)
        print("wrong", file=sys.stderr)
        return os.getpid()


def log(**where: Any) -> str:
    return "".join(state.get_log(**where))


@pytest.mark.parametrize("where", ("here", "there"))
def test_the_log_of_an_actor_is_read_on_its_node(other: str, where: str) -> None:
    speaker: Any = Speaker
    if where == "there":
        speaker = Speaker.options(resources={"b": 1})
    actor = speaker.remote()
    pid = ray.get(actor.say.remote("one", "\x1b[31mtwo\x1b[0m", "three"))
    actor_id, node = actor._actor_id.hex(), ray.get_runtime_context().get_node_id() if where == "here" else other
    until(lambda: log(actor_id=actor_id).endswith("three\n"))
    assert log(actor_id=actor_id) == "one\n\x1b[31mtwo\x1b[0m\nthree\n"
    assert log(actor_id=actor_id, filter_ansi_code=True, tail=2) == "two\nthree\n"
    assert log(pid=pid, node_id=node, suffix="err") == "wrong\n"
    assert log(filename=f"worker-{pid}.out", node_id=node, tail=1) == "three\n"
    assert log(filename=f"worker-{pid}.out", node_id=node, tail=0) == ""
    assert list(state.get_log(pid=pid, node_id=node, encoding=None, tail=1)) == [b"three\n"]
    names = state.list_logs(node_id=node)
    assert f"worker-{pid}.out" in names["worker_out"] and "daemon.log" in names["raylet"]
    assert state.list_logs(node_id=node, glob_filter=f"worker-{pid}.*") == {
        "worker_err": [f"worker-{pid}.err"],
        "worker_out": [f"worker-{pid}.out"],
    }
    follows = state.get_log(actor_id=actor_id, follow=True, tail=1, _interval=0.05)
    assert next(follows) == "three\n"
    ray.get(actor.say.remote("four"))
    assert next(follows) == "four\n"


def test_what_cannot_be_read_is_said(other: str) -> None:
    for wrong in ("../d.sock", "a/b", "", ".."):
        with pytest.raises(ValueError, match="filename must be a name"):
            state.get_log(filename=wrong)
    for node in (None, other):
        with pytest.raises(
            RayStateApiException, match=r"the log worker-1\.out cannot be read on its node: No such file"
        ):
            log(pid=1, node_id=node)
    with pytest.raises(RayStateApiException, match="no living node has the id 00"):
        log(pid=1, node_id="00")
    with pytest.raises(RayStateApiException, match="no living node has the address"):
        state.list_logs(node_ip="10.9.9.9")
    with pytest.raises(RayStateApiException, match="2 nodes have the address"):
        state.list_logs(node_ip=ray.nodes()[0]["NodeManagerAddress"])
    with pytest.raises(RayStateApiException, match="no actor 00 has a process"):
        log(actor_id="00")
    with pytest.raises(ValueError, match="needs one of filename=, actor_id=, task_id=, pid= and submission_id="):
        state.get_log(pid=1, filename="x")
    with pytest.raises(ValueError, match="48 hexadecimal digits"):
        state.get_log(task_id="00")
    with pytest.raises(RayStateApiException, match=r"log file for task: f{48} \(attempt 0\) with suffix: out"):
        state.get_log(task_id="f" * 48)
    with pytest.raises(RayStateApiException, match="no job was submitted with the id 'x'"):
        state.get_log(submission_id="x")
    with pytest.raises(ValueError, match="suffix"):
        state.get_log(pid=1, suffix="log")
    with pytest.raises(AssertionError, match="node_id= or node_ip="):
        state.list_logs()


def test_a_file_that_is_not_there_yet_is_waited_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "logs").mkdir()
    path = tmp_path / "logs" / "x"
    steps = iter((lambda: path.write_text("one\ntw"), lambda: path.write_text("one\ntwo\n"), lambda: None))
    monkeypatch.setattr(logs.time, "sleep", lambda seconds: next(steps)())
    lines = logs._parts(logs._Place("", str(tmp_path)), 5, "x", 0, True, 0.1, "utf-8", "strict", False)
    assert [next(lines), next(lines)] == ["one\n", "two\n"]


def test_a_link_among_the_logs_is_not_followed(tmp_path: Path) -> None:
    (tmp_path / "logs").mkdir()
    (tmp_path / "secret").write_text("token\n")
    (tmp_path / "logs" / "worker-1.out").symlink_to(tmp_path / "secret")
    with pytest.raises(RayStateApiException, match=r"worker-1.out cannot be read"):
        logs._read(str(tmp_path), "worker-1.out", 0)


@pytest.mark.parametrize("size", (0, 1, 70_000))
def test_the_last_lines_are_found_from_the_end(tmp_path: Path, size: int) -> None:
    (tmp_path / "logs").mkdir()
    path = tmp_path / "logs" / "x"
    lines = [f"{index}{'x' * size}\n".encode() for index in range(5)]
    for end in (b"", b"open"):
        path.write_bytes(b"".join(lines) + end)
        whole = [*lines, end] if end else lines
        for number in range(8):
            at = logs._start_of(str(tmp_path), "x", number)
            assert path.read_bytes()[at:] == b"".join(whole[max(len(whole) - number, 0) :]), (number, end)
    path.write_bytes(b"")
    assert logs._start_of(str(tmp_path), "x", 3) == 0


def test_the_client_gives_what_the_functions_give(other: str) -> None:
    client = state.StateApiClient()
    nodes = client.list(common.StateResource.NODES, common.ListApiOptions(detail=True), True)
    assert nodes == state.list_nodes(detail=True) and len(nodes) == 2
    chosen = common.ListApiOptions(filters=[("node_id", "=", other)])
    assert [row.node_id for row in client.list(common.StateResource.NODES, chosen, True)] == [other]
    assert client.get(common.StateResource.NODES, other) == state.get_node(other)
    assert client.get(common.StateResource.ACTORS, "00") is None
    assert client.get(common.StateResource.OBJECTS, "00") == []
    summary = client.summary(common.SummaryResource.ACTORS, options=common.SummaryApiOptions())
    assert summary == state.summarize_actors()["cluster"]
    with pytest.raises(RayStateApiException, match="takes no filters"):
        client.summary(common.SummaryResource.TASKS, options=common.SummaryApiOptions(filters=[("name", "=", "x")]))
    with pytest.raises(ValueError, match="cookies"):
        state.StateApiClient(cookies={"a": "b"})


def test_the_address_of_each_node_is_that_of_nodes(other: str) -> None:
    def address() -> tuple[str, str]:
        return ray.get_runtime_context().get_node_id(), ray.util.get_node_ip_address()

    said = {row["NodeID"]: row["NodeManagerAddress"] for row in ray.nodes()}
    for resources in ({}, {"b": 1}):
        node, found = ray.get(ray.remote(address).options(num_cpus=0, resources=resources).remote())
        assert said[node] == found
