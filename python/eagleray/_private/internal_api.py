"""The part of ``ray._private.internal_api`` that programs use: freeing values by hand, and who holds which values."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Sequence
from typing import Any

from eagleray._private.calls.control import rpc
from eagleray._private.hot_error import HotError, explain
from eagleray._private.refs import ObjectRef
from eagleray._private.state import process


def free(object_refs: ObjectRef[Any] | Sequence[ObjectRef[Any]], local_only: bool = False) -> None:
    """Frees values although references to them exist. A later ``get`` raises ``ObjectFreedError``.

    Args:
        object_refs: One reference or a list of references. A value that is not ready stays as it is.
        local_only: Accepted for Ray's sake: with one machine, its store is the local one.
    """
    del local_only
    _call("free", object_refs)


def add_object_out_of_scope_callback(object_ref: ObjectRef[Any], callback: Callable[[bytes], None]) -> bool:
    """Has a callback called on a thread when no process holds a reference to an object any more.

    Args:
        object_ref: A reference to an object that this process owns: it has put it, or submitted the task that makes it.
        callback: What is called, with the bytes of the object's id.

    Returns:
        True: the callback will be called.

    Raises:
        ValueError: another process owns the object.
    """
    if not isinstance(object_ref, ObjectRef):
        raise TypeError(f"add_object_out_of_scope_callback() takes an ObjectRef, got {type(object_ref).__name__}")
    from eagleray._private.values import callbacks

    session = process.require()

    def register(token: int) -> bool:
        return bool(rpc(session, "object_gone", {"object_ids": [object_ref.binary()], "token": token}))

    try:
        owned = callbacks.on_gone(object_ref, callback, register)
    except HotError as error:
        raise explain(error) from None
    if not owned:
        raise ValueError(
            f"{object_ref!r} is owned by another process: only its owner can register a callback for its end"
        )
    return True


def _lose(object_refs: ObjectRef[Any] | Sequence[ObjectRef[Any]]) -> int:
    """Makes the store forget its copies, as if they had been lost: for tests of recomputing.

    Returns:
        How many of them are gone; those that some process reads stay.
    """
    lost: int = _call("lose", object_refs)
    return lost


def _call(method: str, refs: ObjectRef[Any] | Sequence[ObjectRef[Any]]) -> Any:
    listed = [refs] if isinstance(refs, ObjectRef) else list(refs)
    for ref in listed:
        if not isinstance(ref, ObjectRef):
            raise TypeError(f"{method}() takes ObjectRefs, got {type(ref).__name__}")
    try:
        return rpc(process.require(), method, {"object_ids": [ref.binary() for ref in listed]})
    except HotError as error:
        raise explain(error) from None


def __getattr__(name: str) -> Any:
    if name != "memory_summary":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return importlib.import_module("eagleray._private.outside.memory").memory_summary
