"""The functions of the public API that work on a running session."""

from __future__ import annotations

import sys
import time
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NoReturn, TypeGuard, TypeVar, overload

import msgpack

from eagleray._private import suggestions
from eagleray._private.calls import tracing
from eagleray._private.calls.control import fetch_cluster, rpc
from eagleray._private.calls.resources import from_units
from eagleray._private.hot_error import HotError, explain
from eagleray._private.state import Session, process
from eagleray._private.values.formats import ERRORS, MSGPACK, NONE, Triple
from eagleray._private.values.serialization import encode, form_of, raise_unserializable, unpack
from eagleray.exceptions import GetTimeoutError, RaySystemError

if TYPE_CHECKING:
    from eagleray._private.generators import ObjectRefGenerator
    from eagleray._private.refs import ObjectRef
    from eagleray.actor import ActorHandle

R = TypeVar("R")
W = TypeVar("W", bound="ObjectRef[Any] | ObjectRefGenerator[Any]")
_unpackb = msgpack.unpackb
_SHOWN = 3


def _timeout_ms(timeout: float | None) -> int:
    if timeout is None:
        return -1
    if not isinstance(timeout, (int, float)):
        raise TypeError(f"timeout must be a number of seconds or None, got {type(timeout).__name__}: {timeout!r}")
    return round(timeout * 1000) if 0 <= timeout < 1e9 else -1


@overload
def get(object_refs: ObjectRef[R], *, timeout: float | None = None, _use_object_store: bool = False) -> R: ...
@overload
def get(
    object_refs: Sequence[ObjectRef[R]], *, timeout: float | None = None, _use_object_store: bool = False
) -> list[R]: ...


def get(object_refs: Any, *, timeout: float | None = None, _use_object_store: bool = False) -> Any:
    """Returns the value of a reference, or the values of a list of references; waits until they are ready.

    Arrays inside a value are read-only views on the object store.

    Args:
        object_refs: A reference or a list of references.
        timeout: Seconds to wait; 0 only looks.

    Raises:
        GetTimeoutError: the timeout has passed.
        Exception: the task raised an exception, which arrives as its own class too; or the error says why there is no
            value.
        ValueError: the argument is neither a reference nor a list.
    """
    session = process.session
    if session is None:
        session = _session_for(object_refs)
    try:
        if type(object_refs) is _ref_type():
            found = session.hot.get(object_refs, -1 if timeout is None else _timeout_ms(timeout))
            if found is None:
                raise _timed_out([object_refs], timeout)
            fmt, meta, _ = found
            if fmt == MSGPACK:
                return _unpackb(meta, strict_map_key=False)
            if fmt == NONE:
                return None
            value = unpack(found)
            if fmt in ERRORS:
                try:
                    raise value
                finally:
                    value = None  # the exception refers to this frame and the callers' frames: a cycle
            return value
        return _get_list(session.hot, object_refs, timeout)
    except HotError as error:
        raise explain(error) from None


def _is_generator(value: Any) -> TypeGuard[ObjectRefGenerator[Any]]:
    return type(value).__name__ == "ObjectRefGenerator" and type(value).__module__ == "eagleray._private.generators"


def _ref_type() -> Any:
    return _ObjectRef if _ObjectRef is not None else _load_ref_type()


_ObjectRef: Any = None


def _load_ref_type() -> Any:
    global _ObjectRef
    from eagleray._private.refs import ObjectRef

    _ObjectRef = ObjectRef
    return ObjectRef


def _session_for(refs: Any) -> Session:
    """Returns a new session for a call without one. It raises if the call concerns objects of an old session."""
    found = [ref for ref in (refs if isinstance(refs, list) else [refs]) if type(ref).__name__ == "ObjectRef"]
    if found and not process.forked:
        raise ValueError(
            f"{found[0]!r} is not known here: the session that it belongs to was shut down. "
            "References do not outlive their session."
        )
    return process.require()


def _get_list(hot: Any, refs: Any, timeout: float | None) -> Any:
    if not isinstance(refs, list):
        if _is_generator(refs):  # as Ray
            return refs
        raise ValueError(
            f"Invalid type of object refs, {type(refs)}, is given. 'object_refs' must either be an ObjectRef or a list "
            "of ObjectRefs."
        )
    ms = _timeout_ms(timeout)
    end = time.monotonic() + ms / 1000 if ms > 0 else 0.0
    values = hot.get_all(refs, _value_of, form_of)
    if values is False:
        other = next(ref for ref in refs if not isinstance(ref, _ref_type()))
        raise TypeError(f"Attempting to call 'get' on the value {other!r}, which is not an ObjectRef.")
    while values is None:
        if not hot.wait_all(refs, ms):
            raise _timed_out([ref for ref in refs if not hot.ready(ref)] or refs, timeout)
        values = hot.get_all(refs, _value_of, form_of) or _fetch_all(hot, refs)
        if ms > 0:
            ms = max(0, round((end - time.monotonic()) * 1000))
    return values


