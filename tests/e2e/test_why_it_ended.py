"""What lists of tasks and workers say about why a task has failed and how a worker has ended."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from eagleray._private.session.census import Census
from eagleray.cluster_utils import Cluster
from eagleray.util import state
from eagleray.util.state.common import NodeState, TaskState, WorkerState
from pace import until

pytestmark = pytest.mark.timeout(300)


def fails(call: Callable[[], Any]) -> None:
    with pytest.raises(Exception):  # noqa: B017 (which one does not matter here)
        call()


def failed(name: str) -> TaskState:
    """The record of the one task of a name, when it has failed."""
    found: list[TaskState] = []

    def look() -> bool:
        found[:] = state.list_tasks(filters=[("name", "=", name)], detail=True)
        return len(found) == 1 and found[0].state == "FAILED"

    until(look)
    return found[0]


def ended(pid: int) -> WorkerState:
    """The record of a worker, when it has ended."""
    found: list[WorkerState] = []

    def look() -> bool:
        found[:] = [row for row in state.list_workers(detail=True) if row.pid == pid]
        return len(found) == 1 and not found[0].is_alive

    until(look)
    return found[0]


def test_a_failed_task_says_which_kind_of_failure_it_was_and_what_went_wrong(ray: Any) -> None:
    @ray.remote(max_retries=0)
    def raises() -> None:
        raise ValueError("a wrong turn")

    @ray.remote(max_retries=0)
    def dies() -> None:
        os._exit(7)

    @ray.remote
    def takes(value: Any) -> None: ...

    @ray.remote
    def yields() -> Any:
        yield 1
        raise KeyError("the second item")

    @ray.remote(num_cpus=0)
    class A:
        def ping(self) -> None: ...

    bad = raises.options(name="raises").remote()
    fails(lambda: ray.get(takes.options(name="takes").remote(bad)))
    fails(lambda: ray.get(dies.options(name="dies").remote()))
    stream = yields.options(name="yields").remote()
    next(stream)
    fails(lambda: ray.get(next(stream)))
    actor = A.remote()
    ray.get(actor.ping.remote())
    ray.kill(actor)
    fails(lambda: ray.get(actor.ping.options(name="late").remote()))
    for name, kind, part in (
        ("raises", "TASK_EXECUTION_EXCEPTION", "ValueError: a wrong turn"),
        ("takes", "TASK_EXECUTION_EXCEPTION", "ValueError: a wrong turn"),
        ("dies", "WORKER_DIED", "exit code 7"),
        ("yields", "TASK_EXECUTION_EXCEPTION", "the second item"),
        ("late", "ACTOR_DIED", "killed by `ray.kill`"),
    ):
        record = failed(name)
        assert record.error_type == kind and part in (record.error_message or ""), (name, record)


def test_a_cancelled_task_and_one_that_ended_well(ray: Any) -> None:
    @ray.remote
    def sleeps() -> None:
        time.sleep(1000)

    @ray.remote
    def good() -> None: ...

    sleeping = sleeps.options(name="sleeps").remote()
    ray.cancel(sleeping)
    fails(lambda: ray.get(sleeping))
    assert failed("sleeps").error_type == "TASK_CANCELLED"
    ray.get(good.options(name="good").remote())

    def finished() -> bool:
        (record,) = state.list_tasks(filters=[("name", "=", "good")], detail=True)
        assert (record.error_type, record.error_message) == (None, None)
        return record.state == "FINISHED"

    until(finished)


def test_the_error_of_a_record_is_bounded(ray: Any) -> None:
    @ray.remote(max_retries=0)
    def raises() -> None:
        raise ValueError("long " * 10_000)

    fails(lambda: ray.get(raises.options(name="raises at length").remote()))
    assert len(failed("raises at length").error_message or "") <= 4 << 10


def test_tasks_of_an_older_node_have_no_reason() -> None:
    task = {"TaskID": bytes(24), "Name": "f", "Method": False, "ActorID": None, "State": "FAILED"}
    task |= {"Attempt": 0, "Site": "", "Resources": {}}
    row = Census({"Parts": [], "Nodes": [], "Silent": []})._task({"JobID": b"1234"}, task, None)
    assert (row["state"], row["error_type"], row["error_message"]) == ("FAILED", None, None)


def test_the_record_of_a_worker_says_how_it_has_ended(ray: Any, tmp_path: Path) -> None:
    @ray.remote(num_cpus=0)
    class A:
        def pid(self) -> int:
            return os.getpid()

        def leave(self) -> None:
            ray.actor.exit_actor()

        def status(self, number: int) -> None:
            raise SystemExit(number)

    def end(by: Callable[[Any, int], Any]) -> WorkerState:
        actor = A.remote()
        pid = ray.get(actor.pid.remote())
        (living,) = (row for row in state.list_workers(detail=True) if row.pid == pid)
        assert living.is_alive and living.exit_type is None and living.end_time_ms == 0
        by(actor, pid)
        record = ended(pid)
        assert record.end_time_ms is not None and record.start_time_ms is not None
        assert record.end_time_ms >= record.start_time_ms > 0
        return record

    for by, kind, part in (
        (lambda actor, pid: fails(lambda: ray.get(actor.leave.remote())), "INTENDED_USER_EXIT", "exit_actor"),
        (lambda actor, pid: fails(lambda: ray.get(actor.status.remote(0))), "INTENDED_USER_EXIT", "exit code 0"),
        (lambda actor, pid: fails(lambda: ray.get(actor.status.remote(4))), "SYSTEM_ERROR", "exit code 4"),
        (lambda actor, pid: ray.kill(actor), "INTENDED_SYSTEM_EXIT", "ray.kill"),
        (lambda actor, pid: os.kill(pid, signal.SIGKILL), "SYSTEM_ERROR", "OOM"),
    ):
        record = end(by)
        assert record.exit_type == kind and part in (record.exit_detail or ""), (kind, part, record)


def test_a_worker_whose_task_is_cancelled_by_force_and_one_whose_constructor_fails(ray: Any, tmp_path: Path) -> None:
    note = tmp_path / "pid"

    @ray.remote(max_retries=0)
    def sleeps() -> None:
        note.write_text(f"{os.getpid()} ")
        time.sleep(1000)

    @ray.remote(num_cpus=0)
    class A:
        def __init__(self) -> None:
            note.write_text(f"{os.getpid()} ")
            raise ValueError("no place to be")

    def pid() -> int:
        until(lambda: note.exists() and note.read_text().endswith(" "))
        found = int(note.read_text())
        note.unlink()
        return found

    sleeping = sleeps.remote()
    first = pid()
    ray.cancel(sleeping, force=True)
    record = ended(first)
    assert record.exit_type == "INTENDED_USER_EXIT" and "ray.cancel" in (record.exit_detail or ""), record
    actor = A.remote()
    record = ended(pid())
    assert record.exit_type == "USER_ERROR" and "no place to be" in (record.exit_detail or ""), record
    del actor


def test_the_record_of_a_node_says_when_it_began_and_ended() -> None:
    cluster = Cluster(initialize_head=True, head_node_args={"num_cpus": 0})
    try:
        node = cluster.add_node(num_cpus=0)

        def record() -> NodeState:
            (found,) = (row for row in state.list_nodes(cluster.address, detail=True) if row.node_id == node.node_id)
            return found

        assert record().state == "ALIVE" and (record().start_time_ms or 0) > 0 and record().end_time_ms == 0
        cluster.remove_node(node)
        ended_ms, start_ms = record().end_time_ms, record().start_time_ms
        assert record().state == "DEAD" and ended_ms is not None and start_ms is not None and ended_ms >= start_ms > 0
    finally:
        cluster.shutdown()
