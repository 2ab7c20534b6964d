"""Asks a session's daemon what the processes of all nodes hold, and turns the answer into rows.

A process of a session asks through its connection. Any other process runs the binary, which asks.
"""

from __future__ import annotations

import json
import math
import os
import subprocess
from typing import Any

import msgpack

from eagleray._private.calls.labels import selector_of
from eagleray._private.hot_error import HotError
from eagleray._private.ids import creation_of
from eagleray._private.messages import pack
from eagleray._private.session import cluster_events, group_table, node
from eagleray._private.state import UNIT, process
from eagleray.util.state.exception import RayStateApiException, ServerUnavailable

#: The largest number of rows of one kind from one process.
MOST = 10_000
#: Drivers in such a namespace are parts of the cluster itself.
INTERNAL = "_ray_internal_"
_PLACES = {
    "pending": "PENDING",
    "infeasible": "PENDING",
    "failed": "LOST",
    "evicted": "LINEAGE",
    "inline": "INLINE",
    "stored": "STORED",
}
_SILENT = "nothing was heard of it for some seconds; nothing new is placed there"

#: States of creations by those of actors; one that is or was alive is created.
_CREATION_STATES = {"PENDING_CREATION": "PENDING_NODE_ASSIGNMENT", "RESTARTING": "PENDING_NODE_ASSIGNMENT"}
#: Why an actor is dead that never lived.
_NOT_CREATED = ("start_failed", "env_failed", "node_busy")
_CREATION_ERRORS = {
    "start_failed": "TASK_EXECUTION_EXCEPTION",
    "env_failed": "RUNTIME_ENV_SETUP_FAILED",
    "node_busy": "ACTOR_UNSCHEDULABLE_ERROR",
}

#: Why a process has ended whose actor has called ``exit_actor``.
_LEFT = "exit_actor() was called"

#: Places of objects that another row may know better.
_UNKNOWN = ("PENDING", "ELSEWHERE", "LOST")


def _ms(microseconds: int | None) -> int | None:
    """Returns whole milliseconds; None if the time is not known."""
    return microseconds // 1000 if microseconds else None


def _draining(row: dict[str, Any]) -> str | None:
    """Says that a node which is alive leaves the cluster; None for one that does not."""
    if not row["DrainReason"]:
        return None
    return f"it leaves the cluster, and no new work is placed there ({row['DrainReason']}): {row['DrainMessage']}"


