"""What libraries use of ``ray._private.worker``: the object ``global_worker``, modes, and a few functions."""

from __future__ import annotations

import asyncio
import copyreg
import json
import logging
import os
import sys
from collections.abc import Callable, Sequence
from typing import Any, Protocol, TextIO, TypeVar

from eagleray import cloudpickle, experimental
from eagleray._private import internal_api
from eagleray._private.calls.resources import from_units
from eagleray._private.context import here
from eagleray._private.ids import ActorID, ClusterID, JobID, NodeID, PlacementGroupID, TaskID
from eagleray._private.refs import ObjectRef
from eagleray._private.session import api, census, driver, heads
from eagleray._private.session.decorator import remote as remote
from eagleray._private.session.driver import RayContext as RayContext
from eagleray._private.session.driver import init as init
from eagleray._private.session.driver import is_initialized as is_initialized
from eagleray._private.session.driver import shutdown as shutdown
from eagleray._private.state import DRIVER, UNIT, Session, process
from eagleray._private.values import serialization
from eagleray.exceptions import RaySystemError
from eagleray.util import inspection

_post_init_hooks = driver.post_init_hooks
cancel, get, get_actor, get_gpu_ids = api.cancel, api.get, api.get_actor, api.get_gpu_ids
kill, nodes, put, wait = api.kill, api.nodes, api.put, api.wait

#: The package cloudpickle, under Ray's name for it here.
pickle = cloudpickle

#: What ``init`` returns; Ray has another such class for its client, which is not there.
BaseContext = RayContext

#: How long the counts of references are waited for.
_CENSUS_SECONDS = 30.0

SCRIPT_MODE = 0
WORKER_MODE = 1
SPILL_WORKER_MODE = 2
RESTORE_WORKER_MODE = 3

#: The logger of the runtime's own messages.
logger = logging.getLogger("eagleray")
#: Libraries set this to keep Ray from warning of a ``get`` that blocks a coroutine. There is no such warning here.
blocking_get_inside_async_warned = False

R_co = TypeVar("R_co", covariant=True)


class RemoteFunctionNoArgs(Protocol[R_co]):
    """For annotations: a remote function without parameters, whose result is an ``R_co``."""

    def remote(self) -> ObjectRef[R_co]:
        """Submits a task."""
        ...


def _session() -> Session:
    session = process.session
    if session is None:
        raise RaySystemError("Eagle Ray has not been started yet: call init() first")
    return session


class Node:
    """The machine that this process is on, and its session."""

    @property
    def address(self) -> str:
        """HOST:PORT of the cluster's first head; the folder of a session that has no other machines."""
        folder = self.get_session_dir_path()
        return next(iter(heads.heads_of(folder)), folder)

    @property
    def gcs_address(self) -> str:
        """The same as ``address``."""
        return self.address

    @property
    def node_ip_address(self) -> str:
        """The address of this machine."""
        return _session().node_addr

    @property
    def unique_id(self) -> str:
        """The node's id, in hex."""
        return _session().node_id.hex()

    @property
    def node_id(self) -> str:
        """The node's id, in hex."""
        return _session().node_id.hex()

    @property
    def cluster_id(self) -> ClusterID:
        """The nil id: a cluster has no id here."""
        return ClusterID.nil()

    @property
    def session_name(self) -> str:
        """The name of the session's folder."""
        return os.path.basename(self.get_session_dir_path())

    @property
    def temp_dir(self) -> str:
        """The folder of the user's sessions."""
        return os.path.dirname(self.get_session_dir_path())

    @property
    def head(self) -> bool:
        """Whether the session began with this process and ends with it."""
        return not heads.heads_of(self.get_session_dir_path())

    @property
    def webui_url(self) -> str:
        """The address of the dashboard, empty if there is none."""
        return str(self.address_info["webui_url"] or "")

    @property
    def plasma_store_socket_name(self) -> str:
        """The socket of the node's daemon."""
        return os.path.join(self.get_session_dir_path(), "d.sock")

    @property
    def raylet_socket_name(self) -> str:
        """The socket of the node's daemon."""
        return self.plasma_store_socket_name

    @property
    def address_info(self) -> dict[str, Any]:
        """What ``init`` says of the session."""
        return RayContext(_session()).address_info

    def get_session_dir_path(self) -> str:
        """Returns the session's folder."""
        return _session().session_dir

    def get_logs_dir_path(self) -> str:
        """Returns the folder of the session's logs."""
        return os.path.join(self.get_session_dir_path(), "logs")


