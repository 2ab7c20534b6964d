"""Submitted jobs as the state API shows them."""

from __future__ import annotations

import os
from typing import Any

from eagleray._private.jobs import records
from eagleray._private.jobs.model import JobType, as_json
from eagleray._private.state import Session


def with_submissions(session: Session, drivers: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Returns the rows of all jobs: a submitted job and the driver that it has started are one row."""
    noted = records.drivers(session)
    rows = []
    for name, record in records.every(session).items():
        driver = noted.get(name)
        rows.append(
            {
                **as_json(record),
                "type": JobType.SUBMISSION.value,
                "submission_id": name,
                "job_id": driver["id"] if driver else None,
                "driver_info": driver,
            }
        )
    taken = {row["job_id"] for row in rows if row["job_id"]}
    return rows + [row for row in drivers if row["job_id"] not in taken]


def log_of(session: Session, submission_id: str) -> tuple[str, str]:
    """Returns the node and the name of the file in which a submitted job writes.

    Raises:
        LookupError: there is no such job, or it has not begun.
    """
    record = records.get(session, submission_id)
    if record is None:
        raise LookupError(f"no job was submitted with the id {submission_id!r}: list_jobs() shows the ids")
    if record.driver_node_id is None:
        raise LookupError(
            f"the job {submission_id} has no log: it is {record.status}, and its entrypoint has not begun"
        )
    return record.driver_node_id, os.path.basename(records.log_path(session.session_dir, submission_id))