class Census:
    """The answer of the daemon.

    Attributes:
        raw: The message of the daemon, see ``core/internal/wire/census.go``.
        parts: What the nodes have answered, one part for each.
        reports: What the processes have answered, one report for each.
        silent: Lines about nodes and processes that did not answer.
    """

    def __init__(self, raw: dict[str, Any]) -> None:
        self.raw = raw
        self.parts: list[dict[str, Any]] = raw["Parts"]
        self.reports: list[dict[str, Any]] = []
        self._nodes = {row["NodeID"]: row for row in raw["Nodes"] or ()}
        self._node_of: dict[bytes, bytes] = {}
        self._pids: dict[bytes, int] = {}
        self.silent_nodes = [
            f"node {row['NodeID'].hex()} ({self._address(row['NodeID'])}) is left out: {row['Why']}"
            for row in raw["Silent"] or ()
        ]
        self.silent = list(self.silent_nodes)
        for part in self.parts:
            for row in part["Silent"] or ():
                self.silent.append(f"process {row['Pid']} ({row['Role']}) is left out: {row['Why']}")
            for report in part["Processes"] or ():
                self.reports.append(report)
                self._node_of[report["WorkerID"]] = part["NodeID"]
                self._pids[bytes(report["WorkerID"][:12])] = int(report["Pid"])

    def _address(self, node_id: bytes) -> str:
        """The address of a node, as nodes() returns it."""
        node = self._nodes.get(node_id)
        return str(node["Address"]) if node is not None else "127.0.0.1"

    def objects(self) -> list[dict[str, Any]]:
        """Returns the rows of ``ObjectState``, one for each object and process."""
        rows = []
        for part in self.parts:
            places = {row["ObjectID"]: row for row in part["Places"] or ()}
            for report in part["Processes"] or ():
                for held in report["Objects"] or ():
                    rows.append(self._object(part, report, held, places.get(held["ObjectID"])))
        owners = {row["object_id"]: row for row in rows if row["is_owner"]}
        copies = {row["object_id"]: row for row in rows if row["place"] not in _UNKNOWN}
        for row in rows:
            # A process that has not asked for a value does not know its place and size: the owner does. The owner's
            # node knows that other nodes have an object, and these know where.
            better = copies.get(row["object_id"], owners.get(row["object_id"]))
            if better is not None and row["place"] in _UNKNOWN:
                row["place"], row["object_size"] = better["place"], max(better["object_size"], row["object_size"])
        return rows

    def _object(
        self, part: dict[str, Any], report: dict[str, Any], held: dict[str, Any], place: dict[str, Any] | None
    ) -> dict[str, Any]:
        where = _PLACES[held["State"]]
        size = held["Size"]
        if place is not None:
            where = place["Where"].upper()
            size = max(size, place["Size"]) if where == "ELSEWHERE" else place["Size"]
        elif where == "STORED":
            # Only the owner's node can say that no node has it.
            number = self._nodes.get(part["NodeID"], {}).get("Number", 0)
            where = "LOST" if int.from_bytes(held["ObjectID"][8:12], "big") == number else "ELSEWHERE"
        return {
            "object_id": held["ObjectID"].hex(),
            "object_size": size,
            "task_status": _task_status(held),
            "attempt_number": held["Attempt"] + 1,
            "reference_type": reference_type(held),
            "call_site": held["Site"] or "disabled",
            "type": _type(report["Role"]),
            "pid": report["Pid"],
            "ip": self._address(part["NodeID"]),
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
        ran = self.runs()
        for report in self.reports:
            for task in report["Ended"] or ():
                rows.append(self._task(report, task, None))
                self._add_run(rows[-1], ran.get(task["TaskID"]))
        return rows + self._orphans() + self._creations()

    def _creations(self) -> list[dict[str, Any]]:
        """Returns the creations of actors, which are tasks under Ray. Their latest attempt is shown."""
        rows = []
        for actor in self.raw["Actors"] or ():
            placed = bool(actor["NodeID"])
            failed = actor["State"] == "DEAD" and (actor["Reason"] in _NOT_CREATED or not placed)
            state = "FAILED" if failed else _CREATION_STATES.get(actor["State"], "FINISHED")
            name = actor["ClassName"] + ".__init__"
            rows.append(
                {
                    "task_id": creation_of(actor["ActorID"]).hex(),
                    "attempt_number": actor["Restarts"],
                    "name": name,
                    "state": state,
                    "job_id": actor["JobID"].hex(),
                    "actor_id": actor["ActorID"].hex(),
                    "type": "ACTOR_CREATION_TASK",
                    "func_or_class_name": name,
                    "node_id": _hex(actor["NodeID"]),
                    "worker_id": _hex(actor["WorkerID"]),
                    "worker_pid": actor["Pid"] or None,
                    "language": "PYTHON",
                    "required_resources": _amounts(actor["Resources"]),
                    "placement_group_id": _group_of(actor["Strategy"]),
                    "error_type": _CREATION_ERRORS.get(actor["Reason"], "ACTOR_DIED") if failed else None,
                    "error_message": actor["Message"] or None if failed else None,
                }
            )
        return rows

    def runs(self) -> dict[bytes, dict[str, Any]]:
        """Returns what workers have run last, also workers that have ended. Of a task that ran twice the latest run."""
        found: dict[bytes, dict[str, Any]] = {}
        for part in self.parts:
            for one in (*(part["Processes"] or ()), *(part["Workers"] or ())):
                for task in one.get("Ran") or ():
                    started = task.get("StartedUs") or 0  # an older node says nothing
                    if started and started >= found.get(task["TaskID"], {"StartedUs": 0})["StartedUs"]:
                        where = {"NodeID": part["NodeID"], "WorkerID": one["WorkerID"], "Pid": one["Pid"]}
                        found[task["TaskID"]] = {**task, **where, "Reason": one.get("Reason")}
        return found

    def _add_run(self, row: dict[str, Any], run: dict[str, Any] | None) -> None:
        """Adds where and when a task ran that has ended."""
        if run is None:
            return
        row["node_id"], row["worker_id"] = run["NodeID"].hex(), run["WorkerID"].hex()
        row["worker_pid"], row["start_time_ms"] = run["Pid"], run["StartedUs"] // 1000
        row["end_time_ms"] = _ms(run.get("EndedUs"))
        if run["Reason"] == _LEFT and row["state"] == "FAILED" and run["State"] == "FINISHED":
            # The call that ended its actor has done what it was to do, although it has no result.
            row["state"], row["error_type"], row["error_message"] = "FINISHED", None, None

    def _orphans(self) -> list[dict[str, Any]]:
        """Returns the tasks whose submitter has ended. The processes that run or have run them report these."""
        alive = {bytes(report["WorkerID"][:12]) for report in self.reports}
        rows: dict[str, dict[str, Any]] = {}
        for report in self.reports:
            for task in report["Ran"] or ():
                if task["TaskID"][8:20] in alive:
                    continue
                row = self._task(report, task, (report, _ms(task.get("StartedUs"))))
                row["state"], row["end_time_ms"] = task["State"], _ms(task.get("EndedUs"))
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
            "node_id": self._node_of[where["WorkerID"]].hex() if where is not None else None,
            "worker_id": where["WorkerID"].hex() if where is not None else None,
            "worker_pid": where["Pid"] if where is not None else None,
            "language": "PYTHON",
            "required_resources": _amounts(task["Resources"]),
            "placement_group_id": _hex(task.get("GroupID")),
            "start_time_ms": started,
            "call_site": task["Site"] or None,
            "error_type": _error_type(task),
            "error_message": task.get("Error") or None,
        }

    def actors(self) -> list[dict[str, Any]]:
        """Returns the rows of ``ActorState``."""
        sites = {
            held["ActorID"]: held["Site"]
            for report in self.reports
            for held in report["Objects"] or ()
            if held["ActorID"] and held["Owned"]
        }
        shown = {
            worker["ActorID"]: worker["Repr"]
            for part in self.parts
            for worker in sorted(part["Workers"] or (), key=lambda row: row["StartedMs"])
            if worker["ActorID"] and worker.get("Repr")  # an older node says nothing
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
                    "placement_group_id": _group_of(actor["Strategy"]),
                    "label_selector": selector_of(actor["Strategy"]),
                    "num_restarts": actor["Restarts"],
                    "num_restarts_due_to_node_preemption": actor["Preempted"],
                    "call_site": sites.get(actor["ActorID"]) or None,
                    "repr_name": shown.get(actor["ActorID"], ""),
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
                "node_id": part["NodeID"].hex(),
                "ip": self._address(part["NodeID"]),
                "pid": row["Pid"],
                "exit_detail": row["Detail"] or None,
                "worker_launch_time_ms": row["StartedMs"] or None,
                "start_time_ms": row["ReadyMs"] or None,
                "end_time_ms": 0 if row["Alive"] else row["EndedMs"] or None,
            }
            for part in self.parts
            for row in part["Workers"] or ()
        ]

    def runtime_envs(self) -> list[dict[str, Any]]:
        """Returns the rows of ``RuntimeEnvState``: first those that cannot be used, then the slowest to set up.

        A node with an older version of Eagle Ray says nothing of its own.
        """
        rows = [
            {
                "runtime_env": json.loads(row["RuntimeEnv"]),
                "success": row["Success"],
                "creation_time_ms": row["SetupUs"] / 1000 if row["Success"] else None,
                "node_id": part["NodeID"].hex(),
                "ref_cnt": row["Users"],
                "error": row["Error"] or None,
            }
            for part in self.parts
            for row in part.get("RuntimeEnvs") or ()
        ]
        rows.sort(key=lambda row: row["creation_time_ms"] if row["success"] else math.inf, reverse=True)
        return rows

    def nodes(self) -> list[dict[str, Any]]:
        """Returns the rows of ``NodeState``."""
        return [
            {
                "node_id": row["NodeID"].hex(),
                "node_ip": row["Address"],
                "is_head_node": row["IsHead"],
                "state": "ALIVE" if row["Alive"] else "DEAD",
                "state_message": _SILENT if row["Unreachable"] else row["Reason"] or _draining(row),
                "node_name": row["Name"],
                "resources_total": _amounts(row["Resources"]) or {},
                "labels": {"ray.io/node-id": row["NodeID"].hex(), **(row["Labels"] or {})},
                "start_time_ms": row.get("StartedMs") or None,  # an older node says nothing
                "end_time_ms": 0 if row["Alive"] else row.get("EndedMs") or None,
            }
            for row in self.raw["Nodes"] or ()
        ]

    def cluster_events(self) -> list[dict[str, Any]]:
        """Returns the rows of ``ClusterEventState``."""
        return cluster_events.of_nodes(self.raw["Nodes"] or [])

    def placement_groups(self) -> list[dict[str, Any]]:
        """Returns the rows of ``PlacementGroupState``."""
        return [
            group_table.state_row(
                {
                    "group_id": row["GroupID"],
                    "job_id": row["JobID"],
                    "name": row["Name"],
                    "state": row["State"],
                    "detached": row["Detached"],
                    "bundles": [
                        {"res": bundle["Resources"] or {}, "labels": bundle["Labels"]}
                        for bundle in row["Bundles"] or ()
                    ],
                    "nodes": row["Nodes"],
                    "created_ms": row["CreatedMs"],
                    "placed_ms": row["PlacedMs"],
                    "infeasible": row["Infeasible"],
                }
            )
            for row in self.raw["Groups"] or ()
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
                "driver_info": {
                    "id": row["JobID"].hex(),
                    "node_ip_address": self._address(row["NodeID"]),
                    "pid": str(row["Pid"]),
                },
                "driver_node_id": row["NodeID"].hex(),
                "start_time": row["StartedMs"] or None,
                "end_time": row["EndedMs"] or None,
            }
            for row in self.raw["Jobs"] or ()
        ]

    def programs(self) -> list[dict[str, Any]]:
        """Returns the rows of ``JobState`` without drivers that are parts of the cluster itself."""
        raw = self.raw["Jobs"] or ()
        return [row for row, job in zip(self.jobs(), raw, strict=True) if not job["Namespace"].startswith(INTERNAL)]


