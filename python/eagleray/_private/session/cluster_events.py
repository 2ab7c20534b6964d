"""What has happened to the nodes of a cluster, made from their records."""

from __future__ import annotations

from hashlib import blake2b
from typing import Any

#: How many hexadecimal digits the id of an event has.
_ID_DIGITS = 36


def of_nodes(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Returns the events of nodes as rows of ``ClusterEventState``, the oldest first.

    The first node of a cluster is there from the start, so its coming is no event.

    Args:
        rows: The nodes of a census, see ``NodeInfo`` in ``core/internal/wire/cluster.go``.
    """
    events: list[tuple[int, dict[str, Any]]] = []
    for row in rows:
        name = f"node {row['NodeID'].hex()} ({row['Name']}, {row['Address']})"
        if not row["IsHead"]:
            _add(events, row, row["StartedMs"], "INFO", f"{name} has joined the cluster")
        if row["DrainReason"]:
            why = f"{row['DrainReason']}: {row['DrainMessage']}"
            _add(events, row, row["DrainAtMs"], "WARNING", f"{name} gets no new work and leaves the cluster ({why})")
        if not row["Alive"]:
            severity = "WARNING" if row["DrainReason"] else "ERROR"
            _add(events, row, row["EndedMs"], severity, f"{name} is dead: {row['Reason']}")
    events.sort(key=lambda event: event[0])
    return [event for _, event in events]


def _add(events: list[tuple[int, dict[str, Any]]], row: dict[str, Any], at: int, severity: str, message: str) -> None:
    node = row["NodeID"].hex()
    found = blake2b(f"{node} {at} {message}".encode(), digest_size=_ID_DIGITS // 2).hexdigest()
    events.append(
        (
            at,
            {
                "severity": severity,
                "time": str(at // 1000),
                "source_type": "GCS",
                "message": message,
                "event_id": found,
                "custom_fields": {"node_id": node},
            },
        )
    )
