"""Code that travels: functions and classes as bytes, named by their hash."""

from __future__ import annotations

import importlib
from _blake2 import blake2b  # what hashlib gives, without loading OpenSSL
from collections.abc import Callable
from typing import Any

from eagleray._private.values import large_code, pickling
from eagleray._private.values.serialization import raise_unserializable

FID_SIZE = 16

#: References and handles that code has captured.
Captured = tuple[Any, ...] | None

#: Functions that this process got as bytes: id → (the function, which keeps the id valid, its fid, what it captured). A
#: recursive task submits itself under the name that it came with, and is not pickled again.
_received: dict[int, tuple[Any, bytes, Captured]] = {}


class Filtered:
    """A function with the classes of exceptions that its task is retried on."""

    def __init__(self, function: Callable[..., Any], retry_on: tuple[type[BaseException], ...]) -> None:
        self.function = function
        self.retry_on = retry_on


def export(value: Any, what: str, hot: Any = None) -> tuple[bytes, bytes, Captured]:
    """The fid and bytes of a function or class, and the references inside: every call of it has to hold them.

    Args:
        value: The function or class.
        what: How messages call it.
        hot: The core; without it nothing is put into the object store.

    Raises:
        TypeError: it captures something that cannot be pickled; the message names it.
        ValueError: it captures too much.
    """
    known = _received.get(id(value))
    if known is not None and hot is not None:
        return known[1], hot.function(known[1]), known[2]
    try:
        blob, captured = pickling.dumps_code(value)
    except Exception as problem:
        raise_unserializable(getattr(value, "function", value), what, problem)
    if len(blob) > large_code.INLINE and hot is not None:
        blob, captured = large_code.store(blob, captured, value, hot)
    return blake2b(blob, digest_size=FID_SIZE).digest(), blob, captured


#: What a function of a program in another language is named by: this, then "module:name".
_PATH = b"\0path:"
#: What a function or actor of a Go worker program is named by: this, then its name.
GO_CODE = b"\0go:"


def rebuild(blob: bytes) -> Any:
    """The function or class that came as ``blob``: pickled, here or in the object store, or named by its import path.

    Raises:
        TypeError: it is code of another language.
        ImportError: there is no such module.
        AttributeError: the module has no such name.
    """
    if blob.startswith(GO_CODE):
        name = blob[len(GO_CODE) :].decode(errors="replace")
        raise TypeError(f"{name!r} is a function or actor of a Go worker program, and this is a Python worker")
    if not blob.startswith(_PATH):
        return large_code.load(blob) if blob.startswith(large_code.PREFIX) else pickling.loads_plain(blob)
    module, _, name = blob[len(_PATH) :].decode().partition(":")
    found: Any = importlib.import_module(module)
    for part in name.split("."):
        found = getattr(found, part)
    # What is decorated with @remote runs as what it decorates.
    return getattr(found, "_decorated", found)


def remember(value: Any, fid: bytes, captured: Captured) -> None:
    """Remembers under which name a function came."""
    _received[id(value)] = (value, fid, captured)


def forget(fid: bytes) -> None:
    """Lets go of a function that came."""
    for key in [key for key, known in _received.items() if known[1] == fid]:
        del _received[key]