def take(
    address: str | None,
    timeout: float,
    *,
    objects: bool = False,
    tasks: bool = False,
    head: bool = False,
    limit: int = MOST,
) -> Census:
    """Asks for a census.

    Args:
        address: As in ``init``; None: the session that this process is in, else the one that runs here.
        timeout: Seconds.
        objects: Whether to ask each process for its references.
        tasks: Whether to ask each process for its tasks.
        head: Whether to ask for nothing but what the head knows: actors, jobs, nodes and placement groups.
        limit: Rows of a kind from each process.

    Raises:
        RayStateApiException: there is no such session, or no answer.
    """
    session = process.session
    if session is not None and address in (None, "auto", session.session_dir):
        # The daemon must answer before this call's own timeout.
        body = {"limit": limit, "timeout_ms": int(timeout * 800), "objects": objects, "tasks": tasks, "head": head}
        try:
            return Census(msgpack.unpackb(session.hot.rpc("census", pack(body), int(timeout * 1000))))
        except HotError as error:
            raise ServerUnavailable(f"the session does not tell its state: {error}") from None
    wanted = ["--objects"] * objects + ["--tasks"] * tasks + ["--head"] * head
    return Census(_through_binary(find(address), timeout, limit, wanted))


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


def _through_binary(folder: str, timeout: float, limit: int, wanted: list[str]) -> dict[str, Any]:
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
        *wanted,
    ]
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