class _GcsClient:
    """Where the state of the cluster is."""

    @property
    def address(self) -> str:
        """HOST:PORT of the cluster's first head; the folder of a session that has no other machines."""
        return _node.address


class CoreWorker:
    """What this process is, and what it runs."""

    def get_current_job_id(self) -> JobID:
        """Returns the program's job."""
        return JobID(_session().job_id)

    def get_current_task_id(self) -> TaskID:
        """Returns the task that runs here; the nil id outside of tasks."""
        found = here.running.task_id
        return TaskID(found) if found is not None else TaskID.nil()

    def get_current_task_name(self) -> str:
        """Returns the name of the task that runs here."""
        return here.running.name or ""

    def get_current_node_id(self) -> NodeID:
        """Returns this machine."""
        return NodeID(_session().node_id)

    def get_actor_id(self) -> ActorID:
        """Returns the actor that this process hosts; the nil id outside of actors."""
        return ActorID(here.actor.id) if here.actor is not None else ActorID.nil()

    def get_actor_name(self) -> bytes:
        """Returns the actor's name."""
        return here.actor.name.encode() if here.actor is not None else b""

    def get_placement_group_id(self) -> PlacementGroupID:
        """Returns the group that the task or actor runs in; the nil id outside of groups."""
        return PlacementGroupID(here.group) if here.group is not None else PlacementGroupID.nil()

    def should_capture_child_tasks_in_placement_group(self) -> bool:
        """Whether what the caller creates runs in its group."""
        return here.captures

    def add_object_out_of_scope_callback(self, object_ref: ObjectRef[Any], callback: Callable[[bytes], None]) -> bool:
        """Has a callback called with an object's id when no process holds a reference to it any more."""
        return internal_api.add_object_out_of_scope_callback(object_ref, callback)

    def get_local_object_locations(self, object_refs: Sequence[ObjectRef[Any]]) -> dict[ObjectRef[Any], dict[str, Any]]:
        """Returns the size of values, and the nodes that have them."""
        return experimental.get_local_object_locations(object_refs)

    def get_object_locations(
        self, object_refs: Sequence[ObjectRef[Any]], timeout_ms: int = -1
    ) -> dict[ObjectRef[Any], dict[str, Any]]:
        """Returns the size of values, and the nodes that have them."""
        return experimental.get_object_locations(object_refs, timeout_ms)

    def object_exists(self, object_ref: ObjectRef[Any], memory_store_only: bool = False) -> bool:
        """Returns whether a value is here: in this process, or on the node of this process.

        Args:
            object_ref: The reference.
            memory_store_only: Whether values in the node's object store do not count.
        """
        found = experimental.get_local_object_locations([object_ref])[object_ref]
        if found["node_ids"]:
            return not memory_store_only and _session().node_id.hex() in found["node_ids"]
        return found["object_size"] is not None

    def get_all_reference_counts(self) -> dict[bytes, dict[str, int]]:
        """Returns how often this process holds each object.

        Returns:
            By the object's id in hex, as bytes: ``local``, references of the program, and ``submitted``, unfinished
            tasks that take the object.
        """
        return {
            held["ObjectID"].hex().encode(): {"local": held["Local"], "submitted": held["Tasks"]}
            for held in self._held()
            if not held["ActorID"] and (held["Local"] or held["Tasks"])
        }

    def get_memory_store_size(self) -> int:
        """Returns how many values are in the memory of this process, and not in an object store."""
        return sum(1 for held in self._held() if held["State"] == "inline")

    def _held(self) -> list[dict[str, Any]]:
        mine = _session().worker_id
        reports = census.take(None, _CENSUS_SECONDS, objects=True).reports
        return [held for report in reports if report["WorkerID"] == mine for held in report["Objects"] or ()]

    def resource_ids(self) -> dict[str, list[tuple[int | str, float]]]:
        """Returns what the task or actor holds: pairs of a device, 0 for what is no device, and how much of it.

        What it has of a placement group's bundle goes by the names ``CPU_group_GROUP`` and, when the bundle was named,
        ``CPU_group_INDEX_GROUP``.
        """
        found: dict[str, list[tuple[int | str, float]]] = {}
        for name, units in here.resources.items():
            if not units:
                continue
            devices = here.devices.get(name)
            share = units / UNIT / len(devices) if devices else 0.0
            held: list[tuple[int | str, float]] = [(0, from_units({name: units})[name])]
            if devices:
                held = [(int(one) if here.int_ids and one.isdigit() else one, share) for one in devices]
            found |= dict.fromkeys(_names_in_group(name), held)
        return found


