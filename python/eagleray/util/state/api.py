"""What the cluster does: lists, single records, summaries.

Each call asks the daemon, which for objects and tasks asks every process of the session. What a process cannot tell
because it is stopped, or has too much of, is said: by an exception, or by a warning with
``raise_on_missing_output=False``.
"""

from __future__ import annotations

import dataclasses
import warnings
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

from eagleray._private.session import census
from eagleray._private.state import process
from eagleray.util.state.common import (
    DEFAULT_LIMIT,
    DEFAULT_RPC_TIMEOUT,
    MAX_LIMIT,
    ActorState,
    ActorSummaries,
    ActorSummaryPerClass,
    ClusterEventState,
    Filter,
    JobState,
    NodeState,
    ObjectState,
    ObjectSummaries,
    ObjectSummaryPerKey,
    PlacementGroupState,
    RuntimeEnvState,
    StateSchema,
    TaskState,
    TaskSummaries,
    TaskSummaryPerFuncOrClassName,
    WorkerState,
)
from eagleray.util.state.exception import RayStateApiException

if TYPE_CHECKING:
    from eagleray._private.refs import ObjectRef

S = TypeVar("S", bound=StateSchema)


class InvalidFilter(RayStateApiException, ValueError):
    """A filter or a limit that no list can have. Both of its bases are what programs look for."""


Rows = list[dict[str, Any]]
_MB = 1024**2


class Answer:
    """The rows of one kind, before filters.

    Attributes:
        rows: What is there.
        total: How many there are; more than ``rows`` where processes had to leave some out.
        silent: What is said of processes that did not answer.
    """

    def __init__(self, rows: Rows, total: int, silent: Sequence[str] = ()) -> None:
        self.rows = rows
        self.total: int = max(total, len(rows))
        self.silent = silent

    def check(self, what: str, strict: bool) -> None:
        """Says what is missing.

        Raises:
            RayStateApiException: something is, and ``strict``.
        """
        problems = list(self.silent)
        if self.total > len(self.rows):
            problems.append(
                f"it has {len(self.rows)} of {self.total} {what}: a process reports at most its "
                f"{census.MOST} largest or newest"
            )
        if not problems:
            return
        text = f"the list of {what} is not complete: " + "; ".join(problems)
        if strict:
            raise RayStateApiException(text + ". Set raise_on_missing_output=False to get the incomplete list")
        warnings.warn(text, stacklevel=4)


def _objects(address: str | None, timeout: float) -> Answer:
    found = census.take(address, timeout, objects=True)
    return Answer(found.objects(), found.objects_total(), found.silent)


def _tasks(address: str | None, timeout: float) -> Answer:
    found = census.take(address, timeout, tasks=True)
    # Of tasks that have ended only the last ones of each process are listed, and nothing is missing for that.
    rows = found.tasks()
    waiting = sum(report["Open"] - len(report["Tasks"] or ()) for report in found.reports)
    return Answer(rows, len(rows) + max(waiting, 0), found.silent)


def _actors(address: str | None, timeout: float) -> Answer:
    rows = census.take(address, timeout, objects=True).actors()
    return Answer(rows, len(rows))


def _workers(address: str | None, timeout: float) -> Answer:
    found = census.take(address, timeout)
    rows = found.workers()
    return Answer(rows, len(rows), found.silent_nodes)


def _jobs(address: str | None, timeout: float) -> Answer:
    rows = census.take(address, timeout, head=True).programs()
    session = process.session
    if session is not None and address in (None, "auto", session.session_dir):
        from eagleray._private.jobs import listing

        rows = listing.with_submissions(session, rows)
    return Answer(rows, len(rows))


def _nodes(address: str | None, timeout: float) -> Answer:
    rows = census.take(address, timeout, head=True).nodes()
    return Answer(rows, len(rows))


def _cluster_events(address: str | None, timeout: float) -> Answer:
    rows = census.take(address, timeout, head=True).cluster_events()
    return Answer(rows, len(rows))


def _placement_groups(address: str | None, timeout: float) -> Answer:
    rows = census.take(address, timeout, head=True).placement_groups()
    return Answer(rows, len(rows))


def _runtime_envs(address: str | None, timeout: float) -> Answer:
    found = census.take(address, timeout)
    rows = found.runtime_envs()
    return Answer(rows, len(rows), found.silent_nodes)


