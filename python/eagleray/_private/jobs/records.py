"""The records of jobs in the cluster's state, where they outlive every process of the cluster."""

from __future__ import annotations

import dataclasses
import json
import os
import time
from typing import Any

from eagleray._private.calls.control import rpc
from eagleray._private.hot_error import HotError, explain
from eagleray._private.jobs.model import JobInfo, as_json, known
from eagleray._private.state import Session

NAMESPACE = "eagleray.jobs"
#: Where drivers write which job they belong to, see ``_private/session/job_config.py``.
DRIVERS = "eagleray.jobs.drivers"


def add(session: Session, submission_id: str, record: JobInfo) -> bool:
    """Writes a new record; False if there is one with this id already."""
    return bool(_put(session, submission_id, record, overwrite=False))


def get(session: Session, submission_id: str) -> JobInfo | None:
    """Returns a record; None if there is none."""
    body = _ask(session, "kv_get", {"ns": NAMESPACE, "key": submission_id.encode()})
    return None if body is None else _read(body)


def change(session: Session, submission_id: str, **fields: Any) -> JobInfo | None:
    """Changes fields of a record whose job has not ended, and returns it.

    The status only goes forward, so a record that has ended stays as it is. Without a new message it gets the usual
    one.
    """
    now = get(session, submission_id)
    if now is None or now.status.is_terminal():
        return now
    fields.setdefault("message", None)
    after = dataclasses.replace(now, **fields)
    if after.status.is_terminal() and after.end_time is None:
        after.end_time = milliseconds()
    _put(session, submission_id, after, overwrite=True)
    return after


def remove(session: Session, submission_id: str) -> None:
    """Removes a record, and what its drivers have written."""
    for space in (NAMESPACE, DRIVERS):
        _ask(session, "kv_del", {"ns": space, "key": submission_id.encode()})


def every(session: Session) -> dict[str, JobInfo]:
    """Returns all records by their ids, the oldest job first."""
    found = {}
    for key in _ask(session, "kv_keys", {"ns": NAMESPACE, "key": b""}) or ():
        record = get(session, key.decode())
        if record is not None:
            found[key.decode()] = record
    return dict(sorted(found.items(), key=lambda item: item[1].start_time or 0))


def drivers(session: Session) -> dict[str, dict[str, str]]:
    """Returns what the last driver of each job has written."""
    found = {}
    for key in _ask(session, "kv_keys", {"ns": DRIVERS, "key": b""}) or ():
        body = _ask(session, "kv_get", {"ns": DRIVERS, "key": key})
        if body is not None:
            found[key.decode()] = json.loads(body)
    return found


def log_path(session_dir: str, submission_id: str) -> str:
    """Returns the log of a job on its node."""
    return os.path.join(session_dir, "logs", f"job-driver-{submission_id}.log")


def milliseconds() -> int:
    """Returns the time as records have it."""
    return int(time.time() * 1000)


def _read(body: bytes) -> JobInfo:
    return JobInfo(**known(JobInfo, json.loads(body)))


def _put(session: Session, submission_id: str, record: JobInfo, overwrite: bool) -> Any:
    value = json.dumps(as_json(record)).encode()
    return _ask(
        session, "kv_put", {"ns": NAMESPACE, "key": submission_id.encode(), "value": value, "overwrite": overwrite}
    )


def _ask(session: Session, method: str, body: dict[str, Any]) -> Any:
    try:
        return rpc(session, method, body)
    except HotError as error:
        raise explain(error) from None
