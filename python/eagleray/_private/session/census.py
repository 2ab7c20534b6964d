"""Asks a session's daemon what each process holds, and turns the answer into rows.

A process of a session asks through its connection. Any other process runs the binary, which asks.
"""

from __future__ import annotations

import os
import subprocess
from typing import Any

import msgpack

from eagleray._private.hot_error import HotError
from eagleray._private.messages import pack
from eagleray._private.session import node
from eagleray._private.state import UNIT, process
from eagleray.util.state.exception import RayStateApiException, ServerUnavailable

#: The largest number of rows of one kind from one process.
MOST = 10_000
_PLACES = {
    "pending": "PENDING",
    "infeasible": "PENDING",
    "failed": "LOST",
    "evicted": "LINEAGE",
    "inline": "INLINE",
    "stored": "STORED",
}
_SILENT = "nothing was heard of it for some seconds; nothing new is placed there"


class Census:
    """The answer of the daemon.

    Attributes:
        raw: The message of the daemon, see ``core/internal/wire/census.go``.
        silent: Lines about processes that did not answer.
    """

    def __init__(self, raw: dict[str, Any]) -> None:
        self.raw = raw
        self.node_id: str = raw["NodeID"].hex()
        #: The entry of the machine, as nodes() returns it.
        self.address: str = next(
            (row["Address"] for row in raw.get("Nodes") or () if row["NodeID"] == raw["NodeID"]), "127.0.0.1"
        )
        self.silent = [f"process {row['Pid']} ({row['Role']}) is left out: {row['Why']}" for row in raw["Silent"] or ()]
        self._pids = {bytes(row["WorkerID"][:12]): int(row["Pid"]) for row in raw["Processes"] or ()}

    @property
    def reports(self) -> list[dict[str, Any]]:
        """Returns the parts of the answer, one for each process."""
        return self.raw["Processes"] or []

    def objects(self) -> list[dict[str, Any]]:
        """Returns the rows of ``ObjectState``, one for each object and process."""
        places = {row["ObjectID"]: row for row in self.raw["Places"] or ()}
        rows = []
        for report in self.reports:
            for held in report["Objects"] or ():
                rows.append(self._object(report, held, places.get(held["ObjectID"])))
        owners = {row["object_id"]: row for row in rows if row["is_owner"]}
        for row in rows:  # a process that has not asked for a value does not know its place and size: the owner does
            owner = owners.get(row["object_id"])
            if owner is not None and not row["is_owner"] and row["place"] == "PENDING":
                row["place"], row["object_size"] = owner["place"], owner["object_size"]
        return rows

    def _object(self, report: dict[str, Any], held: dict[str, Any], place: dict[str, Any] | None) -> dict[str, Any]:
        where = _PLACES[held["State"]]
        size = held["Size"]
        if place is not None:
            where = place["Where"].upper()
            size = place["Size"]
        elif where == "STORED":
            where = "LOST"
        return {
            "object_id": held["ObjectID"].hex(),
            "object_size": size,
            "task_status": _task_status(held),
            "attempt_number": held["Attempt"] + 1,
            "reference_type": reference_type(held),
            "call_site": held["Site"] or "disabled",
            "type": _type(report["Role"]),
            "pid": report["Pid"],
            "ip": self.address,
            "place": where,
            "function": held["Maker"] or None,
            "is_owner": held["Owned"],
            "worker_id": report["WorkerID"].hex(),
            "actor_id": _hex(held["ActorID"]),
            "local_ref_count": held["Local"],
            "submitted_task_ref_count": held["Tasks"],
            "captured_in_object_count": held["Captured"] + held["Replies"],
            "pinned_in_memory": held["Viewed"],
            "borrowers": [self._pids.get(bytes(owner), 0) for owner in held["Borrowers"] or ()],
        }

    def objects_total(self) -> int:
        """Returns the number of rows that there would be without a limit."""
        return sum(report["Owned"] + report["Borrows"] for report in self.reports)

    def tasks(self) -> list[dict[str, Any]]:
        """Returns the rows of ``TaskState``: unfinished tasks first, then the tasks that ended last."""
        runs: dict[bytes, tuple[dict[str, Any], int]] = {}
        for report in self.reports:
            for run in report["Runs"] or ():
                runs[run["TaskID"]] = (report, run["StartedMs"])
        rows = [
            self._task(report, task, runs.get(task["TaskID"]))
            for report in self.reports
            for task in report["Tasks"] or ()
        ]
        rows += [self._task(report, task, None) for report in self.reports for task in report["Ended"] or ()]
        return rows + self._orphans()

    def _orphans(self) -> list[dict[str, Any]]:
        """Returns the tasks whose submitter has ended. The processes that run or have run them report these."""
        alive = {bytes(report["WorkerID"][:12]) for report in self.reports}
        rows: dict[str, dict[str, Any]] = {}
        for report in self.reports:
            for task in report["Ran"] or ():
                if task["TaskID"][8:20] in alive:
                    continue
                row = self._task(report, task, (report, None))
                row["state"] = task["State"]
                rows.setdefault(row["task_id"], row)
        return list(rows.values())

    def _task(
        self, report: dict[str, Any], task: dict[str, Any], run: tuple[dict[str, Any], int | None] | None
    ) -> dict[str, Any]:
        where, started = run if run is not None else (None, None)
        return {
            "task_id": task["TaskID"].hex(),
            "attempt_number": task["Attempt"],
            "name": task["Name"],
            "state": "RUNNING" if where is not None else task["State"],
            "job_id": report["JobID"].hex(),
            "actor_id": _hex(task["ActorID"]),
            "type": "ACTOR_TASK" if task["Method"] else "NORMAL_TASK",
            "func_or_class_name": task["Name"],
            "node_id": self.node_id if where is not None else None,
            "worker_id": where["WorkerID"].hex() if where is not None else None,
            "worker_pid": where["Pid"] if where is not None else None,
            "language": "PYTHON",
            "required_resources": _amounts(task["Resources"]),
            "start_time_ms": started,
            "call_site": task["Site"] or None,
        }

    def actors(self) -> list[dict[str, Any]]:
        """Returns the rows of ``ActorState``."""
        sites = {
            held["ActorID"]: held["Site"]
            for report in self.reports
            for held in report["Objects"] or ()
            if held["ActorID"] and held["Owned"]
        }
        rows = []
        for actor in self.raw["Actors"] or ():
            cause = None
            if actor["State"] == "DEAD":
                cause = {"reason": actor["Reason"], "error_message": actor["Message"]}
            rows.append(
                {
                    "actor_id": actor["ActorID"].hex(),
                    "class_name": actor["ClassName"],
                    "state": actor["State"],
                    "job_id": actor["JobID"].hex(),
                    "name": actor["Name"],
                    "node_id": _hex(actor["NodeID"]),
                    "pid": actor["Pid"],
                    "ray_namespace": actor["Namespace"],
                    "required_resources": _amounts(actor["Resources"]),
                    "death_cause": cause,
                    "is_detached": actor["Detached"],
                    "num_restarts": actor["Restarts"],
                    "call_site": sites.get(actor["ActorID"]) or None,
                }
            )
        return rows

    def workers(self) -> list[dict[str, Any]]:
        """Returns the rows of ``WorkerState``: living workers, and workers that ended last."""
        return [
            {
                "worker_id": row["WorkerID"].hex(),
                "is_alive": row["Alive"],
                "worker_type": _type(row["Role"]),
                "exit_type": None if row["Alive"] else _exit_type(row["Reason"]),
                "node_id": self.node_id,
                "ip": self.address,
                "pid": row["Pid"],
                "exit_detail": row["Detail"] or None,
                "worker_launch_time_ms": row["StartedMs"] or None,
                "start_time_ms": row["ReadyMs"] or None,
                "end_time_ms": row["EndedMs"] or None,
            }
            for row in self.raw["Workers"] or ()
        ]

    def nodes(self) -> list[dict[str, Any]]:
        """Returns the rows of ``NodeState``."""
        return [
            {
                "node_id": row["NodeID"].hex(),
                "node_ip": row["Address"],
                "is_head_node": row["IsHead"],
                "state": "ALIVE" if row["Alive"] else "DEAD",
                "state_message": _SILENT if row["Unreachable"] else row["Reason"] or None,
                "node_name": row["Name"],
                "resources_total": _amounts(row["Resources"]) or {},
                "labels": {"ray.io/node-id": row["NodeID"].hex(), **(row["Labels"] or {})},
            }
            for row in self.raw["Nodes"] or ()
        ]

    def jobs(self) -> list[dict[str, Any]]:
        """Returns the rows of ``JobState``."""
        states = {"RUNNING": "RUNNING", "FINISHED": "SUCCEEDED", "LOST": "FAILED"}
        return [
            {
                "job_id": row["JobID"].hex(),
                "entrypoint": row["Entrypoint"],
                "type": "DRIVER",
                "status": states[row["State"]],
                "message": row["Message"] or None,
                "driver_info": {"id": row["JobID"].hex(), "node_ip_address": self.address, "pid": str(row["Pid"])},
                "start_time": row["StartedMs"] or None,
                "end_time": row["EndedMs"] or None,
            }
            for row in self.raw["Jobs"] or ()
        ]