def _value_of(found: Triple) -> Any:
    """Returns the value in an envelope, or raises the exception in its place."""
    value = unpack(found)
    if found[0] in ERRORS:
        try:
            raise value
        finally:
            value = None  # a cycle of the exception and this frame, as above
    return value


def _fetch_all(hot: Any, refs: list[Any]) -> list[Any] | None:
    """Returns the values of references that are ready; None if some were lost and are being computed again."""
    values = []
    missing = 0
    fetch = hot.get
    for ref in refs:
        # wait_all also returns when one object has failed. The others may not be there yet, and the failed one raises.
        found = fetch(ref, 0)
        if found is None:
            missing += 1
        else:
            values.append(_value_of(found))
    return None if missing else values


def _timed_out(refs: list[Any], timeout: float | None) -> GetTimeoutError:
    shown = ", ".join(repr(ref) for ref in refs[:_SHOWN]) + (
        f" and {len(refs) - _SHOWN} more" if len(refs) > _SHOWN else ""
    )
    return GetTimeoutError(f"Get timed out: some object(s) not ready after {timeout} s: {shown}")


def put(value: R, *, _owner: Any = None, _tensor_transport: str | None = None) -> ObjectRef[R]:
    """Stores a value and returns a reference to it.

    The calling process owns it: another ``_owner``, and a ``_tensor_transport`` beside the object store, are refused.

    Raises:
        TypeError: the value is a reference, or cannot be serialised: the message names the part.
    """
    session = process.require()
    if _owner is not None or _tensor_transport is not None:
        _refuse_put(_owner, _tensor_transport)
    if isinstance(value, _ref_type()):
        raise TypeError(
            "Calling 'put' on an ObjectRef is not allowed. If you really want to do this, you can wrap the ObjectRef "
            "in a list and call 'put' on it."
        )
    try:
        encoded = encode(value)
    except Exception as problem:
        raise_unserializable(value, "the value given to put", problem)
    try:
        ref: ObjectRef[R] = session.hot.put(*encoded)
        return ref
    except HotError as error:
        raise explain(error) from None


def _refuse_put(owner: Any, transport: Any) -> None:
    if owner is not None:
        raise ValueError("put(_owner=…) is not supported: call a method of that actor which puts the value itself")
    if str(transport).lower() != "object_store":
        raise ValueError(f"put(_tensor_transport={transport!r}) is not supported: tensors go through the object store")


def wait(
    ray_waitables: list[W], *, num_returns: int = 1, timeout: float | None = None, fetch_local: bool = True
) -> tuple[list[W], list[W]]:
    """Waits until ``num_returns`` references are ready, and splits the list into ready ones and others.

    A reference whose task can never run never counts as ready. When only such references are left, the call returns at
    once.

    Args:
        ray_waitables: The references, each once.
        num_returns: How many ready references to wait for; at most so many are returned as ready.
        timeout: Seconds to wait at most; 0 only looks.
        fetch_local: Whether ready means that the value is here. A value that lies on another node is then fetched
            first, and one that the store has lost is computed again, if possible. With False it counts as ready, and
            the next ``get`` waits for it.

    Returns:
        The ready references and the others, each list in the order given.
    """
    session = process.session
    ms = -1 if timeout is None else _timeout_ms(timeout) if type(timeout) in _NUMBERS and timeout >= 0 else None
    if session is not None and ms is not None:
        try:
            split: tuple[list[W], list[W]] | None = session.hot.wait(ray_waitables, num_returns, ms, fetch_local, None)
        except HotError as error:
            raise explain(error) from None
        if split is not None:
            return split
    return _wait_checked(ray_waitables, num_returns, timeout, fetch_local)


_NUMBERS = frozenset({int, float})


