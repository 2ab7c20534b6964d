"""The part of ``ray._private.internal_api`` that programs use: freeing values by hand."""

from __future__ import annotations

from collections.abc import Sequence
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
