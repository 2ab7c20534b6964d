"""Pickling with out-of-band buffers. The references inside a value are collected meanwhile."""

from __future__ import annotations

import contextlib
import os
import pickle
import sys
import threading
from collections.abc import Iterator
from typing import Any

from eagleray._private.hot_error import HotError, explain
from eagleray._private.state import process
from eagleray._private.values import device_arrays
from eagleray.exceptions import OufOfBandObjectRefSerializationException


class _Local(threading.local):
    #: References and handles inside the value that this thread pickles; None outside of that.
    nested: list[Any] | None = None
    #: References and handles that come in while this thread unpickles code; None outside of that.
    received: list[Any] | None = None


_local = _Local()


#: The pickle, its out-of-band buffers, the references and handles inside, whether a table of references is in front.
Pickled = tuple[bytes, tuple[memoryview, ...] | None, tuple[Any, ...] | None, bool]


def dumps(value: Any) -> Pickled:
    """Pickles ``value`` by protocol 5.

    Plain pickle comes first, it is several times faster. cloudpickle takes over for what plain pickle cannot carry and
    for whatever mentions ``__main__``, which is another module in a worker.

    References leave only their places in the pickle. Their ids and owners are a table in front of it, which the core
    writes and reads as a whole: ``loads`` takes the references from there in the same order.

    Returns:
        The pickle, its out-of-band buffers (or None), the references and handles inside (or None), and whether there
        is a table.

    Raises:
        DeviceArrayError: a device array of another library is inside.
    """
    outer = _local.nested
    nested: list[Any] = []
    _local.nested = nested
    references = device_arrays.References(nested)
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
            data = device_arrays.dumps(device_arrays.Pickler, value, keep, references)
            carried = b"__main__" not in data and not _by_value_modules()
        except Exception:
            carried = False
        if not carried:
            references.clear()
            buffers.clear()
            data = device_arrays.dumps(device_arrays.by_value(_cloudpickle()), value, keep, references)
    finally:
        _local.nested = outer
    if references.found:
        try:
            data = process.require().hot.ref_table(references.found) + data
        except HotError as error:
            raise explain(error) from None
    return data, tuple(buffers) if buffers else None, tuple(nested) if nested else None, bool(references.found)


def loads(data: Any, buffers: Any, table: bool) -> Any:
    """Loads a pickle of ``dumps``.

    Args:
        data: The pickle, behind the table of references if there is one.
        buffers: Its out-of-band buffers, or None.
        table: Whether there is a table.
    """
    if not table:
        try:  # Every call's arguments pass this function. One more Python function makes each call 2 % slower.
            return pickle.loads(data, buffers=buffers or ())
        except RecursionError:
            return loads_slowly(data, buffers)
    with_refs = process.require().hot.with_refs
    try:
        return with_refs(pickle.loads, data, buffers)
    except RecursionError:
        from eagleray._private.values import unpickling

        return with_refs(unpickling.loads, data, buffers)
    except HotError as error:
        raise explain(error) from None


def loads_plain(data: Any, buffers: Any = None) -> Any:
    """Loads a pickle without a table."""
    return loads(data, buffers, False)


def loads_slowly(data: Any, buffers: Any) -> Any:
    """Loads a pickle with which pickle's own unpickler has failed: see unpickling.py."""
    from eagleray._private.values import unpickling

    return unpickling.loads(data, buffers)


def collecting() -> bool:
    """Reports whether this thread pickles a value for the runtime, which counts the references inside."""
    return _local.nested is not None


def export_ref(ref: Any) -> tuple[bytes, str]:
    """Returns a reference's pickled form: its id and its owner's address."""
    session = process.require()
    _check_allowed()
    _note(ref)
    try:
        exported: tuple[bytes, str] = session.hot.ref_export(ref)
    except HotError as error:
        raise explain(error) from None
    return exported


def export_handle(handle: Any) -> tuple[bytes, str]:
    """Returns the pickled form of an actor handle in the core: the actor's id and its owner's address."""
    session = process.require()
    _note(handle)
    try:
        exported: tuple[bytes, str] = session.hot.handle_export(handle)
    except HotError as error:
        raise explain(error) from None
    return exported


def _note(item: Any) -> None:
    nested = _local.nested
    if nested is not None:
        nested.append(item)
    else:
        # User code has pickled it itself: nobody knows when those bytes are gone, so the object stays for the session.
        session = process.require()
        session.pinned.append(item)


def _check_allowed() -> None:
    """Raises if references may travel only inside values that the runtime pickles, and this one travels otherwise."""
    if _local.nested is not None:
        return
    for name in ("EAGLERAY_allow_out_of_band_object_ref_serialization", _ALLOW):
        value = os.environ.get(name)
        if value:
            if value.lower() in ("0", "false"):
                break
            return
    else:
        return
    raise OufOfBandObjectRefSerializationException(
        "an ObjectRef is being pickled by the program itself, not as an argument, a result or a value for put(): "
        f"Eagle Ray cannot know how long its object is needed then. {_ALLOW}=0 forbids it; pass the reference to a "
        "task, or set 1"
    )


_ALLOW = "RAY_allow_out_of_band_object_ref_serialization"


def dumps_code(value: Any) -> tuple[bytes, tuple[Any, ...] | None]:
    """Pickles a function or class, by value if importing it elsewhere is not possible.

    Returns:
        The pickle, and the references and handles inside (or None).
    """
    with collected() as nested:
        data = device_arrays.dumps(device_arrays.by_value(_cloudpickle()), value, None)
    return data, tuple(nested) if nested else None


@contextlib.contextmanager
def collected() -> Iterator[list[Any]]:
    """Collects the references and handles that this thread pickles inside the ``with`` block."""
    outer = _local.nested
    nested: list[Any] = []
    _local.nested = nested
    try:
        yield nested
    finally:
        _local.nested = outer


@contextlib.contextmanager
def received() -> Iterator[list[Any]]:
    """Collects the references and handles that this thread unpickles inside the ``with`` block."""
    outer = _local.received
    found: list[Any] = []
    _local.received = found
    try:
        yield found
    finally:
        _local.received = outer


def arrived(item: Any) -> None:
    """Notes a reference or handle that was unpickled."""
    if _local.received is not None:
        _local.received.append(item)


def also(nested: tuple[Any, ...] | None) -> None:
    """Adds the references of a part that was pickled separately to those of the value that this thread pickles."""
    if nested and _local.nested is not None:
        _local.nested.extend(nested)


def _by_value_modules() -> bool:
    """Reports whether the user has asked cloudpickle to pickle some modules by value."""
    module = sys.modules.get("cloudpickle.cloudpickle")
    return bool(module is not None and module._PICKLE_BY_VALUE_MODULES)


def _cloudpickle() -> Any:
    import cloudpickle

    return cloudpickle