def _wait_checked(refs: Any, num_returns: Any, timeout: Any, fetch_local: bool) -> tuple[list[Any], list[Any]]:
    """Serves ``wait`` for lists with generators, and raises for arguments that are no list of distinct references."""
    kind = _ref_type()
    if isinstance(refs, kind) or _is_generator(refs):
        raise TypeError(
            f"wait() expected a list of ObjectRefs or ObjectRefGenerators, got a single {type(refs).__name__}."
        )
    if not isinstance(refs, list):
        raise TypeError(f"wait() expected a list of ObjectRefs or ObjectRefGenerators, got {type(refs)}.")
    for ref in refs:
        if not isinstance(ref, kind) and not _is_generator(ref):
            raise TypeError(
                f"wait() expected a list of ObjectRefs or ObjectRefGenerators, got a list containing {type(ref)}."
            )
    if timeout is not None and not isinstance(timeout, (int, float)):
        raise TypeError(f"timeout must be a number of seconds or None, got {type(timeout).__name__}: {timeout!r}")
    if timeout is not None and timeout < 0:
        raise ValueError(f"The 'timeout' argument must be nonnegative. Received {timeout}")
    if not isinstance(num_returns, int):
        raise TypeError(f"num_returns must be a whole number, got {type(num_returns).__name__}: {num_returns!r}")
    session = process.session or _session_for(refs)
    if not refs:
        return [], []
    if len(set(refs)) != len(refs):
        raise ValueError("Wait requires a list of unique ObjectRefs.")
    if num_returns <= 0:
        raise ValueError(f"Invalid number of objects to return {num_returns}.")
    if num_returns > len(refs):
        raise ValueError(f"num_returns cannot be greater than the number of ObjectRefs: {num_returns} > {len(refs)}")
    try:
        waited = [ref._peek() if _is_generator(ref) else ref for ref in refs]
        split: tuple[list[Any], list[Any]] = session.hot.wait(
            waited, int(num_returns), _timeout_ms(timeout), fetch_local, list(refs)
        )
        return split
    except HotError as error:
        raise explain(error) from None


def kill(actor: ActorHandle[Any], *, no_restart: bool = True, **unknown: NoReturn) -> None:
    """Ends an actor at once. Calls that it has not answered fail.

    Args:
        actor: The actor's handle.
        no_restart: Whether the actor stays dead although it has restarts left.
    """
    from eagleray.actor import ActorHandle, stale_handle

    if unknown:
        suggestions.refuse_unknown("kill", unknown, ("no_restart",))
    if not isinstance(actor, ActorHandle):
        raise ValueError(f"kill() only supported for actors. For tasks, try cancel(). Got: {type(actor)}.")
    if actor._er_epoch != process.epoch:
        raise stale_handle(actor._er_kind.class_name)
    try:
        process.require().hot.actor_kill(actor._er_id, no_restart)
    except HotError as error:
        raise explain(error) from None


def cancel(
    ray_waitable: ObjectRef[Any] | ObjectRefGenerator[Any],
    *,
    force: bool = False,
    recursive: bool = True,
    **unknown: NoReturn,
) -> None:
    """Cancels a task: a waiting task never runs, and a running task gets a KeyboardInterrupt.

    A coroutine of an actor gets ``asyncio.CancelledError``. A plain method of an actor is not interrupted; it may call
    ``get_runtime_context().is_canceled()``. A cancelled task is not tried again. A task that has ended is left alone.

    Args:
        ray_waitable: A reference to one of the task's results, or the generator of them.
        force: Whether to end the task's worker process instead of interrupting the task; not for actor calls.
        recursive: Whether to cancel the tasks and calls that the task has submitted, too.

    Raises:
        TypeError: the argument is not a reference.
        ValueError: ``force`` for a call of an actor.
    """
    if unknown:
        suggestions.refuse_unknown("cancel", unknown, ("force", "recursive"))
    if _is_generator(ray_waitable):
        ray_waitable = ray_waitable.completed()
    if not isinstance(ray_waitable, _ref_type()):
        raise TypeError(f"cancel() only supported for object refs. For actors, try kill(). Got: {type(ray_waitable)}.")
    session = process.session or _session_for(ray_waitable)
    try:
        session.hot.cancel(ray_waitable, force, recursive)
    except HotError as error:
        raise explain(error) from None


def get_actor(name: str, namespace: str | None = None, **unknown: NoReturn) -> ActorHandle[Any]:
    """Returns a handle to the living actor with this name.

    Raises:
        ValueError: there is no such actor.
    """
    from eagleray.actor import import_handle

    if unknown:
        suggestions.refuse_unknown("get_actor", unknown, ("name", "namespace"))
    if not name:
        raise ValueError(f"get_actor() takes an actor's name that is not empty; got {name!r}")
    if not isinstance(name, str):
        raise TypeError(f"get_actor() takes an actor's name, a string; got {type(name).__name__}")
    if namespace is not None and not isinstance(namespace, str):
        raise TypeError(f"get_actor() takes a namespace as a string, got {type(namespace).__name__}: {namespace!r}")
    if namespace == "":
        raise ValueError("get_actor() takes a namespace that is not empty; leave it out for the session's namespace")
    session = process.require()
    where = namespace or session.namespace
    try:
        found = rpc(session, "actor_by_name", {"name": name, "namespace": where})
    except HotError as error:
        if error.code != "not_found":
            raise explain(error) from None
        found = None
    if not found:
        raise ValueError(
            f"Failed to look up actor with name {name!r}: namespace {where!r} has no living actor of that name. "
            "It may have ended, or live in another namespace."
        )
    return import_handle(found["actor_id"], found.get("owner_addr") or "", found["meta"])