#: How the records of each kind are got.
SOURCES: dict[type[StateSchema], tuple[str, Callable[[str | None, float], Answer]]] = {
    ActorState: ("actors", _actors),
    ClusterEventState: ("cluster-events", _cluster_events),
    JobState: ("jobs", _jobs),
    NodeState: ("nodes", _nodes),
    ObjectState: ("objects", _objects),
    PlacementGroupState: ("placement-groups", _placement_groups),
    RuntimeEnvState: ("runtime-envs", _runtime_envs),
    TaskState: ("tasks", _tasks),
    WorkerState: ("workers", _workers),
}


#: The kinds whose records come in an order of their own: unfinished tasks first, events by their time, runtime
#: environments that failed first.
_IN_ORDER = (ClusterEventState, RuntimeEnvState, TaskState)


def query(
    schema: type[S],
    address: str | None = None,
    filters: Sequence[Filter] | None = None,
    limit: int = DEFAULT_LIMIT,
    timeout: float = DEFAULT_RPC_TIMEOUT,
    detail: bool = False,
    raise_on_missing_output: bool = True,
) -> list[S]:
    """The records of one kind, as the functions below give them."""
    checked = [_checked(schema, item) for item in filters or ()]
    _check_limits(limit, timeout)
    what, source = SOURCES[schema]
    answer = source(address, timeout)
    answer.check(what, raise_on_missing_output)
    rows = [row for row in answer.rows if all(_matches(row, *item) for item in checked)]
    if schema not in _IN_ORDER:
        rows.sort(key=lambda row: str(row[schema.key]))
    if len(rows) > limit:
        warnings.warn(f"only {limit} of {len(rows)} {what} are returned: use a filter or a higher limit", stacklevel=3)
    columns = schema.list_columns(detail=detail)
    return [_record(schema, {name: row.get(name) for name in columns}) for row in rows[:limit]]


def _record(schema: type[S], fields: dict[str, Any]) -> S:
    return schema(**fields)


def _checked(schema: type[StateSchema], item: Filter) -> Filter:
    if not isinstance(item, (tuple, list)) or len(item) != 3:
        raise ValueError(f"a filter is (key, '=' or '!=', value), got {item!r}")
    name, predicate, value = item
    if predicate not in ("=", "!="):
        raise ValueError(f"Unsupported filter predicate {predicate} is given. Available predicates: =, !=.")
    if str(name).lower() not in schema.filterable_columns():
        raise RayStateApiException(
            f"The given filter column {name} is not supported. "
            f"Supported filter columns: {', '.join(sorted(schema.filterable_columns()))}"
        )
    column = str(name).lower()
    if isinstance(value, str):
        value = _converted(column, schema.type_of(column), value)
    return column, predicate, value


def _converted(column: str, kind: str, text: str) -> Any:
    """A text as what the column has, which the command line and programs may both give as text."""
    if kind == "bool":
        if text.lower() not in _TRUTH:
            raise InvalidFilter(f"Invalid filter {column}={text!r}: the column {column} is true or false")
        return _TRUTH[text.lower()]
    if kind in ("int", "float"):
        try:
            return int(text) if kind == "int" else float(text)
        except ValueError:
            raise InvalidFilter(f"Invalid filter {column}={text!r}: the column {column} has numbers") from None
    return text


_TRUTH = {"true": True, "1": True, "false": False, "0": False}


def _check_limits(limit: int, timeout: float) -> None:
    if not isinstance(limit, int) or limit < 0:
        raise ValueError(f"limit must be a number from 0 to {MAX_LIMIT}, got {limit!r}")
    if limit > MAX_LIMIT:
        raise InvalidFilter(f"Given limit {limit} exceeds the supported limit {MAX_LIMIT}. Use a lower limit")
    if not isinstance(timeout, (int, float)) or timeout <= 0:
        raise ValueError(f"timeout must be a number of seconds above 0, got {timeout!r}")


def _matches(row: dict[str, Any], name: str, predicate: str, value: Any) -> bool:
    found = row.get(name)
    return _same(found, value) == (predicate == "=")


def _same(found: Any, value: Any) -> bool:
    """Whether they are equal; texts without regard to case."""
    if isinstance(found, str) and isinstance(value, str):
        return found.lower() == value.lower()
    return bool(found == value)