#: Why a task has failed → the name that Ray has for it. Other codes have the same name with capital letters.
_ERROR_TYPES = {
    "raised": "TASK_EXECUTION_EXCEPTION",
    "worker_crashed": "WORKER_DIED",
    "runtime_env_setup": "RUNTIME_ENV_SETUP_FAILED",
    "task_unschedulable": "TASK_UNSCHEDULABLE_ERROR",
    "actor_unschedulable": "ACTOR_UNSCHEDULABLE_ERROR",
    "placement_group_removed": "TASK_PLACEMENT_GROUP_REMOVED",
    "out_of_disk": "OUT_OF_DISK_ERROR",
    "daemon_died": "LOCAL_RAYLET_DIED",
}


def _error_type(task: dict[str, Any]) -> str | None:
    code: str = task.get("Code") or ""  # an older node says nothing
    if not code:
        return None
    if code == "placement_group_removed" and task["ActorID"]:
        return "ACTOR_DIED"
    return _ERROR_TYPES.get(str(code), str(code).upper())


def _exit_type(reason: str) -> str:
    if not reason:
        return "SYSTEM_ERROR"
    if "constructor" in reason:
        return "USER_ERROR"
    if reason in ("max_calls", "on_leak", "released") or reason.startswith(("it was idle", "its actor was ended")):
        return "INTENDED_SYSTEM_EXIT"
    return "INTENDED_USER_EXIT"


def _hex(value: bytes | None) -> str | None:
    return value.hex() if value else None


def _group_of(strategy: str) -> str | None:
    """Returns the placement group that a strategy names, in hex."""
    kind, _, rest = strategy.partition(":")
    return rest.partition(":")[0] if kind == "group" else None


def _amounts(units: dict[str, int] | None) -> dict[str, float] | None:
    return {name: amount / UNIT for name, amount in units.items()} if units else None
