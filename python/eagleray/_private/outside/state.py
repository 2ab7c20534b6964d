"""What libraries use of ``ray._private.state``: tables of what the cluster has."""

from __future__ import annotations

from typing import Any

from eagleray._private.calls import placement_groups
from eagleray._private.ids import JobID, PlacementGroupID
from eagleray._private.session import api, census, group_table
from eagleray._private.state import process
from eagleray._private.tools.timeline import timeline as timeline
from eagleray.core.generated._enumerations import ACTOR_STATES

_TIMEOUT = 30.0

available_resources, cluster_resources, nodes = api.available_resources, api.cluster_resources, api.nodes


class GlobalState:
    """Tables of what the cluster has. A field that is not known here is None, and a port that does not exist is 0."""

    def actor_table(
        self, actor_id: str | None = None, job_id: JobID | None = None, actor_state_name: str | None = None
    ) -> dict[str, Any]:
        """Returns actors by id, or one of them.

        Args:
            actor_id: The id of one actor, in hex: what is known of it is returned, nothing if there is none.
            job_id: Only actors of this job.
            actor_state_name: Only actors in this state.

        Raises:
            ValueError: there is no such state.
        """
        names = ACTOR_STATES.keys()
        if actor_state_name is not None and actor_state_name not in names:
            raise ValueError(f"{actor_state_name!r} is not a valid actor state name, must be one of {', '.join(names)}")
        taken = _census()
        rows = {row["actor_id"]: row for row in taken.actors()}
        for raw in taken.raw["Actors"] or ():
            rows[raw["ActorID"].hex()] |= {"started": raw["StartedMs"], "ended": raw["EndedMs"]}
        addresses = {row["NodeID"]: row["NodeManagerAddress"] for row in nodes()}
        if actor_id is not None:
            return _actor(rows[actor_id], addresses) if actor_id in rows else {}
        wanted = job_id.hex() if job_id is not None else None
        return {
            key: _actor(row, addresses)
            for key, row in rows.items()
            if wanted in (None, row["job_id"]) and actor_state_name in (None, row["state"])
        }

    def node_table(self) -> list[dict[str, Any]]:
        """Returns the machines, as ``nodes()`` does."""
        return nodes()

    def job_table(self) -> list[dict[str, Any]]:
        """Returns the jobs."""
        return [_job(row) for row in _census().jobs()]

    def workers(self) -> dict[str, Any]:
        """Returns the workers by id."""
        sockets = {row["NodeID"]: row["ObjectStoreSocketName"] for row in nodes()}
        return {
            row["worker_id"]: {"node_ip_address": row["ip"], "plasma_store_socket": sockets.get(row["node_id"])}
            for row in _census().workers()
            if row["worker_type"] == "WORKER" and row["is_alive"]
        }

    def placement_group_table(self, placement_group_id: PlacementGroupID | None = None) -> dict[str, Any]:
        """Returns placement groups by id, or one of them; nothing if there is none with this id."""
        session = process.require()
        if placement_group_id is None:
            return {one["group_id"].hex(): group_table.row(one) for one in placement_groups.fetch_all(session)}
        found = placement_groups.fetch(session, placement_group_id.binary())
        return group_table.row(found) if found is not None else {}

    def get_placement_group_by_name(self, placement_group_name: str, ray_namespace: str) -> dict[str, Any] | None:
        """Returns the living group with this name in a namespace; None if there is none."""
        found = placement_groups.fetch_named(process.require(), placement_group_name, ray_namespace)
        return group_table.row(found) if found is not None else None

    def cluster_resources(self) -> dict[str, float]:
        """Returns the totals of the cluster's resources."""
        return cluster_resources()

    def available_resources(self) -> dict[str, float]:
        """Returns what is free."""
        return available_resources()

    def available_resources_per_node(self) -> dict[str, dict[str, float]]:
        """Returns what is free on each node."""
        return api.available_per_node()

    def total_resources_per_node(self) -> dict[str, dict[str, float]]:
        """Returns what each node has."""
        return api.total_per_node()

    def get_cluster_config(self) -> None:
        """Returns None: nobody starts further nodes, so nothing says how many there may be."""

    def get_max_resources_from_cluster_config(self) -> None:
        """Returns None, for the same reason."""

    def get_draining_nodes(self) -> dict[str, int]:
        """Returns the living nodes that are drained, by id, with the time in ms at which each ends at the latest.

        A node without such a time has 0.
        """
        return {row["NodeID"]: row["Drain"]["deadline_ms"] for row in nodes() if row["Alive"] and "Drain" in row}

    def chrome_tracing_dump(self, filename: str | None = None) -> list[dict[str, Any]] | None:
        """Returns the events of ``timeline``, or writes them."""
        return timeline(filename)


state = GlobalState()


def actors(
    actor_id: str | None = None, job_id: JobID | None = None, actor_state_name: str | None = None
) -> dict[str, Any]:
    """Returns actors by id, or one of them; see ``GlobalState.actor_table``."""
    return state.actor_table(actor_id, job_id, actor_state_name)


def jobs() -> list[dict[str, Any]]:
    """Returns the jobs."""
    return state.job_table()


def workers() -> dict[str, Any]:
    """Returns the workers by id."""
    return state.workers()


def node_ids() -> list[str]:
    """Returns the resources that stand for the living nodes, as ``node:ADDRESS``."""
    return [f"node:{row['NodeManagerAddress']}" for row in nodes() if row["Alive"]]


def current_node_id() -> str:
    """Returns the resource that stands for this node."""
    return f"node:{process.require().node_addr}"


def _census() -> census.Census:
    process.require()
    return census.take(None, _TIMEOUT)


def _actor(row: dict[str, Any], addresses: dict[str, str]) -> dict[str, Any]:
    node = row["node_id"] or ""
    return {
        "ActorID": row["actor_id"],
        "ActorClassName": row["class_name"],
        "IsDetached": row["is_detached"],
        "Name": row["name"] or "",
        "JobID": row["job_id"],
        "Address": {"IPAddress": addresses.get(node, ""), "Port": 0, "NodeID": node},
        "OwnerAddress": None,
        "State": row["state"],
        "NumRestarts": row["num_restarts"],
        "Timestamp": None,
        "StartTime": row["started"],
        "EndTime": row["ended"],
        "DeathCause": row["death_cause"],
        "Pid": row["pid"],
    }


def _job(row: dict[str, Any]) -> dict[str, Any]:
    start, end = row["start_time"] or 0, row["end_time"] or 0
    return {
        "JobID": row["job_id"],
        "DriverIPAddress": row["driver_info"]["node_ip_address"],
        "DriverPid": int(row["driver_info"]["pid"]),
        "Timestamp": end or start,
        "StartTime": start,
        "EndTime": end,
        "IsDead": row["status"] != "RUNNING",
        "Entrypoint": row["entrypoint"],
    }
