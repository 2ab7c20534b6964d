"""Who holds what, and from which line: ``eagleray.util.state``, ``eagleray memory``, ``list``, ``get``, ``summary``."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from eagleray._private.session.census import Census
from eagleray._private.state import process
from eagleray._private.tools import memory_table, state_cli
from eagleray.util import state
from eagleray.util.state.common import ActorState, ObjectState
from eagleray.util.state.exception import RayStateApiException
from halt import halted
from pace import PATIENCE_S, Calm, until

BIG = 200_000
COMMAND = str(Path(sys.executable).with_name("eagleray"))
pytestmark = pytest.mark.timeout(300)


def line_of(text: str) -> int:
    """The number of the line of this file with that mark."""
    lines = Path(__file__).read_text().splitlines()
    (found,) = (number for number, line in enumerate(lines, 1) if line.endswith(f"# {text}"))
    return found


def records(ref: Any) -> dict[str, ObjectState]:
    """Who holds the object, by what each of them is."""
    return {("owner" if row.is_owner else "borrower"): row for row in state.get_objects(ref.hex())}


def until_borrowed(ref: Any, pid: int) -> None:
    """Waits until the owner has heard of the borrower, which may be after a call's answer."""
    until(lambda: records(ref)["owner"].borrowers == [pid])


@pytest.fixture
def holder(ray: Any) -> Iterator[Any]:
    """An actor that keeps what it is given, and that can be kept busy."""

    @ray.remote(num_cpus=0, max_concurrency=2)
    class Holder:
        def __init__(self) -> None:
            self.kept: list[Any] = []

        def keep(self, value: Any) -> int:
            self.kept.append(value)
            return os.getpid()

        def view(self) -> None:
            self.kept.append(ray.get(self.kept[0][0]))

        def fail(self) -> None:
            raise ValueError

        def wait(self) -> None:
            while not self.kept:
                time.sleep(0.005)

    actor = Holder.remote()
    yield actor
    ray.kill(actor)


def test_put(ray: Any) -> None:
    ref = ray.put(np.zeros(BIG))  # made here
    (found,) = state.get_objects(ref.hex())
    assert found.call_site == f"(put object) | {__file__}:test_put:{line_of('made here')}" == ref.call_site()
    assert (found.reference_type, found.place, found.pid, found.type) == (
        "LOCAL_REFERENCE",
        "ARENA",
        os.getpid(),
        "DRIVER",
    )
    assert found.object_size >= 8 * BIG
    assert (found.task_status, found.local_ref_count, found.borrowers) == ("NIL", 1, [])
    assert found["object_id"] == found.get("object_id") == ref.hex()
    same = ray.get(ref)
    (found,) = state.get_objects(ref.hex())
    assert (found.reference_type, found.pinned_in_memory) == ("PINNED_IN_MEMORY", True)
    del same, found
    small = ray.put(1)
    (found,) = state.get_objects(small.hex())
    assert (found.place, found.object_size < 100) == ("INLINE", True)


def test_what_was_let_go_of_just_now_is_not_listed(ray: Any) -> None:
    for _ in range(20):
        inner = ray.put(np.zeros(BIG))
        outer = ray.put([inner])
        kept = {inner.hex(): "CAPTURED_IN_OBJECT", outer.hex(): "LOCAL_REFERENCE"}
        del inner
        assert {row.object_id: row.reference_type for row in state.list_objects() if row.object_id in kept} == kept
        del outer
        assert not kept.keys() & {row.object_id for row in state.list_objects()}


def test_borrowed(ray: Any, holder: Any) -> None:
    ref = ray.put([1, 2])
    pid = ray.get(holder.keep.remote([ref]))
    until_borrowed(ref, pid)
    found = records(ref)
    assert (found["borrower"].pid, found["borrower"].type) == (pid, "WORKER")
    assert found["borrower"].call_site == "(deserialize task arg) Holder.keep"
    assert found["borrower"].place == found["owner"].place == "INLINE"
    identity = ref.hex()
    del ref
    until(lambda: [row.reference_type for row in state.get_objects(identity) if row.is_owner] == ["BORROWED"])