def _state_session() -> Session:
    if process.session is None and not process.forked:
        raise RaySystemError(
            "Eagle Ray has not been started yet: nodes and resources are known after init() has been called."
        )
    return process.require()


def nodes() -> list[dict[str, Any]]:
    """Returns the machines of the cluster, as dictionaries with Ray's keys.

    A node that is alive, and of which nothing was heard for some seconds, has ``Unreachable`` true: nothing new is
    placed there. ``DeathReasonMessage`` says why a node is dead. A node that
    gets no new work because it leaves the cluster has ``Drain``, with ``reason``, ``message`` and ``deadline_ms``.

    If workers of a node hold memory of NVIDIA GPUs, ``GpuMemory`` in the entry of the node lists which worker
    holds how many bytes of which GPU.
    """
    rows = []
    session = _state_session()
    found = fetch_cluster(session)
    if any(
        node["alive"] and node["node_id"] != session.node_id and "GPU" in node["resources"] for node in found["nodes"]
    ):
        found = fetch_cluster(session, use=True)  # the other nodes are asked who holds what
    gpu_uses: dict[bytes, list[dict[str, Any]]] = {}
    for use in found["gpu_uses"]:
        gpu_uses.setdefault(use["node_id"], []).append(_gpu_use(use))
    for node in found["nodes"]:
        node_id = node["node_id"].hex()
        rows.append(
            {
                "NodeID": node_id,
                "Alive": node["alive"],
                "NodeManagerAddress": node["address"],
                "NodeManagerHostname": node["hostname"],
                "NodeManagerPort": 0,
                "ObjectManagerPort": 0,
                "ObjectStoreSocketName": node["session_dir"] + "/d.sock",
                "RayletSocketName": node["session_dir"] + "/d.sock",
                "MetricsExportPort": session.metrics_port or -1,
                "NodeName": node["name"],
                "RuntimeEnvAgentPort": -1,
                "DeathReason": 0,
                "DeathReasonMessage": node["reason"],
                "alive": node["alive"],
                "Unreachable": node["unreachable"],
                "Resources": from_units(node["resources"]) if node["alive"] else {},
                "Labels": {"ray.io/node-id": node_id, **(node.get("labels") or {})},
                **({"Drain": node["drain"]} if "drain" in node else {}),
                **({"GpuMemory": gpu_uses[node["node_id"]]} if node["node_id"] in gpu_uses else {}),
            }
        )
    return rows


def _gpu_use(use: dict[str, Any]) -> dict[str, Any]:
    return {name: use[name] for name in ("pid", "name", "device", "used", "gpu_memory")}


def cluster_resources() -> dict[str, float]:
    """Returns the totals of the cluster's resources: the sums over the nodes that are alive."""
    session = _state_session()
    found = fetch_cluster(session)
    totals: dict[str, int] = dict(found["totals"]["resources"])  # this node's as they are now
    for node in found["nodes"]:
        if node["alive"] and node["node_id"] != session.node_id:
            for name, amount in node["resources"].items():
                totals[name] = totals.get(name, 0) + amount
    return from_units(totals)


def available_resources() -> dict[str, float]:
    """Returns the resources that are free now, as sums over the nodes. Resources that are used up are left out.

    What a node has free that does not answer within two seconds is left out, too.
    """
    found = fetch_cluster(_state_session(), use=True)["available"]
    return {name: amount for name, amount in from_units(found).items() if amount > 0}


def available_per_node() -> dict[str, dict[str, float]]:
    """Returns what each living node has free; see ``state.available_resources_per_node``."""
    found = fetch_cluster(_state_session(), use=True)
    return {
        node["node_id"].hex(): {name: amount for name, amount in from_units(node["available"]).items() if amount > 0}
        for node in found["nodes"]
        if node["alive"] and node["available"] is not None
    }


def total_per_node() -> dict[str, dict[str, float]]:
    """Returns what each living node has; see ``state.total_resources_per_node``."""
    session = _state_session()
    found = fetch_cluster(session)
    totals = {node["node_id"].hex(): from_units(node["resources"]) for node in found["nodes"] if node["alive"]}
    totals[session.node_id.hex()] = from_units(found["totals"]["resources"])  # this node's as they are now
    return totals


def get_gpu_ids() -> list[int] | list[str]:
    """Returns the ids of the GPUs of the running task or actor; empty in a driver."""
    process.require()
    context = sys.modules.get("eagleray._private.context")
    if context is None:
        return []
    ids: list[str] = context.here.devices.get("GPU", [])
    return (
        [int(device) for device in ids]
        if context.here.int_ids and all(device.isdigit() for device in ids)
        else list(ids)
    )


if tracing.ON:
    globals()["get"] = tracing.around(get, 0, tracing.GIVEN)
