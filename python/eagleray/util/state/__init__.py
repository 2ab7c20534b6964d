"""What the cluster does and who holds its memory: actors, tasks, objects, placement groups, workers, nodes, jobs."""

from eagleray.util.state.api import (
    get_actor,
    get_job,
    get_node,
    get_objects,
    get_placement_group,
    get_task,
    get_worker,
    list_actors,
    list_cluster_events,
    list_jobs,
    list_nodes,
    list_objects,
    list_placement_groups,
    list_tasks,
    list_workers,
    summarize_actors,
    summarize_objects,
    summarize_tasks,
)
from eagleray.util.state.client import StateApiClient
from eagleray.util.state.logs import get_log, list_logs
from eagleray.util.state.unrecorded import list_runtime_envs

__all__ = [
    "StateApiClient",
    "get_actor",
    "get_job",
    "get_log",
    "get_node",
    "get_objects",
    "get_placement_group",
    "get_task",
    "get_worker",
    "list_actors",
    "list_cluster_events",
    "list_jobs",
    "list_logs",
    "list_nodes",
    "list_objects",
    "list_placement_groups",
    "list_runtime_envs",
    "list_tasks",
    "list_workers",
    "summarize_actors",
    "summarize_objects",
    "summarize_tasks",
]
