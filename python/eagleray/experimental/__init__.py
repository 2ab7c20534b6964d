"""What Ray calls experimental: where objects lie, and progress bars (``tqdm_ray``)."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Sequence
from typing import Any, NoReturn

from eagleray._private import missing
from eagleray._private.calls.control import rpc
from eagleray._private.hot_error import HotError, explain
from eagleray._private.refs import ObjectRef
from eagleray._private.state import process
from eagleray.exceptions import GetTimeoutError

__all__ = ["get_local_object_locations", "get_object_locations", "register_nixl_memory", "set_target_for_ref"]


def get_object_locations(
    obj_refs: Sequence[ObjectRef[Any]], timeout_ms: int = -1
) -> dict[ObjectRef[Any], dict[str, Any]]:
    """Returns on which nodes the values of references lie.

    Args:
        obj_refs: References.
        timeout_ms: Milliseconds to wait for the nodes that know it; a negative number is 30 seconds.

    Returns:
        For each reference ``node_ids``, the nodes with a copy in their object stores, which is empty while the value is
        not there, or is small and lies in no store; ``object_size`` in bytes, ``None`` while that is not known; and
        ``did_spill``, whether the node of the object's owner has its copy on disk.

    Raises:
        RuntimeError: the program has no session.
        GetTimeoutError: the answer has not come in time.
    """
    return _locations("get_object_locations", obj_refs, timeout_ms)


def _locations(name: str, obj_refs: Sequence[ObjectRef[Any]], timeout_ms: int) -> dict[ObjectRef[Any], dict[str, Any]]:
    if process.session is None:
        raise RuntimeError(f"{name}() needs a session: call ray.init() first")
    if isinstance(obj_refs, ObjectRef):
        raise TypeError(f"{name}() takes a list of ObjectRefs, got one ObjectRef")
    listed = list(obj_refs)
    for ref in listed:
        if not isinstance(ref, ObjectRef):
            raise TypeError(f"{name}() takes ObjectRefs, got {type(ref).__name__}")
    if not listed:
        return {}
    try:
        rows = rpc(process.session, "object_locations", {"object_ids": [ref.binary() for ref in listed]}, timeout_ms)
    except HotError as error:
        if error.code == "deadline_exceeded":
            raise GetTimeoutError(f"where {len(listed)} objects lie is not known after {timeout_ms} ms") from None
        raise explain(error) from None
    return {
        ref: {**row, "node_ids": [node.hex() for node in row["node_ids"]]}
        for ref, row in zip(listed, rows, strict=True)
    }


def get_local_object_locations(obj_refs: Sequence[ObjectRef[Any]]) -> dict[ObjectRef[Any], dict[str, Any]]:
    """Returns on which nodes the values of references lie, as this program and its node know it.

    Args:
        obj_refs: References.

    Returns:
        What ``get_object_locations`` returns. Use this for the size of a value that need not be fetched.

    Raises:
        RuntimeError: the program has no session.
    """
    return _locations("get_local_object_locations", obj_refs, -1)


def register_nixl_memory(*args: Any, **kwargs: Any) -> NoReturn:
    """Not supported: there are no tensor transports.

    Raises:
        NotImplementedError: always.
    """
    _refuse_transport("register_nixl_memory")


def set_target_for_ref(*args: Any, **kwargs: Any) -> NoReturn:
    """Not supported: there are no tensor transports.

    Raises:
        NotImplementedError: always.
    """
    _refuse_transport("set_target_for_ref")


def _refuse_transport(name: str) -> NoReturn:
    raise NotImplementedError(
        f"{name}() is not supported: Eagle Ray has no tensor transports beside its object store. Return tensors from "
        "tasks, or keep them in an actor, with eagleray.kernels for arrays on devices"
    )


def __getattr__(name: str) -> Any:
    if name == "tqdm_ray":  # Ray loads it with itself
        return importlib.import_module(f"{__name__}.{name}")
    raise missing.attribute(__name__, name, sys._getframe(1))
