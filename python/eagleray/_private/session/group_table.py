"""Records of placement groups, as the public functions show them."""

from __future__ import annotations

from typing import Any

from eagleray._private.calls.resources import from_units

#: State of a group → what Ray says of its scheduling.
_SCHEDULING = {"CREATED": "FINISHED", "REMOVED": "REMOVED", "PENDING": "QUEUED", "RESCHEDULING": "QUEUED"}


def bundles(record: dict[str, Any]) -> list[dict[str, float]]:
    """Returns what each bundle sets aside, in the user's units."""
    return [from_units(bundle["res"]) for bundle in record["bundles"]]


def row(record: dict[str, Any]) -> dict[str, Any]:
    """Returns a group as ``placement_group_table`` shows it."""
    return {
        "placement_group_id": record["group_id"].hex(),
        "name": record["name"],
        "bundles": dict(enumerate(bundles(record))),
        "bundles_to_node_id": dict(enumerate(_nodes(record))),
        "strategy": record["strategy"],
        "state": record["state"],
        "stats": _stats(record),
    }


def state_row(record: dict[str, Any]) -> dict[str, Any]:
    """Returns a group as a row of ``PlacementGroupState``."""
    group_id = record["group_id"].hex()
    return {
        "placement_group_id": group_id,
        "name": record["name"],
        "creator_job_id": record["job_id"].hex(),
        "state": record["state"],
        "bundles": [
            {
                "bundle_id": {"placement_group_id": group_id, "bundle_index": index},
                "unit_resources": amounts,
                "node_id": node or None,
                "label_selector": bundle.get("labels") or {},
            }
            for index, (amounts, node, bundle) in enumerate(
                zip(bundles(record), _nodes(record), record["bundles"], strict=True)
            )
        ],
        "is_detached": record["detached"],
        "stats": _stats(record),
    }


def _nodes(record: dict[str, Any]) -> list[str]:
    """Returns the node of each bundle in hex, empty for a bundle without one."""
    nodes = list(record.get("nodes") or ())
    return nodes + [""] * (len(record["bundles"]) - len(nodes))


def _stats(record: dict[str, Any]) -> dict[str, Any]:
    """Returns what Ray calls the statistics of a group. Its attempts are not counted here."""
    took = float(max(0, record["placed_ms"] - record["created_ms"])) if record["placed_ms"] else 0.0
    return {
        "end_to_end_creation_latency_ms": took,
        "scheduling_latency_ms": took,
        "scheduling_attempt": 1 if record["placed_ms"] else 0,
        "highest_retry_delay_ms": 0.0,
        "scheduling_state": "INFEASIBLE" if record.get("infeasible") else _SCHEDULING[record["state"]],
    }
