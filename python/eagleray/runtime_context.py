"""The runtime context of the calling code: ids, resources and devices of its task, actor, worker and job."""

from __future__ import annotations

import json
import os
import warnings
from typing import TYPE_CHECKING, Any

from eagleray._private.calls.control import fetch_cluster
from eagleray._private.calls.resources import from_units
from eagleray._private.context import RunningPerCoroutine, here
from eagleray._private.families import ACCELERATORS
from eagleray._private.ids import ActorID, JobID, NodeID, PlacementGroupID, TaskID
from eagleray._private.state import DRIVER, Session, process

if TYPE_CHECKING:
    from eagleray.actor import ActorHandle
    from eagleray.runtime_env import RuntimeEnv


def _warn(name: str, instead: str) -> None:
    """Warns the caller of its caller that a name is an old one."""
    from eagleray.util.annotations import RayDeprecationWarning

    warnings.warn(
        f"RuntimeContext.{name} is deprecated and may be removed in a later release. Use {instead} instead",
        RayDeprecationWarning,
        stacklevel=3,
    )


class RuntimeContext:
    """Facts about the caller. Made by ``get_runtime_context``; each method looks when it is called."""

    __slots__ = ("_session",)

    def __init__(self, session: Session) -> None:
        self._session = session

    @property
    def worker(self) -> Any:
        """The object ``ray._private.worker.global_worker``, which libraries ask for its ``mode``."""
        from eagleray._private.outside.worker import global_worker

        return global_worker

    def get(self) -> dict[str, Any]:
        """The ids as a dictionary of objects that have ``hex()``."""
        _warn("get", "get_job_id() and its like")
        session = self._session
        found: dict[str, Any] = {
            "job_id": JobID(session.job_id),
            "node_id": NodeID(session.node_id),
            "namespace": self.namespace,
        }
        if session.role != DRIVER:
            task_id, actor = here.running.task_id, here.actor
            if task_id is not None:
                found["task_id"] = TaskID(task_id)
            if actor is not None:
                found["actor_id"] = ActorID(actor.id)
        return found

    def get_job_id(self) -> str:
        """The program's job, in hex."""
        return self._session.job_id.hex()

    def get_node_id(self) -> str:
        """This machine's daemon, in hex."""
        return self._session.node_id.hex()

    def get_worker_id(self) -> str:
        """This process, in hex."""
        return self._session.worker_id.hex()

    def get_task_id(self) -> str | None:
        """The running task or actor call, in hex; None in a driver."""
        task_id = here.running.task_id
        return task_id.hex() if task_id is not None else None

    def get_task_name(self) -> str | None:
        """The running task's name; None in a driver."""
        return None if self._session.role == DRIVER else here.running.name or None

    def get_task_function_name(self) -> str | None:
        """The running function with its module; None in a driver."""
        function = here.running.function
        if function is None:
            return None
        module = getattr(function, "__module__", "") or ""
        if module == "__main__":
            code = getattr(function, "__code__", None)
            module = os.path.splitext(os.path.basename(code.co_filename))[0] if code is not None else module
        name = getattr(function, "__name__", type(function).__name__)
        return f"{module}.{here.actor.class_name}.{name}" if here.actor is not None else f"{module}.{name}"

    def get_actor_id(self) -> str | None:
        """The actor that the caller belongs to, in hex; None outside of actors."""
        return here.actor.id.hex() if here.actor is not None else None

    def get_actor_incarnation(self) -> int | None:
        """The number of this process among those that have run the actor, from 1; None outside of actors.

        Each restart has a higher number, which the cluster has committed. So it is a fencing token: a store that gets
        it with every write, and refuses lower numbers than it has seen, takes nothing from a process that was replaced.
        """
        return here.actor.incarnation if here.actor is not None else None

    def get_actor_name(self) -> str | None:
        """The actor's name, empty if it has none; None outside of actors."""
        return here.actor.name if here.actor is not None else None

    def get_placement_group_id(self) -> str | None:
        """The placement group that the running task or actor works in, in hex; None outside of groups."""
        return here.group.hex() if here.group is not None else None

    @property
    def current_placement_group_id(self) -> PlacementGroupID:
        """The placement group that the running task or actor works in; the nil id outside of groups."""
        _warn("current_placement_group_id", "get_placement_group_id()")
        return PlacementGroupID(here.group) if here.group is not None else PlacementGroupID.nil()

    @property
    def should_capture_child_tasks_in_placement_group(self) -> bool:
        """Whether tasks and actors that the caller creates run in its placement group if they name no other place."""
        return here.captures

    def get_assigned_resources(self) -> dict[str, float]:
        """What the running task or actor holds."""
        self._only_in_workers("get_assigned_resources")
        return from_units({name: value for name, value in here.resources.items() if value})

    def get_accelerator_ids(self) -> dict[str, list[str]]:
        """The devices that the running task or actor was given, by resource name; every family is a key."""
        return {name: list(here.devices.get(name, ())) for name in ACCELERATORS}

    def get_resource_ids(self) -> dict[str, list[str]]:
        """The old name of ``get_accelerator_ids``."""
        _warn("get_resource_ids", "get_accelerator_ids()")
        return self.get_accelerator_ids()

    def get_runtime_env_string(self) -> str:
        """The runtime environment as JSON."""
        return json.dumps(self._session.env.runtime_env, default=str)

    @property
    def runtime_env(self) -> RuntimeEnv:
        """The runtime environment of the caller."""
        from eagleray.runtime_env import RuntimeEnv

        return RuntimeEnv(_validate=False, **self._session.env.runtime_env)

    @property
    def namespace(self) -> str:
        """The namespace in which names of actors are looked up."""
        return self._session.namespace

    @property
    def current_actor(self) -> ActorHandle[Any]:
        """A handle to the actor that the caller belongs to."""
        if here.actor is None:
            raise RuntimeError("This method is only available in an actor.")
        from eagleray.actor import import_handle

        return import_handle(here.actor.id, here.actor.owner_addr, here.actor.meta)

    @property
    def was_current_actor_reconstructed(self) -> bool:
        """Whether the actor was restarted."""
        self._only_in_workers("was_current_actor_reconstructed")
        return here.actor is not None and here.actor.incarnation > 1

    @property
    def gcs_address(self) -> str:
        """Where the session's daemon listens."""
        return self._session.session_dir

    def get_node_labels(self) -> dict[str, str]:
        """The labels of the node on which the caller runs."""
        mine = [node for node in fetch_cluster(self._session)["nodes"] if node["node_id"] == self._session.node_id]
        return {"ray.io/node-id": self.get_node_id(), **((mine[0].get("labels") or {}) if mine else {})}

    def get_session_name(self) -> str:
        """The name of the session's folder."""
        return os.path.basename(self._session.session_dir)

    def get_temp_dir(self) -> str:
        """The folder of this user's sessions."""
        return os.path.dirname(self._session.session_dir)

    def is_canceled(self) -> bool:
        """Whether the running task was cancelled: how a method of a plain actor learns of it, which is not interrupted.

        Raises:
            RuntimeError: this is a driver, or an actor with coroutines, which are cancelled as asyncio does.
        """
        if self._session.role == DRIVER:
            raise RuntimeError("is_canceled() is only available in tasks and actors; this is a driver")
        running = here.running
        if isinstance(running, RunningPerCoroutine):
            raise RuntimeError("is_canceled() is not available in an actor with coroutines: they get CancelledError")
        task_id = running.task_id
        return task_id is not None and bool(self._session.hot.is_cancelled(task_id))

    # The older names give objects, the methods with ``get_`` text.

    @property
    def job_id(self) -> JobID:
        """The program's job."""
        _warn("job_id", "get_job_id()")
        return JobID(self._session.job_id)

    @property
    def node_id(self) -> NodeID:
        """This machine's daemon."""
        _warn("node_id", "get_node_id()")
        return NodeID(self._session.node_id)

    @property
    def task_id(self) -> TaskID | None:
        """The running task or actor call; None in a thread of the user's that runs none.

        Raises:
            AssertionError: this is a driver.
        """
        _warn("task_id", "get_task_id()")
        self._only_in_workers("task_id")
        task_id = here.running.task_id
        return TaskID(task_id) if task_id is not None else None

    @property
    def actor_id(self) -> ActorID | None:
        """The actor that the caller belongs to; None in a task.

        Raises:
            AssertionError: this is a driver.
        """
        _warn("actor_id", "get_actor_id()")
        self._only_in_workers("actor_id")
        return ActorID(here.actor.id) if here.actor is not None else None

    def _only_in_workers(self, name: str) -> None:
        if self._session.role == DRIVER:
            raise AssertionError(f"{name} is only available in tasks and actors; this is a driver")


def get_runtime_context() -> RuntimeContext:
    """Facts about where the calling code runs."""
    return RuntimeContext(process.require())