def test_tasks_and_what_waits_for_them(ray: Any) -> None:
    @ray.remote(num_cpus=0)
    def wait(path: str) -> str:
        while not os.path.exists(path):
            time.sleep(0.005)
        return path

    @ray.remote(num_cpus=0, name="second")
    def after(value: Any, refs: Any) -> None: ...

    @ray.remote(resources={"slot": 2})
    def hog(path: str) -> str:
        return str(ray.get(wait.remote(path)))

    @ray.remote(resources={"slot": 1})
    def queued() -> None: ...

    path = f"/tmp/er-state-{os.getpid()}"
    inner = ray.put(1)
    first = wait.remote(path)  # submitted here
    second = after.remote(first, [inner])
    runs = hog.remote(path)
    until(lambda: (found := state.get_task(runs.task_id().hex())) and found.state == "RUNNING")
    third = queued.remote()
    try:
        row = until(lambda: (found := state.get_task(first)) and found.state == "RUNNING" and found)
        assert (row.name, row.type, row.func_or_class_name, row.attempt_number) == ("wait", "NORMAL_TASK", "wait", 0)
        assert row.worker_pid in [worker.pid for worker in state.list_workers(filters=[("is_alive", "=", True)])]
        assert row.call_site.endswith(f":{line_of('submitted here')}")
        assert row.start_time_ms <= time.time() * 1000 + 1
        states = {row.task_id: row.state for row in state.list_tasks()}
        assert states[second.task_id().hex()] == "PENDING_ARGS_AVAIL"
        assert states[third.task_id().hex()] == "PENDING_NODE_ASSIGNMENT"
        (object_row,) = state.get_objects(first.hex())
        assert (object_row.reference_type, object_row.place) == ("USED_BY_PENDING_TASK", "PENDING")
        assert (object_row.object_size, object_row.function) == (-1, "wait")
        (object_row,) = state.get_objects(inner.hex())
        assert object_row.submitted_task_ref_count == 1
        (pending,) = state.list_tasks(filters=[("name", "=", "SECOND"), ("state", "!=", "RUNNING")])
        assert pending.task_id == second.task_id().hex()
        until(lambda: state.summarize_tasks()["cluster"]["summary"]["wait"]["state_counts"] == {"RUNNING": 2})
    finally:
        Path(path).touch()
    try:
        ray.get([second, runs, third], timeout=PATIENCE_S)
        assert state.get_task(second).state == "FINISHED"
        (object_row,) = state.get_objects(first.hex())
        assert object_row.task_status == "FINISHED"
        assert state.summarize_tasks()["cluster"]["summary"]["second"]["state_counts"] == {"FINISHED": 1}
    finally:
        os.unlink(path)


def test_actors_and_their_calls(ray: Any, holder: Any) -> None:
    with pytest.raises(ValueError):
        ray.get(holder.fail.remote())
    call = holder.wait.remote()
    row = until(lambda: (found := state.get_task(call)) and found.state == "RUNNING" and found)
    actor_id = holder._actor_id.hex()
    assert (row.type, row.name, row.actor_id) == ("ACTOR_TASK", "Holder.wait", actor_id)
    (listed,) = state.list_actors(filters=[("state", "=", "alive"), ("class_name", "=", "Holder")])
    assert (listed.actor_id, listed.pid, listed.death_cause) == (actor_id, row.worker_pid, None)
    found = state.get_actor(actor_id)
    assert isinstance(found, ActorState)
    assert (found.num_restarts, found.is_detached, found.required_resources) == (0, False, None)
    assert found.call_site.startswith(f"(actor creation) | {__file__}:holder:")
    assert state.summarize_actors()["cluster"]["summary"]["Holder"]["state_counts"]["ALIVE"] == 1
    assert state.summarize_tasks()["cluster"]["summary"]["Holder.fail"]["state_counts"]["FAILED"] == 1
    (handle,) = [row for row in state.list_objects(detail=True) if row.actor_id == actor_id]
    assert handle.reference_type == "ACTOR_HANDLE"
    ray.get([holder.keep.remote(1), call])
    ray.kill(holder)
    dead = until(lambda: (found := state.get_actor(actor_id)) and found.state == "DEAD" and found)
    assert dead.death_cause["reason"] == "killed"
    ended = until(lambda: [row for row in state.list_workers(detail=True) if row.pid == found.pid and not row.is_alive])
    assert ended[0].exit_detail and ended[0].end_time_ms >= ended[0].start_time_ms


