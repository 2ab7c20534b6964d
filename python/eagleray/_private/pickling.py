"""Pickling with buffers out of band and with the references inside a value collected on the way."""

from __future__ import annotations

import pickle
import sys
import threading
from typing import Any

from eagleray._private import device_arrays
from eagleray._private.state import process


class _Local(threading.local):
    #: References and handles inside the value that this thread pickles; None outside of that.
    nested: list[Any] | None = None


_local = _Local()


def dumps(value: Any) -> tuple[bytes, tuple[memoryview, ...] | None, tuple[Any, ...] | None]:
    """Pickles ``value`` by protocol 5.

    Plain pickle comes first, it is several times faster. cloudpickle takes over for what plain pickle cannot carry and
    for whatever mentions ``__main__``, which is another module in a worker.

    Returns:
        The pickle, its out-of-band buffers (or None), the references and handles inside (or None).

    Raises:
        DeviceArrayError: a device array of another library is inside.
    """
    outer = _local.nested
    nested: list[Any] = []
    _local.nested = nested
    buffers: list[memoryview] = []

    def keep(buffer: pickle.PickleBuffer) -> bool:
        try:
            buffers.append(buffer.raw())
            return False
        except BufferError:  # not contiguous: in band
            return True

    data = b""
    try:
        try:
            data = device_arrays.dumps(device_arrays.Pickler, value, keep)
            carried = b"__main__" not in data and not _by_value_modules()
        except Exception:
            carried = False
        if not carried:
            nested.clear()
            buffers.clear()
            data = device_arrays.dumps(device_arrays.by_value(_cloudpickle()), value, keep)
    finally:
        _local.nested = outer
    return data, tuple(buffers) if buffers else None, tuple(nested) if nested else None


def collecting() -> bool:
    """Whether this thread pickles a value of the runtime's, whose references are counted."""
    return _local.nested is not None


def export_ref(ref: Any) -> tuple[bytes, str]:
    """What a reference pickles as: its id and its owner's address."""
    session = process.require()
    _note(ref)
    exported: tuple[bytes, str] = session.hot.ref_export(ref)
    return exported


def export_handle(handle: Any) -> tuple[bytes, str]:
    """What the core's part of an actor handle pickles as: the actor's id and its owner's address."""
    session = process.require()
    _note(handle)
    exported: tuple[bytes, str] = session.hot.handle_export(handle)
    return exported


def _note(item: Any) -> None:
    nested = _local.nested
    if nested is not None:
        nested.append(item)
    else:
        # Pickled by the user's own hand: nobody can tell when the bytes are gone, so it stays for the session.
        session = process.require()
        session.pinned.append(item)


def dumps_code(value: Any) -> bytes:
    """Pickles a function or class, by value where it must be. References inside stay alive for the session."""
    return device_arrays.dumps(device_arrays.by_value(_cloudpickle()), value, None)


def _by_value_modules() -> bool:
    """Whether the user asked cloudpickle to carry some modules by value."""
    module = sys.modules.get("cloudpickle.cloudpickle")
    return bool(module is not None and module._PICKLE_BY_VALUE_MODULES)


def _cloudpickle() -> Any:
    import cloudpickle

    return cloudpickle
