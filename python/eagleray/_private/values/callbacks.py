"""Callbacks on references: a thread calls them when a value is there, or when nobody holds an object any more."""

from __future__ import annotations

import queue
import sys
import threading
import traceback
from collections.abc import Callable
from typing import Any

from eagleray._private.hot_error import HotError, explain
from eagleray._private.state import Session
from eagleray._private.values import asynchronous
from eagleray._private.values.formats import ERRORS
from eagleray._private.values.serialization import unpack
from eagleray.exceptions import RaySystemError

_calls: queue.SimpleQueue[Callable[[], None]] = queue.SimpleQueue()
_beginning = threading.Lock()
_thread: threading.Thread | None = None


class _Waiting:
    """Waits for a reference in a session, as a future does.

    Args:
        callback: What is called at the end.
        fetches: Whether it gets the value. Otherwise it gets the error because of which there is none, or None.
    """

    def __init__(self, callback: Callable[[Any], None], fetches: bool) -> None:
        self.callback = callback
        self.fetches = fetches
        self.ended = False

    def done(self) -> bool:
        return self.ended

    def add_done_callback(self, function: Callable[[Any], None]) -> None:
        """Needed by futures only: the session lets go of this when it is settled or cancelled."""

    def set_exception(self, error: BaseException) -> None:
        self.ended = True
        _calls.put(lambda: self.callback(error))


def _settle(session: Session, ref: Any, waiting: _Waiting) -> None:
    if waiting.ended:
        return
    waiting.ended = True
    callback = waiting.callback
    if waiting.fetches:
        _calls.put(lambda: callback(_value(session, ref)))
    else:
        _calls.put(lambda: callback(None))


def _value(session: Session, ref: Any) -> Any:
    """The value of a reference, or the exception that ``get`` would raise."""
    try:
        found = session.hot.get(ref, -1)
        value = unpack(found)
    except HotError as error:
        return explain(error)
    except Exception as error:
        return error
    return value if found[0] not in ERRORS else getattr(value, "_task_error", value)


def _run() -> None:
    while True:
        call = _calls.get()
        try:
            call()
        except BaseException:
            print("A callback of an ObjectRef raised an exception:", file=sys.stderr)
            traceback.print_exc()
        del call


def _begin() -> None:
    """Begins the thread that calls. It is a thread of its own: a callback may wait for other values."""
    global _thread
    with _beginning:
        if _thread is None or not _thread.is_alive():
            _thread = threading.Thread(target=_run, name="eagleray-callbacks", daemon=True)
            _thread.start()


def _check(callback: object, name: str) -> None:
    if not callable(callback):
        raise TypeError(f"{name}() takes a function, got {type(callback).__name__}: {callback!r}")


def on_completed(ref: Any, callback: Callable[[Any], None]) -> None:
    """Has ``callback`` called with the value of a reference when it is there, or with the exception of its task."""
    _check(callback, "_on_completed")
    _begin()
    asynchronous.wait_for(ref, _Waiting(callback, fetches=True), _settle)


def on_ready(ref: Any, callback: Callable[[BaseException | None], None]) -> Callable[[], None]:
    """Has ``callback`` called with None when the value of a reference is there, without fetching it.

    Returns:
        A function that ends the wait: the callback gets a RaySystemError, unless it was called already.
    """
    _check(callback, "_on_ready")
    _begin()
    waiting = _Waiting(callback, fetches=False)
    forget = asynchronous.wait_for(ref, waiting, _settle)

    def cancel() -> None:
        forget()
        if not waiting.ended:
            waiting.set_exception(RaySystemError(f"the wait for {ref!r} was cancelled"))

    return cancel


def on_gone(ref: Any, callback: Callable[[bytes], None], register: Callable[[int], bool]) -> bool:
    """Has ``callback`` called with the id of an object when no process holds a reference to it any more.

    Args:
        ref: A reference to the object.
        callback: What is called.
        register: Asks the core for a token when that is so. It returns whether this process owns the object.

    Returns:
        What ``register`` returns; the callback is not called if that is False.
    """
    _check(callback, "add_object_out_of_scope_callback")
    _begin()
    id_bytes = ref.binary()

    def call(session: Session, ref: Any, waiting: Any) -> None:
        _calls.put(lambda: callback(id_bytes))

    token, forget = asynchronous.wait_without_ref(_Waiting(callback, fetches=False), call)
    owned = False
    try:
        owned = register(token)
    finally:
        if not owned:
            forget()
    return owned