def test_captured_in_values_and_functions(ray: Any) -> None:
    inner, other = ray.put(1), ray.put(2)
    outer = ray.put([inner])
    identity = inner.hex()
    del inner
    (row,) = until(lambda: [row for row in state.get_objects(identity) if row.local_ref_count == 0])
    assert (row.reference_type, row.captured_in_object_count) == ("CAPTURED_IN_OBJECT", 1)

    @ray.remote
    def look() -> int:
        return int(ray.get(other))

    assert ray.get(look.remote()) == 2
    assert set(records(other)) == {"owner", "borrower"}  # the worker keeps the function
    del look
    until(lambda: set(records(other)) == {"owner"})
    del outer


def test_nodes_jobs_workers(ray: Any) -> None:
    (node,) = state.list_nodes()
    assert (node.state, node.is_head_node, node.resources_total["CPU"]) == ("ALIVE", True, 4.0)
    assert state.get_node(node.node_id).node_id == ray.get_runtime_context().get_node_id()
    job = state.get_job(ray.get_runtime_context().get_job_id())
    assert (job.status, job.type, job.driver_info["pid"]) == ("RUNNING", "DRIVER", str(os.getpid()))
    (driver,) = state.list_workers(filters=[("worker_type", "=", "driver")])
    assert (driver.pid, driver.is_alive) == (os.getpid(), True)
    assert state.get_actor("00" * 16) is None
    assert state.get_objects("00" * 28) == []


def test_limits_and_wrong_questions(ray: Any) -> None:
    refs = [ray.put(number) for number in range(20)]
    with pytest.warns(UserWarning, match=r"5 of \d+ objects"):
        assert len(state.list_objects(limit=5)) == 5
    site = refs[0].call_site()
    found = state.list_objects(filters=[("call_site", "=", site), ("object_size", "!=", -1)], limit=100)
    assert {row.object_id for row in found} == {ref.hex() for ref in refs}
    assert state.summarize_objects()["cluster"]["summary"][site]["total_objects"] == 20
    with pytest.raises(ValueError, match="predicate"):
        state.list_tasks(filters=[("state", "<", "RUNNING")])
    with pytest.raises(RayStateApiException, match="stat is not supported"):
        state.list_tasks(filters=[("stat", "=", "RUNNING")])
    for wrong in (("pid", "=", "abc"), ("pid", "!=", "1.5"), ("is_alive", "=", "maybe")):
        for kind in (ValueError, RayStateApiException):
            with pytest.raises(kind, match=f"Invalid filter {wrong[0]}"):
                state.list_workers(filters=[wrong])
    with pytest.raises(ValueError, match="limit"):
        state.list_tasks(limit=-1)
    with pytest.raises(RayStateApiException, match="exceeds the supported limit"):
        state.list_tasks(limit=10_001)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # that there are more
        assert state.list_tasks(limit=0) == []
    with pytest.raises(ValueError, match="timeout"):
        state.list_tasks(timeout=0)
    with pytest.raises(RayStateApiException, match="/nowhere"):
        state.list_actors(address="/nowhere")


