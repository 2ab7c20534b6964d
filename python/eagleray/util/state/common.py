"""The records of the state API, with the names that Ray gives their fields.

A field that is known to nobody here is None. Fields marked as details are None unless ``detail`` was asked for.
"""

# ruff: noqa: RUF009 -- column() makes a field, as dataclasses.field does

from __future__ import annotations

import dataclasses
from dataclasses import dataclass, field
from enum import Enum
from typing import Any, ClassVar

DEFAULT_LIMIT: int = 100
DEFAULT_RPC_TIMEOUT: int = 30
#: More rows than this are not given at once.
MAX_LIMIT: int = 10_000

#: What a filter compares with.
SupportedFilterType = str | bool | int | float

Filter = tuple[str, str, str | bool | int | float]


def column(*, filterable: bool = True, detail: bool = False) -> Any:
    """A field of a record.

    Args:
        filterable: Whether filters may name it.
        detail: Whether it is only given when details are asked for.
    """
    return field(default=None, metadata={"filterable": filterable, "detail": detail})


@dataclass
class StateSchema:
    """A record; its fields can be read as keys, too."""

    #: The field that tells one record from another.
    key: ClassVar[str] = ""

    @classmethod
    def list_columns(cls, detail: bool = True) -> list[str]:
        """The names of the fields, in order."""
        return [item.name for item in dataclasses.fields(cls) if detail or not item.metadata.get("detail")]

    @classmethod
    def columns(cls) -> set[str]:
        """The names of all fields."""
        return set(cls.list_columns())

    @classmethod
    def base_columns(cls) -> set[str]:
        """Those that are given without details."""
        return set(cls.list_columns(detail=False))

    @classmethod
    def detail_columns(cls) -> set[str]:
        """Those that are given with details."""
        return set(cls.list_columns())

    @classmethod
    def filterable_columns(cls) -> set[str]:
        """Those that filters may name."""
        return {item.name for item in dataclasses.fields(cls) if item.metadata.get("filterable")}

    @classmethod
    def type_of(cls, name: str) -> str:
        """The type of a column, without its ``None``."""
        found = {item.name: item.type for item in dataclasses.fields(cls)}[name]
        return str(found).removesuffix(" | None")

    def asdict(self) -> dict[str, Any]:
        """The record as a dictionary."""
        return dataclasses.asdict(self)

    def __getitem__(self, key: str) -> Any:
        return getattr(self, key)

    def __setitem__(self, key: str, value: Any) -> None:
        setattr(self, key, value)

    def get(self, key: str, default: Any = None) -> Any:
        """The field of that name, or ``default``."""
        return getattr(self, key, default)


@dataclass
class ActorState(StateSchema):
    """An actor, living or dead."""

    key: ClassVar[str] = "actor_id"

    actor_id: str = column()
    class_name: str = column()
    state: str = column()  # PENDING_CREATION, ALIVE, RESTARTING, DEAD
    job_id: str = column()
    name: str | None = column()
    node_id: str | None = column()
    pid: int | None = column()  # 0 before it lives
    ray_namespace: str | None = column()
    serialized_runtime_env: str | None = column(filterable=False, detail=True)
    required_resources: dict[str, float] | None = column(filterable=False, detail=True)
    death_cause: dict[str, Any] | None = column(filterable=False, detail=True)
    is_detached: bool | None = column(filterable=False, detail=True)
    placement_group_id: str | None = column(detail=True)
    repr_name: str | None = column(detail=True)
    num_restarts: int | None = column(filterable=False, detail=True)
    num_restarts_due_to_lineage_reconstruction: int | None = column(filterable=False, detail=True)
    num_restarts_due_to_node_preemption: int | None = column(filterable=False, detail=True)
    call_site: str | None = column(filterable=False, detail=True)
    label_selector: dict[str, str] | None = column(filterable=False, detail=True)
    fallback_strategy: dict[str, Any] | None = column(filterable=False, detail=True)


@dataclass
class PlacementGroupState(StateSchema):
    """A placement group, also a removed one."""

    key: ClassVar[str] = "placement_group_id"

    placement_group_id: str = column()
    name: str = column()
    creator_job_id: str = column()
    state: str = column()  # PENDING, CREATED, RESCHEDULING, REMOVED
    bundles: list[dict[str, Any]] | None = column(filterable=False, detail=True)
    is_detached: bool | None = column(detail=True)
    stats: dict[str, Any] | None = column(filterable=False, detail=True)
    topology_strategy: str | None = column(filterable=False, detail=True)
    topology_assignments: list[dict[str, Any]] | None = column(filterable=False, detail=True)


