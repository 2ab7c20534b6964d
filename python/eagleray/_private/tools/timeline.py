"""``timeline``: what ran when, as events of Chrome's trace viewer and of Perfetto."""

from __future__ import annotations

import glob
import json
import os
import time
from collections.abc import Iterator
from typing import Any, NamedTuple

from eagleray._private.calls import tracing
from eagleray._private.session import census
from eagleray._private.state import process
from eagleray._private.tools import trace_files
from eagleray._private.tools.trace_files import Call

_TIMEOUT = 30.0
#: Bytes that are read of a file of spans that programs have marked.
_MOST_SPANS = 64 << 20
#: The steps of a call in its worker: name → where it begins and ends, and its colour in the viewer.
_STEPS = {
    "task:deserialize_arguments": ("taken", "decoded", "rail_load"),
    "task:execute": ("decoded", "ran", "rail_animation"),
    "task:store_outputs": ("ran", "encoded", "rail_idle"),
}
_SUBMIT_COLOUR, _OTHER_COLOUR = "background_memory_dump", "generic_work"


class _Cluster(NamedTuple):
    """What the session says of its processes and tasks."""

    owners: set[int]
    workers: dict[int, dict[str, Any]]  # process id → its row
    tasks: dict[Call, dict[str, Any]]


def timeline(filename: str | None = None) -> list[dict[str, Any]] | None:
    """Returns when calls ran in the workers of the cluster.

    Each event has the form of a complete event of Chrome's trace viewer: times in microseconds, ``pid`` for the
    machine and ``tid`` for the process. ``task::NAME`` is a whole call. Each worker remembers its last 1,024 calls.
    Of a worker that has left by itself the last 64 are known, and of one that was killed none.

    A program that starts with ``EAGLERAY_TRACE`` set to a folder records more: the events are all calls of this
    session in this machine's processes then, with their submission and their steps as events of their own, and
    ``profile`` of ``_private.profiling`` adds events of the program's own.

    Args:
        filename: Where to write the events as JSON; None: they are returned.

    Returns:
        The events; None if they were written.

    Raises:
        RuntimeError: there is no session.
        RayStateApiException: the session does not answer.
    """
    if process.session is None:
        raise RuntimeError("Eagle Ray has not been started yet: timeline() shows a session, which init() starts")
    session = process.session
    if tracing.FOLDER is not None:
        found = events(tracing.FOLDER, session.node_addr, session.session_dir)
    else:
        found = remembered(census.take(session.session_dir, _TIMEOUT, tasks=True))
    if filename is None:
        return found
    with open(filename, "w", encoding="utf-8") as file:
        json.dump(found, file)
    return None


def remembered(taken: census.Census) -> list[dict[str, Any]]:
    """Returns the events of the calls that the cluster's workers remember, from the first to the last."""
    addresses = {row["NodeID"]: row["Address"] for row in taken.raw["Nodes"] or ()}
    found = []
    for task_id, run in taken.runs().items():
        if not run["EndedUs"]:
            continue  # it runs now
        event = _whole(run["Name"], task_id.hex(), 1000 * run["StartedUs"], 1000 * run["EndedUs"], 0)
        found.append(event | {"pid": addresses[run["NodeID"]], "tid": f"worker:{run['WorkerID'].hex()}"})
    return sorted(found, key=lambda event: event["ts"])


def events(folder: str, address: str, session_dir: str) -> list[dict[str, Any]]:
    """Returns the events of a session of this machine, from the tracer's files.

    Args:
        folder: The tracer's files.
        address: What the machine is called in the events.
        session_dir: The session.
    """
    cluster = _ask(session_dir)
    offset = time.time_ns() - time.monotonic_ns()
    found: list[dict[str, Any]] = []
    for one in trace_files.load(folder):
        stages = one.stages
        thread = _thread(one.pid, one.role, cluster)
        common = {"pid": address, "tid": thread}
        for call, begin in stages["called"].items():
            if call[0] in cluster.owners and call in stages["queued"]:
                found.append(_event("submit_task", begin, stages["queued"][call], offset, _SUBMIT_COLOUR) | common)
        for call, begin in stages["taken"].items():
            if call[0] not in cluster.owners:
                continue
            found += [event | common for event in _call(one, call, begin, offset, cluster.tasks.get(call))]
    found += list(_spans(folder, session_dir, address, offset, cluster))
    return sorted(found, key=lambda event: event["ts"])


def _ask(session_dir: str) -> _Cluster:
    answer = census.take(session_dir, _TIMEOUT, tasks=True)
    rows = answer.workers()
    tasks = {}
    for row in answer.tasks():
        task_id = bytes.fromhex(row["task_id"])
        tasks[int.from_bytes(task_id[12:16], "big"), int.from_bytes(task_id[:8], "big")] = row
    owners = {int.from_bytes(bytes.fromhex(row["worker_id"])[4:8], "big") for row in rows}
    return _Cluster(owners, {row["pid"]: row for row in rows}, tasks)


def _thread(pid: int, role: str, cluster: _Cluster) -> str:
    row = cluster.workers.get(pid)
    return f"{role}:{row['worker_id'] if row is not None else pid}"


def _call(
    worker: trace_files.Process, call: Call, begin: int, offset: int, task: dict[str, Any] | None
) -> Iterator[dict[str, Any]]:
    """The events of one call in its worker. A step whose end was not recorded has not ended, or failed."""
    stages = worker.stages
    ends = {name: stages[name].get(call) for name in ("taken", "decoded", "ran", "encoded", "answered")}
    ends["ran"] = ends["ran"] or ends["encoded"]  # a coroutine that returns None encodes nothing
    for name, (first, last, colour) in _STEPS.items():
        at, until = ends[first], ends[last]
        if at is not None and until is not None:
            yield _event(name, at, until, offset, colour)
    until = ends["answered"] or ends["encoded"]
    if until is not None:
        name, task_id = (task["name"], task["task_id"]) if task is not None else ("unknown", None)
        yield _whole(name, task_id, begin, until, offset)


def _whole(name: str, task_id: str | None, begin: int, end: int, offset: int) -> dict[str, Any]:
    """The event of a whole call."""
    event = _event(f"task::{name}", begin, end, offset, _OTHER_COLOUR)
    return event | {"name": name, "args": {"name": name, "task_id": task_id}}


def _event(name: str, begin: int, end: int, offset: int, colour: str) -> dict[str, Any]:
    """An event, from times in nanoseconds of the monotonic clock."""
    return {
        "cat": name,
        "name": name,
        "ph": "X",
        "ts": (begin + offset) / 1000,
        "dur": max(0, end - begin) / 1000,
        "cname": colour,
        "args": {},
    }


def _spans(folder: str, session_dir: str, address: str, offset: int, cluster: _Cluster) -> Iterator[dict[str, Any]]:
    """What programs have marked with ``profile``."""
    for path in sorted(glob.glob(os.path.join(glob.escape(folder), "*.spans"))):
        with open(path, encoding="utf-8", errors="replace") as file:
            lines = file.read(_MOST_SPANS).splitlines()
        for line in lines:
            try:
                span = json.loads(line)
                if span["session"] != session_dir:
                    continue
                data = dict(span["data"])
                made = _event(str(span["type"]), int(span["begin"]), int(span["end"]), offset, _OTHER_COLOUR)
                pid, role = int(span["pid"]), str(span["role"])
            except (ValueError, KeyError, TypeError):
                continue  # a process was ended while it wrote the line
            made |= {"pid": address, "tid": _thread(pid, role, cluster), "args": data}
            yield made | {name: data[name] for name in ("name", "cname") if name in data}
