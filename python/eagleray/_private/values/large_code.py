"""Functions and classes that are too large for a message: their bytes are an object in the store.

A reference to that object travels instead. The program holds it like any other reference that a function captures.
A detached actor may start when the program has ended: the cluster keeps a copy of the object with its class.
"""

from __future__ import annotations

import logging
import os
import pickle
from typing import Any

from eagleray._private.hot_error import HotError, explain
from eagleray._private.state import process
from eagleray._private.values import pickling
from eagleray._private.values.formats import BYTES
from eagleray._private.values.serialization import decode

#: The largest pickle of a function or class, in bytes, that travels in a message.
INLINE = 4 << 20

#: The sizes in bytes that cause a warning and an error, as under Ray and with Ray's variables.
_WARN = "FUNCTION_SIZE_WARN_THRESHOLD", 10**7
_ERROR = "FUNCTION_SIZE_ERROR_THRESHOLD", 10**8

#: The first bytes of a function whose pickle is in the object store. The object's id and a pickled reference to the
#: object follow.
PREFIX = b"\0stored:"
_HEAD = len(PREFIX) + 28


def store(blob: bytes, captured: tuple[Any, ...] | None, value: Any, hot: Any) -> tuple[bytes, tuple[Any, ...]]:
    """Puts the pickle of a function or class into the object store.

    Args:
        blob: The pickle.
        captured: The references inside the pickle.
        value: The function or class, for messages.
        hot: The core.

    Returns:
        The bytes that stand for it, and the references that every call has to hold.

    Raises:
        ValueError: the pickle is larger than allowed.
        ObjectStoreFullError: the store has no room.
    """
    size = len(blob)
    most = _threshold(_ERROR)
    if size > most:
        raise ValueError(
            f"{_name(value)} is too large: {_mib(size)} with what it captures, and at most {_mib(most)} are allowed "
            f"({_ERROR[0]}). {_ADVICE}"
        )
    if size > _threshold(_WARN):
        logging.getLogger("eagleray").warning(
            "%s is very large: %s with what it captures. %s", _name(value), _mib(size), _ADVICE
        )
    try:
        reference = hot.put(BYTES, b"", (blob,), captured)
    except HotError as error:
        raise explain(error) from None
    with pickling.collected():
        return PREFIX + reference.binary() + pickle.dumps(reference, 5), (*(captured or ()), reference)


def object_of(blob: bytes) -> bytes:
    """Returns the id of the object that holds the pickle of a function or class; empty if ``blob`` is the pickle."""
    return blob[len(PREFIX) : _HEAD] if blob.startswith(PREFIX) else b""


def without(captured: tuple[Any, ...] | None, objects: set[bytes]) -> tuple[Any, ...] | None:
    """Returns the captured references except references to ``objects``."""
    from eagleray._private.refs import ObjectRef

    return tuple(x for x in captured or () if not (isinstance(x, ObjectRef) and x.binary() in objects)) or None


def load(blob: bytes) -> Any:
    """Loads a function or class whose bytes are in the object store."""
    reference = pickle.loads(blob[_HEAD:])
    try:
        kind, meta, buffers = process.require().hot.get(reference, -1)
    except HotError as error:
        raise explain(error) from None
    if kind != BYTES:  # the exception that says why the object is not there
        raise decode((kind, meta, buffers))
    return pickling.loads_plain(buffers[0])


_ADVICE = (
    "Does it capture a large value by accident? A value that ray.put() has stored travels once: pass its reference as "
    "an argument."
)


def _name(value: Any) -> str:
    """Returns the name of a function or class in messages."""
    value = getattr(value, "function", value)  # a pair of the function and the exceptions after which it is retried
    if isinstance(value, type):
        return f"The actor {value.__name__}"
    return f"The remote function {value.__module__}.{getattr(value, '__qualname__', repr(value))}"


def _mib(size: int) -> str:
    return f"{size / (1 << 20):.0f} MiB"


def _threshold(setting: tuple[str, int]) -> int:
    name, default = setting
    try:
        return int(os.environ.get(name) or default)
    except ValueError:
        return default