@dataclass
class NodeState(StateSchema):
    """A machine."""

    key: ClassVar[str] = "node_id"

    node_id: str = column()
    node_ip: str = column()
    is_head_node: bool = column()
    state: str = column()  # ALIVE, DEAD
    state_message: str | None = column(filterable=False)
    node_name: str = column()
    resources_total: dict[str, float] = column(filterable=False)
    labels: dict[str, str] = column(filterable=False)
    start_time_ms: int | None = column(filterable=False, detail=True)
    end_time_ms: int | None = column(filterable=False, detail=True)


@dataclass
class ClusterEventState(StateSchema):
    """Something that has happened to a node of the cluster: it has joined, is drained or is dead."""

    key: ClassVar[str] = "event_id"

    severity: str = column()  # INFO, WARNING, ERROR
    time: str = column(filterable=False)  # in seconds since 1970
    source_type: str = column()
    message: str = column(filterable=False)
    event_id: str = column()
    custom_fields: dict[str, Any] | None = column(filterable=False, detail=True)


@dataclass
class JobState(StateSchema):
    """A submitted job, or a driver that nobody has submitted.

    Submitted jobs are known to programs that have called ``init``. A process outside sees their drivers, as ``DRIVER``;
    ``JobSubmissionClient.list_jobs`` and ``eagleray job list`` show them from there.
    """

    key: ClassVar[str] = "job_id"

    job_id: str | None = column()
    submission_id: str | None = column()
    entrypoint: str = column(filterable=False)
    type: str = column()  # SUBMISSION, DRIVER
    status: str = column()  # PENDING, RUNNING, STOPPED, SUCCEEDED, FAILED
    message: str | None = column(filterable=False)
    error_type: str | None = column(filterable=False)
    driver_info: dict[str, Any] | None = column(filterable=False)
    start_time: int | None = column(filterable=False, detail=True)
    end_time: int | None = column(filterable=False, detail=True)
    metadata: dict[str, str] | None = column(filterable=False, detail=True)
    runtime_env: dict[str, Any] | None = column(filterable=False, detail=True)
    driver_agent_http_address: str | None = column(filterable=False, detail=True)
    driver_node_id: str | None = column(filterable=False, detail=True)
    driver_exit_code: int | None = column(filterable=False, detail=True)


@dataclass
class WorkerState(StateSchema):
    """A process that runs tasks or hosts an actor, or a driver."""

    key: ClassVar[str] = "worker_id"

    worker_id: str = column()
    is_alive: bool = column()
    worker_type: str = column()  # WORKER, DRIVER
    exit_type: str | None = column()
    node_id: str = column()
    ip: str = column()
    pid: int = column()
    exit_detail: str | None = column(filterable=False, detail=True)
    worker_launch_time_ms: int | None = column(filterable=False, detail=True)  # it was ordered
    worker_launched_time_ms: int | None = column(filterable=False, detail=True)
    start_time_ms: int | None = column(filterable=False, detail=True)  # it was ready
    end_time_ms: int | None = column(filterable=False, detail=True)
    debugger_port: int | None = column(detail=True)
    num_paused_threads: int | None = column(detail=True)


@dataclass
class TaskState(StateSchema):
    """A task or actor call: those that are not finished, and of the others the last ones of each process."""

    key: ClassVar[str] = "task_id"

    task_id: str = column()
    attempt_number: int = column()
    name: str = column()
    state: str = column()
    job_id: str = column()
    actor_id: str | None = column()
    type: str = column()  # NORMAL_TASK, ACTOR_TASK
    func_or_class_name: str = column()
    parent_task_id: str | None = column()
    node_id: str | None = column()
    worker_id: str | None = column()
    worker_pid: int | None = column()
    error_type: str | None = column()
    language: str | None = column(detail=True)
    required_resources: dict[str, float] | None = column(filterable=False, detail=True)
    runtime_env_info: dict[str, Any] | None = column(filterable=False, detail=True)
    placement_group_id: str | None = column(detail=True)
    events: list[dict[str, Any]] | None = column(filterable=False, detail=True)
    profiling_data: dict[str, Any] | None = column(filterable=False, detail=True)
    creation_time_ms: int | None = column(filterable=False, detail=True)
    start_time_ms: int | None = column(filterable=False, detail=True)
    end_time_ms: int | None = column(filterable=False, detail=True)
    task_log_info: dict[str, Any] | None = column(filterable=False, detail=True)
    error_message: str | None = column(filterable=False, detail=True)
    is_debugger_paused: bool | None = column(detail=True)
    call_site: str | None = column(filterable=False, detail=True)
    label_selector: dict[str, str] | None = column(filterable=False, detail=True)
    fallback_strategy: dict[str, Any] | None = column(filterable=False, detail=True)