def take(
    address: str | None, timeout: float, *, objects: bool = False, tasks: bool = False, limit: int = MOST
) -> Census:
    """Asks for a census.

    Args:
        address: As in ``init``; None: the session that this process is in, else the one that runs here.
        timeout: Seconds.
        objects: Whether to ask each process for its references.
        tasks: Whether to ask each process for its tasks.
        limit: Rows of a kind from each process.

    Raises:
        RayStateApiException: there is no such session, or no answer.
    """
    session = process.session
    if session is not None and address in (None, "auto", session.session_dir):
        # The daemon must answer before this call's own timeout.
        body = {"limit": limit, "timeout_ms": int(timeout * 800), "objects": objects, "tasks": tasks}
        try:
            return Census(msgpack.unpackb(session.hot.rpc("census", pack(body), int(timeout * 1000))))
        except HotError as error:
            raise ServerUnavailable(f"the session does not tell its state: {error}") from None
    return Census(_through_binary(find(address), timeout, limit, objects, tasks))


def find(address: str | None) -> str:
    """Returns the folder of the session at an address.

    Raises:
        RayStateApiException: there is no session, or there are several.
    """
    try:
        found = node.resolve(address)
    except (ConnectionError, OSError, ValueError) as problem:
        raise ServerUnavailable(str(problem)) from None
    if found is not None:
        return found
    running = node.running()
    if len(running) == 1:
        return running[0]
    if not running:
        raise ServerUnavailable("no session is running on this machine: call init(), or `eagleray start --head`")
    raise ServerUnavailable(
        "several sessions are running on this machine: say which with --address (in Python: address=):\n  "
        + "\n  ".join(running)
    )