def _names_in_group(name: str) -> list[str]:
    """The names that a resource has for the task or actor that runs here: its own outside of placement groups."""
    if here.group is None:
        return [name]
    index, group = here.strategy.split(":")[2], here.group.hex()
    return [f"{name}_group_{group}", *([f"{name}_group_{index}_{group}"] if index != "-1" else [])]


class SerializedObject:
    """A value as it would be stored: its size, and the references in it."""

    def __init__(self, value: Any) -> None:
        _, meta, buffers, nested = serialization.encode(value)
        self.total_bytes = len(meta) + sum(memoryview(buffer).nbytes for buffer in buffers or ())
        self.contained_object_refs = [one for one in nested or () if isinstance(one, ObjectRef)]


class SerializationContext:
    """How classes are pickled in this process."""

    def serialize(self, value: Any) -> SerializedObject:
        """Returns how large a value is when it is stored, and which references are in it."""
        return SerializedObject(value)

    def _register_cloudpickle_reducer(self, cls: type, reducer: Callable[[Any], Any]) -> None:
        copyreg.pickle(cls, reducer)

    def _register_cloudpickle_serializer(self, cls: type, custom_serializer: Any, custom_deserializer: Any) -> None:
        inspection.register_serializer(cls, serializer=custom_serializer, deserializer=custom_deserializer)

    def _unregister_cloudpickle_reducer(self, cls: type) -> None:
        inspection.deregister_serializer(cls)


