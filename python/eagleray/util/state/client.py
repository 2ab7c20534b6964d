"""The state API as an object."""

from __future__ import annotations

from typing import Any

from eagleray.util.state import api
from eagleray.util.state.common import (
    MAX_LIMIT,
    ActorState,
    ClusterEventState,
    GetApiOptions,
    JobState,
    ListApiOptions,
    NodeState,
    ObjectState,
    PlacementGroupState,
    RuntimeEnvState,
    StateResource,
    StateSchema,
    SummaryApiOptions,
    SummaryResource,
    TaskState,
    WorkerState,
)
from eagleray.util.state.exception import RayStateApiException

_SCHEMAS: dict[StateResource, type[StateSchema]] = {
    StateResource.ACTORS: ActorState,
    StateResource.CLUSTER_EVENTS: ClusterEventState,
    StateResource.JOBS: JobState,
    StateResource.NODES: NodeState,
    StateResource.OBJECTS: ObjectState,
    StateResource.PLACEMENT_GROUPS: PlacementGroupState,
    StateResource.RUNTIME_ENVS: RuntimeEnvState,
    StateResource.TASKS: TaskState,
    StateResource.WORKERS: WorkerState,
}


class StateApiClient:
    """Asks one session for its state.

    Args:
        address: As in ``init``; None: this process's session, else the one that runs on this machine.
        cookies: Must be None: nothing is asked over HTTP.
        headers: Must be None.

    Raises:
        ValueError: cookies or headers are given.
    """

    def __init__(
        self, address: str | None = None, cookies: dict[str, Any] | None = None, headers: dict[str, Any] | None = None
    ) -> None:
        if cookies or headers:
            raise ValueError("StateApiClient takes no cookies and no headers: the state is not asked for over HTTP")
        self._address = address

    def get_address(self) -> str | None:
        """The address that was given."""
        return self._address

    def list(
        self, resource: StateResource, options: ListApiOptions, raise_on_missing_output: bool, _explain: bool = False
    ) -> list[Any]:
        """The records of one kind."""
        found: list[Any] = api.query(
            _schema(resource),
            self._address,
            options.filters,
            options.limit,
            options.timeout,
            options.detail,
            raise_on_missing_output,
        )
        return found

    def get(
        self, resource: StateResource, id: str, options: GetApiOptions | None = None, _explain: bool = False
    ) -> Any:
        """The record with an id, with details; None without one. Of objects a list."""
        schema = _schema(resource)
        if not schema.key:
            raise RayStateApiException(f"{resource.value} have no ids: list them with a filter")
        timeout = (options or GetApiOptions()).timeout
        found = api.query(schema, self._address, [(schema.key, "=", id)], MAX_LIMIT, timeout, True, False)
        if schema is ObjectState:
            return found
        return found[0] if found else None

    def summary(
        self,
        resource: SummaryResource,
        *,
        options: SummaryApiOptions,
        raise_on_missing_output: bool = True,
        _explain: bool = False,
    ) -> dict[str, Any]:
        """How many there are, by name and state."""
        ask = {
            SummaryResource.ACTORS: api.summarize_actors,
            SummaryResource.OBJECTS: api.summarize_objects,
            SummaryResource.TASKS: api.summarize_tasks,
        }[SummaryResource(resource)]
        if options.filters:
            raise RayStateApiException("a summary takes no filters: list the records and count those that are wanted")
        found = ask(self._address, options.timeout, raise_on_missing_output)
        cluster: dict[str, Any] = found["cluster"]
        return cluster


def _schema(resource: StateResource) -> type[StateSchema]:
    return _SCHEMAS[StateResource(resource)]