def _through_binary(folder: str, timeout: float, limit: int, objects: bool, tasks: bool) -> dict[str, Any]:
    binary = os.environ.get("EAGLERAY_BIN") or node.BINARY
    command = [
        binary,
        "census",
        "--session-dir",
        folder,
        "--limit",
        str(limit),
        "--timeout-ms",
        str(int(timeout * 1000)),
    ]
    command += ["--objects"] * objects + ["--tasks"] * tasks
    try:
        done = subprocess.run(command, capture_output=True, timeout=timeout + 5)
    except (OSError, subprocess.TimeoutExpired) as problem:
        raise ServerUnavailable(f"the session at {folder} does not tell its state: {problem}") from None
    if done.returncode:
        raise RayStateApiException(done.stderr.decode(errors="replace").strip().removeprefix("eagleray: "))
    found: dict[str, Any] = msgpack.unpackb(done.stdout, strict_map_key=False)
    return found


def reference_type(held: dict[str, Any]) -> str:
    """Returns one word for why a process holds an object: the first reason that applies."""
    if held["ActorID"]:
        return "ACTOR_HANDLE"
    if held["Viewed"]:
        return "PINNED_IN_MEMORY"
    if held["Tasks"] > 0:
        return "USED_BY_PENDING_TASK"
    if held["Local"] > 0:
        return "LOCAL_REFERENCE"
    if held["Captured"] or held["Replies"]:
        return "CAPTURED_IN_OBJECT"
    if held["Borrowers"]:
        return "BORROWED"
    return "LINEAGE" if held["Lineage"] else "UNKNOWN_STATUS"


def _task_status(held: dict[str, Any]) -> str:
    if held["TaskState"]:
        return str(held["TaskState"])
    # The last four bytes of an id are its place among a task's returns; 0 is what put made.
    if not held["Owned"] or held["ActorID"] or held["ObjectID"][-4:] == bytes(4):
        return "NIL"
    return "FAILED" if held["State"] == "failed" else "FINISHED"


def _type(role: str) -> str:
    return "WORKER" if role in ("worker", "successor") else "DRIVER"


def _exit_type(reason: str) -> str:
    if not reason:
        return "SYSTEM_ERROR"
    if "constructor" in reason:
        return "USER_ERROR"
    if reason in ("idle", "max_calls", "on_leak", "released"):
        return "INTENDED_SYSTEM_EXIT"
    return "INTENDED_USER_EXIT"


def _hex(value: bytes | None) -> str | None:
    return value.hex() if value else None


def _amounts(units: dict[str, int] | None) -> dict[str, float] | None:
    return {name: amount / UNIT for name, amount in units.items()} if units else None