def _lister(schema: type[S]) -> Callable[..., list[S]]:
    def list_them(
        address: str | None = None,
        filters: list[Filter] | None = None,
        limit: int = DEFAULT_LIMIT,
        timeout: float = DEFAULT_RPC_TIMEOUT,
        detail: bool = False,
        raise_on_missing_output: bool = True,
        _explain: bool = False,
    ) -> list[S]:
        return query(schema, address, filters, limit, timeout, detail, raise_on_missing_output)

    what = SOURCES[schema][0].replace("-", " ")
    list_them.__name__ = list_them.__qualname__ = f"list_{what.replace(' ', '_')}"
    list_them.__doc__ = f"""The {what} of the cluster.

    Args:
        address: As in ``init``; None: this process's session, else the one that runs on this machine.
        filters: Those wanted: ``("state", "=", "ALIVE")``, or ``"!="``; all must hold.
        limit: How many at most.
        timeout: Seconds to wait for the answer.
        detail: Whether to give the fields that are details, too.
        raise_on_missing_output: Raise when something is left out; else warn.

    Raises:
        RayStateApiException: there is no cluster, a filter names what cannot be filtered, something is left out.
    """
    return list_them


list_actors: Callable[..., list[ActorState]] = _lister(ActorState)
list_cluster_events: Callable[..., list[ClusterEventState]] = _lister(ClusterEventState)
list_jobs: Callable[..., list[JobState]] = _lister(JobState)
list_nodes: Callable[..., list[NodeState]] = _lister(NodeState)
list_objects: Callable[..., list[ObjectState]] = _lister(ObjectState)
list_placement_groups: Callable[..., list[PlacementGroupState]] = _lister(PlacementGroupState)
list_runtime_envs: Callable[..., list[RuntimeEnvState]] = _lister(RuntimeEnvState)
list_tasks: Callable[..., list[TaskState]] = _lister(TaskState)
list_workers: Callable[..., list[WorkerState]] = _lister(WorkerState)


def _get(schema: type[S], identity: str, address: str | None, timeout: float) -> list[S]:
    return query(
        schema, address, [(schema.key, "=", identity)], MAX_LIMIT, timeout, True, raise_on_missing_output=False
    )


def _one(found: list[S]) -> S | None:
    return found[0] if found else None


def get_actor(
    id: str, address: str | None = None, timeout: float = DEFAULT_RPC_TIMEOUT, _explain: bool = False
) -> ActorState | None:
    """The actor with this id in hex, with details; None when there is none."""
    return _one(_get(ActorState, id, address, timeout))


def get_job(
    id: str, address: str | None = None, timeout: float = DEFAULT_RPC_TIMEOUT, _explain: bool = False
) -> JobState | None:
    """The job with this id, with details; None when there is none."""
    return _one(_get(JobState, id, address, timeout))


def get_node(
    id: str, address: str | None = None, timeout: float = DEFAULT_RPC_TIMEOUT, _explain: bool = False
) -> NodeState | None:
    """The node with this id, with details; None when there is none."""
    return _one(_get(NodeState, id, address, timeout))


def get_placement_group(
    id: str, address: str | None = None, timeout: float = DEFAULT_RPC_TIMEOUT, _explain: bool = False
) -> PlacementGroupState | None:
    """The placement group with this id in hex, with details; None when there is none."""
    return _one(_get(PlacementGroupState, id, address, timeout))


def get_worker(
    id: str, address: str | None = None, timeout: float = DEFAULT_RPC_TIMEOUT, _explain: bool = False
) -> WorkerState | None:
    """The worker with this id, with details; None when there is none."""
    return _one(_get(WorkerState, id, address, timeout))


def get_task(
    id: str | ObjectRef[Any], address: str | None = None, timeout: float = DEFAULT_RPC_TIMEOUT, _explain: bool = False
) -> TaskState | None:
    """The task with this id, with details; None when it is not known or has long ended."""
    if not isinstance(id, str):
        id = id.task_id().hex()  # a reference to what it returns
    return _one(_get(TaskState, id, address, timeout))


def get_objects(
    id: str, address: str | None = None, timeout: float = DEFAULT_RPC_TIMEOUT, _explain: bool = False
) -> list[ObjectState]:
    """The holders of the object with this id: one record for each process, with details."""
    return _get(ObjectState, id, address, timeout)