def test_a_stopped_process_is_named_and_does_not_hold_the_answer_up(
    ray: Any, holder: Any, run: Callable[..., str]
) -> None:
    pid = ray.get(holder.keep.remote(1))
    with halted(pid):
        with Calm() as clock:
            with pytest.raises(RayStateApiException, match=rf"process {pid} \(worker\) is left out: it is stopped"):
                state.list_objects()
            with pytest.warns(UserWarning, match=f"process {pid}"):
                assert state.list_objects(raise_on_missing_output=False)
            with pytest.raises(RayStateApiException, match=f"the list of tasks is not complete: process {pid}"):
                state.summarize_tasks()
            with pytest.warns(UserWarning, match=f"process {pid}"):
                assert state.summarize_tasks(raise_on_missing_output=False)
            with pytest.raises(RayStateApiException, match=f"the list of objects is not complete: process {pid}"):
                state.summarize_objects()
            assert clock() < 8
        assert f"process {pid} (worker) is left out" in run("memory")
    assert state.list_objects()


@pytest.fixture
def run(ray: Any, capsys: pytest.CaptureFixture[str]) -> Callable[..., str]:
    """Runs a command in this process, on the running session, and returns what it writes."""

    def main(*args: str, status: int = 0) -> str:
        try:
            found = state_cli.main([*args, "--address", process.require().session_dir])
        except SystemExit as problem:
            found = problem.code
        said = capsys.readouterr()
        assert found == status, said.err
        return said.err if status else said.out

    return main