class Worker:
    """This process. Attributes that ask for the session raise ``RaySystemError`` where there is none."""

    def __init__(self) -> None:
        self._context = SerializationContext()

    @property
    def mode(self) -> int | None:
        """SCRIPT_MODE in a driver, WORKER_MODE in a worker, None without a session."""
        session = process.session
        if session is None:
            return None
        return SCRIPT_MODE if session.role == DRIVER else WORKER_MODE

    @property
    def connected(self) -> bool:
        """Whether there is a session."""
        return process.session is not None

    def check_connected(self) -> None:
        """Raises if there is no session.

        Raises:
            RaySystemError: there is none.
        """
        _session()

    @property
    def node(self) -> Node | None:
        """This machine; None without a session."""
        return _node if process.session is not None else None

    @property
    def core_worker(self) -> CoreWorker:
        """What this process runs."""
        self._needs_session("core_worker")
        return _core_worker

    @property
    def gcs_client(self) -> _GcsClient:
        """Where the state of the cluster is."""
        self._needs_session("gcs_client")
        return _gcs_client

    def _needs_session(self, name: str) -> None:
        if process.session is None:  # hasattr is False then, as under Ray
            raise AttributeError(f"global_worker has no {name} before init() was called")

    @property
    def node_ip_address(self) -> str:
        """The address of this machine."""
        return _session().node_addr

    @property
    def namespace(self) -> str:
        """The namespace in which names of actors are looked up."""
        return _session().namespace

    @property
    def current_job_id(self) -> JobID:
        """The program's job; the nil id without a session."""
        return JobID(process.session.job_id) if process.session is not None else JobID.nil()

    @property
    def actor_id(self) -> ActorID:
        """The actor that this process hosts; the nil id outside of actors."""
        return _core_worker.get_actor_id()

    @property
    def actor_name(self) -> str | None:
        """The actor's name."""
        return here.actor.name if here.actor is not None else None

    @property
    def current_task_id(self) -> TaskID:
        """The task that runs here; the nil id outside of tasks."""
        return self.core_worker.get_current_task_id()

    @property
    def current_task_name(self) -> str:
        """The name of the task that runs here."""
        return self.core_worker.get_current_task_name()

    @property
    def current_node_id(self) -> NodeID:
        """This machine."""
        return self.core_worker.get_current_node_id()

    @property
    def worker_id(self) -> bytes:
        """This process."""
        return _session().worker_id

    @property
    def placement_group_id(self) -> PlacementGroupID:
        """The group that the task or actor runs in; the nil id outside of groups."""
        return self.core_worker.get_placement_group_id()

    @property
    def should_capture_child_tasks_in_placement_group(self) -> bool:
        """Whether what the caller creates runs in its group."""
        return here.captures

    @property
    def runtime_env(self) -> str:
        """The runtime environment of the caller as JSON."""
        return json.dumps(_session().env.runtime_env, sort_keys=True, default=str)

    def get_serialization_context(self) -> SerializationContext:
        """Returns how classes are pickled in this process."""
        return self._context

    def put_object(self, value: Any) -> ObjectRef[Any]:
        """Stores a value, as ``put`` does."""
        self.check_connected()
        return put(value)

    def get_objects(self, object_refs: list[ObjectRef[Any]], timeout: float | None = None) -> tuple[list[Any], bytes]:
        """Returns the values of references, and an empty text for the debugger that is not there."""
        self.check_connected()
        return get(list(object_refs), timeout=timeout), b""


_node = Node()
_gcs_client = _GcsClient()
_core_worker = CoreWorker()
global_worker = Worker()


async def _wait_async(
    object_refs: list[ObjectRef[Any]], num_returns: int = 1, timeout: float | None = None, fetch_local: bool = True
) -> tuple[list[ObjectRef[Any]], list[ObjectRef[Any]]]:
    """Waits as ``wait`` does, on a thread of its own, so that the event loop goes on meanwhile."""
    return await asyncio.to_thread(wait, object_refs, num_returns=num_returns, timeout=timeout, fetch_local=fetch_local)


def get_resource_ids() -> dict[str, list[tuple[int | str, float]]]:
    """Returns what the running task or actor holds, by resource; see ``CoreWorker.resource_ids``."""
    global_worker.check_connected()
    return _core_worker.resource_ids()


def get_dashboard_url() -> str:
    """Returns the address of the dashboard, empty if there is none."""
    global_worker.check_connected()
    return _node.webui_url.removeprefix("http://").removeprefix("https://")


def print_to_stdstream(data: dict[str, Any], ignore_prefix: bool = False) -> None:
    """Prints lines of a worker to standard output, or to standard error if ``data["is_err"]``."""
    print_worker_logs(data, sys.stderr if data["is_err"] else sys.stdout, ignore_prefix)


def print_worker_logs(data: dict[str, Any], print_file: TextIO, ignore_prefix: bool = False) -> None:
    """Prints lines of a worker.

    Args:
        data: ``lines``, and ``pid``, ``ip``, ``actor_name`` and ``task_name`` of who wrote them. Where ``ip`` is not
            ``localhost``, it is shown.
        print_file: Where to.
        ignore_prefix: Whether to print the lines alone.
    """
    where = "" if data.get("ip") == data.get("localhost") else f", ip={data.get('ip')}"
    name = data.get("actor_name") or data.get("task_name")
    prefix = f"({name + ' ' if name else ''}pid={data.get('pid')}{where})"
    if os.environ.get("RAY_COLOR_PREFIX") != "0":
        prefix = f"\033[36m{prefix}\033[0m"
    for line in data.get("lines", ()):
        print(line if ignore_prefix else f"{prefix} {line}", file=print_file)
    print_file.flush()


def __getattr__(name: str) -> Any:
    if name == "_global_node":
        return global_worker.node
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