def summarize_tasks(
    address: str | None = None,
    timeout: float = DEFAULT_RPC_TIMEOUT,
    raise_on_missing_output: bool = True,
    _explain: bool = False,
) -> dict[str, Any]:
    """How many tasks of each function are in which state. Those that have ended are counted since the session began,
    by the processes that are there: what workers submitted that have ended is not in it.

    Returns:
        ``{"cluster": {"summary": …, "total_tasks": …}}``.
    """
    found = census.take(address, timeout, tasks=True, objects=False)
    listed = found.tasks()
    creations = [row for row in listed if row["type"] == "ACTOR_CREATION_TASK"]
    made = {id(row) for row in creations}
    rows = [row for row in listed if row["state"] not in ("FINISHED", "FAILED") and id(row) not in made]
    # Tasks that no node can run: they count as failed, and a node that comes later runs them.
    refused = [task for report in found.reports for task in report["Tasks"] or () if task["State"] == "FAILED"]
    waiting = sum(report["Open"] for report in found.reports)
    Answer([*rows, *refused], waiting, found.silent).check("tasks", raise_on_missing_output)
    out = TaskSummaries({}, 0, 0, len(creations))

    for row in creations:
        states = out.summary.setdefault(
            row["name"], TaskSummaryPerFuncOrClassName(row["name"], "ACTOR_CREATION_TASK")
        ).state_counts
        states[row["state"]] = states.get(row["state"], 0) + 1

    def count(name: str, method: bool, state: str, number: int) -> None:
        if not number:
            return
        kind = "ACTOR_TASK" if method else "NORMAL_TASK"
        states = out.summary.setdefault(name, TaskSummaryPerFuncOrClassName(name, kind)).state_counts
        states[state] = states.get(state, 0) + number
        if method:
            out.total_actor_tasks += number
        else:
            out.total_tasks += number

    for row in rows:
        count(row["name"], row["type"] == "ACTOR_TASK", row["state"], 1)
    for task in refused:
        count(task["Name"], task["Method"], "FAILED", 1)
    for report in found.reports:
        for ends in report["ByMaker"] or ():
            count(ends["Name"], ends["Method"], "FINISHED", ends["Finished"])
            count(ends["Name"], ends["Method"], "FAILED", ends["Failed"])
    return {"cluster": dataclasses.asdict(out)}


def summarize_actors(
    address: str | None = None,
    timeout: float = DEFAULT_RPC_TIMEOUT,
    raise_on_missing_output: bool = True,
    _explain: bool = False,
) -> dict[str, Any]:
    """How many actors of each class are in which state.

    Returns:
        ``{"cluster": {"summary": …, "total_actors": …}}``.
    """
    rows = census.take(address, timeout).actors()
    out = ActorSummaries({}, len(rows))
    for row in rows:
        states = out.summary.setdefault(row["class_name"], ActorSummaryPerClass(row["class_name"])).state_counts
        states[row["state"]] = states.get(row["state"], 0) + 1
    return {"cluster": dataclasses.asdict(out)}


def summarize_objects(
    address: str | None = None,
    timeout: float = DEFAULT_RPC_TIMEOUT,
    raise_on_missing_output: bool = True,
    _explain: bool = False,
) -> dict[str, Any]:
    """How many references each line of the program made, and how much memory they hold.

    Returns:
        ``{"cluster": {"summary": {call site: …}, "total_objects": …}}``.
    """
    answer = _objects(address, timeout)
    answer.check("objects", raise_on_missing_output)
    out = ObjectSummaries({}, 0, 0.0, all(row["call_site"] != "disabled" for row in answer.rows))
    workers: dict[str, set[int]] = {}
    for row in answer.rows:
        site = row["call_site"]
        one = out.summary.setdefault(site, ObjectSummaryPerKey(0, 0.0, 0, 0))
        for counts, name in (
            (one.task_state_counts, row["task_status"]),
            (one.task_attempt_number_counts, str(row["attempt_number"])),
            (one.ref_type_counts, row["reference_type"]),
        ):
            counts[name] = counts.get(name, 0) + 1
        size = max(row["object_size"], 0) / _MB
        one.total_objects += 1
        one.total_size_mb += size
        out.total_objects += 1
        out.total_size_mb += size
        workers.setdefault(site, set()).add(row["pid"])
        one.total_num_workers, one.total_num_nodes = len(workers[site]), 1
    return {"cluster": dataclasses.asdict(out)}