@dataclass
class RuntimeEnvState(StateSchema):
    """A runtime environment on one node: one in which workers are or start, or one that could not be made there.

    Failures are shown for ten minutes.
    """

    runtime_env: dict[str, Any] = column()
    success: bool = column()
    creation_time_ms: float | None = column(filterable=False)  # how long it took until a worker could start in it
    node_id: str = column()
    ref_cnt: int | None = column(filterable=False, detail=True)  # the workers that are there
    error: str | None = column(detail=True)


@dataclass
class ObjectState(StateSchema):
    """An object as one process holds it: an object that several hold has several records.

    The details are not in Ray's records.
    """

    key: ClassVar[str] = "object_id"

    object_id: str = column()
    object_size: int = column()  # bytes, -1: not known yet
    task_status: str = column()  # of the task that makes it; NIL for what put made
    attempt_number: int = column()
    reference_type: str = column()
    call_site: str = column()
    type: str = column()  # WORKER, DRIVER
    pid: int = column()  # of the holder
    ip: str = column()
    place: str | None = column(detail=True)  # PENDING, LOST, INLINE, ARENA and what the store else says
    function: str | None = column(detail=True)  # that makes it
    is_owner: bool | None = column(detail=True)
    worker_id: str | None = column(detail=True)
    actor_id: str | None = column(detail=True)  # of the actor whose handles it counts
    local_ref_count: int | None = column(filterable=False, detail=True)
    submitted_task_ref_count: int | None = column(filterable=False, detail=True)
    captured_in_object_count: int | None = column(filterable=False, detail=True)
    pinned_in_memory: bool | None = column(detail=True)
    borrowers: list[int] | None = column(filterable=False, detail=True)  # pids


@dataclass
class TaskSummaryPerFuncOrClassName:
    """The tasks of one function."""

    func_or_class_name: str
    type: str
    state_counts: dict[str, int] = field(default_factory=dict)


@dataclass
class TaskSummaries:
    """All tasks, by function."""

    summary: dict[str, TaskSummaryPerFuncOrClassName]
    total_tasks: int
    total_actor_tasks: int
    total_actor_scheduled: int
    summary_by: str = "func_name"


@dataclass
class ActorSummaryPerClass:
    """The actors of one class."""

    class_name: str
    state_counts: dict[str, int] = field(default_factory=dict)


@dataclass
class ActorSummaries:
    """All actors, by class."""

    summary: dict[str, ActorSummaryPerClass]
    total_actors: int
    summary_by: str = "class"


@dataclass
class ObjectSummaryPerKey:
    """The references that one line made."""

    total_objects: int
    total_size_mb: float
    total_num_workers: int
    total_num_nodes: int
    task_state_counts: dict[str, int] = field(default_factory=dict)
    task_attempt_number_counts: dict[str, int] = field(default_factory=dict)
    ref_type_counts: dict[str, int] = field(default_factory=dict)


@dataclass
class ObjectSummaries:
    """All references, by the line that made them."""

    summary: dict[str, ObjectSummaryPerKey]
    total_objects: int
    total_size_mb: float
    callsite_enabled: bool
    summary_by: str = "callsite"


class StateResource(Enum):
    """The kinds of records."""

    ACTORS = "actors"
    JOBS = "jobs"
    PLACEMENT_GROUPS = "placement_groups"
    NODES = "nodes"
    WORKERS = "workers"
    TASKS = "tasks"
    OBJECTS = "objects"
    RUNTIME_ENVS = "runtime_envs"
    CLUSTER_EVENTS = "cluster_events"


class SummaryResource(Enum):
    """The kinds of records that have a summary."""

    ACTORS = "actors"
    TASKS = "tasks"
    OBJECTS = "objects"


@dataclass
class ListApiOptions:
    """What of a list is wanted."""

    limit: int = DEFAULT_LIMIT
    timeout: int = DEFAULT_RPC_TIMEOUT
    detail: bool = False
    filters: list[Filter] | None = field(default_factory=list)


@dataclass
class GetApiOptions:
    """How long to wait for a record."""

    timeout: int = DEFAULT_RPC_TIMEOUT


@dataclass
class SummaryApiOptions:
    """What of a summary is wanted."""

    timeout: int = DEFAULT_RPC_TIMEOUT
    filters: list[Filter] | None = field(default_factory=list)
    summary_by: str | None = None