def test_commands(ray: Any, holder: Any, run: Callable[..., str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "200")
    ref = ray.put(np.zeros(BIG))
    pid = ray.get(holder.keep.remote([ref]))
    until_borrowed(ref, pid)
    out = run("memory", "--units", "MB", "--sort-by", "PID")
    address = ray.nodes()[0]["NodeManagerAddress"]
    assert f"--- node address {address}: references ---" in out
    mine, its = (line for line in out.splitlines() if ref.hex() in line)
    if mine.split()[1] != str(os.getpid()):
        mine, its = its, mine
    assert mine.split()[:3] == [address, str(os.getpid()), "Driver"]
    assert ref.call_site() in mine and f" {pid} " in mine and " MB " in mine
    assert its.split()[:3] == [address, str(pid), "Worker"] and "(deserialize task arg) Holder.keep" in its
    assert "--- object store ---" in out
    grouped = run("memory", "--group-by", "stack_trace", "--no-format", "--n", "1")
    assert f"--- stack trace {ref.call_site()}: totals ---" in grouped
    assert ref.hex() not in run("memory", "--stats-only")

    listed = json.loads(run("list", "actors", "--format", "json", "--filter", "STATE=alive"))
    assert holder._actor_id.hex() in [row["actor_id"] for row in listed]
    assert "death_cause" not in listed[0]
    assert f"pid: {pid}" in run("get", "actors", holder._actor_id.hex())
    assert "not found" in run("get", "tasks", "00")
    assert "num_restarts: 0" in run("list", "actors", "--detail")
    assert "LOCAL_REFERENCE" in run("list", "objects", "--filter", f"object_id={ref.hex()}")
    assert "Holder" in run("summary", "actors")
    assert "Holder.keep" in run("summary", "tasks")
    assert ref.call_site() in run("summary", "objects")
    for wrong in (("list", "cats"), ("list", "actors", "--filter", "x"), ("list", "workers", "--filter", "pid=abc")):
        assert run(*wrong, status=2)
    assert "must be at least 1, not 0" in run("memory", "--n", "0", status=2)
    assert "must be a whole number, not 'x'" in run("memory", "--n", "x", status=2)
    assert "Supported filter columns" in run("list", "actors", "--filter", "x=1", status=1)


def test_the_command_outside_of_the_session(ray: Any) -> None:
    ref = ray.put(1)
    done = subprocess.run(
        [COMMAND, "memory", "--address", process.require().session_dir], capture_output=True, text=True, timeout=30
    )
    assert (done.returncode, done.stderr) == (0, "")
    (line,) = (line for line in done.stdout.splitlines() if ref.hex() in line)
    assert ref.call_site() in line and str(os.getpid()) in line
    done = subprocess.run(
        [COMMAND, "list", "actors", "--address", "/nowhere"], capture_output=True, text=True, timeout=30
    )
    assert done.returncode == 1 and "/nowhere" in done.stderr


def test_sites_can_be_turned_off(script: Any) -> None:
    done = script(
        """
        import eagleray as ray
        ray.init(address="local", num_cpus=1)
        ref = ray.put(1)
        from eagleray.util import state
        enabled = state.summarize_objects()["cluster"]["callsite_enabled"]
        print(repr(ref.call_site()), state.list_objects()[0].call_site, enabled)
        """,
        env={**os.environ, "RAY_record_ref_creation_sites": "0"},
    )
    assert done.stdout == "'' disabled False\n"


def test_what_the_store_counts_of_spilling() -> None:
    mib = 1 << 20
    more = {"file_bytes": 3 * mib, "spill_bytes": 100 * mib, "spill_objects": 4, "spill_ms": 500, "waiting": 2}
    more |= {"restore_bytes": 50 * mib, "restore_objects": 2, "restore_ms": 1000, "spilled_bytes": 75 * mib}
    store = {"Capacity": 200 * mib, "Used": 50 * mib, "Objects": 9, "Pinned": 1, "Peak": 60 * mib}
    part: dict[str, Any] = {"NodeID": b"", "Silent": None, "Processes": None}
    part["Store"] = {**store, "More": {**more, "spilled_objects": 3}}
    raw: dict[str, Any] = {"NodeID": b"", "Parts": [part], "Silent": None, "Nodes": None}
    assert memory_table.text(Census(raw), stats_only=True).splitlines()[1:] == [
        "50 of 200 MiB used (25.00 %) by 9 objects, 1 of them looked at; at most 60 MiB were used",
        "3 MiB of files stand for memory.",
        "Spilled 100 MiB, 4 objects, 200 MiB/s written",
        "Restored 50 MiB, 2 objects, 50 MiB/s read",
        "On disk now: 75 MiB, 3 objects",
        "2 objects wait for room.",
    ]
    part["Store"] = {**store, "More": None}
    assert len(memory_table.text(Census(raw), stats_only=True).splitlines()) == 2
    raw["Parts"].append({**part, "Store": {**store, "More": more}})
    assert memory_table.text(Census(raw), stats_only=True).splitlines()[:4] == [
        "--- object stores of 2 nodes ---",
        "100 of 400 MiB used (25.00 %) by 18 objects, 2 of them looked at; at most 120 MiB were used",
        "3 MiB of files stand for memory.",
        "Spilled 100 MiB, 4 objects, 200 MiB/s written",
    ]


def test_tasks_of_a_caller_that_has_ended(ray: Any) -> None:
    @ray.remote(num_cpus=0)
    class Callee:
        def items(self) -> Any:
            yield from range(3)

        def fail(self) -> None:
            raise KeyError("x")

    @ray.remote(num_cpus=0)
    class Caller:
        def call(self, callee: Any) -> None:
            assert len(list(callee.items.remote())) == 3
            with pytest.raises(KeyError):
                ray.get(callee.fail.remote())

    callee, caller = Callee.remote(), Caller.remote()
    ray.get(caller.call.remote(callee), timeout=PATIENCE_S)
    ray.kill(caller)
    until(lambda: [a.state for a in state.list_actors(filters=[("class_name", "=", "Caller")])] == ["DEAD"])
    until(lambda: [t.state for t in state.list_tasks(filters=[("name", "=", "Callee.items")])] == ["FINISHED"])
    (row,) = state.list_tasks(filters=[("name", "=", "Callee.fail")])
    assert (row.state, row.type, row.actor_id) == ("FAILED", "ACTOR_TASK", callee._actor_id.hex())


def test_a_task_that_no_node_can_run_has_failed(ray: Any) -> None:
    @ray.remote(resources={"nobody has it": 1})
    def infeasible() -> None:
        pass

    task = infeasible.remote()
    with pytest.raises(ray.exceptions.TaskUnschedulableError):
        ray.get(task)
    assert [row.state for row in state.list_tasks(limit=10_000) if row.name == "infeasible"] == ["FAILED"]
    summary = state.summarize_tasks()["cluster"]["summary"]
    assert summary["infeasible"]["state_counts"] == {"FAILED": 1}
