"""``await ref`` and futures: the core signals an event descriptor, to which an event loop or a thread listens."""

from __future__ import annotations

import asyncio
import concurrent.futures
import contextlib
import os
import select
import threading
import weakref
from collections.abc import Callable
from typing import Any

from eagleray._private.hot_error import HotError, explain
from eagleray._private.state import Session, process
from eagleray._private.values.formats import ERRORS
from eagleray._private.values.serialization import unpack

_POLL_MS = 500
#: The function that settles a future: session, reference, future.
Settle = Callable[[Session, Any, Any], None]


class _Waits:
    """The futures that wait in a session. Each thread or loop that empties the core's queue settles all of them."""

    def __init__(self, session: Session) -> None:
        self.session = session
        self.lock = threading.Lock()
        self.next_token = 0
        self.waiting: dict[int, tuple[Any, Any, asyncio.AbstractEventLoop | None, Settle]] = {}
        self.loops: weakref.WeakKeyDictionary[asyncio.AbstractEventLoop, int] = weakref.WeakKeyDictionary()
        self.thread: threading.Thread | None = None
        self.closed = False
        session.on_close.append(self.close)

    def enter(self, ref: Any, future: Any, loop: asyncio.AbstractEventLoop | None, settle: Settle) -> int:
        """Registers ``future`` and returns its token."""
        with self.lock:
            self.next_token += 1
            token = self.next_token
            self.waiting[token] = (ref, future, loop, settle)
        return token

    def add(self, ref: Any, future: Any, loop: asyncio.AbstractEventLoop | None, settle: Settle | None = None) -> int:
        """Sets ``future`` when ``ref`` is ready. Returns the token of the wait."""
        settle = settle or _settle
        token = self.enter(ref, future, loop, settle)
        try:
            ready = self.session.hot.async_watch(ref, token)
        except HotError as error:
            self.waiting.pop(token, None)
            _fail(future, explain(error))
            return token
        if ready:
            if self.waiting.pop(token, None) is not None:
                settle(self.session, ref, future)
            return token
        future.add_done_callback(lambda _: self.waiting.pop(token, None))
        if loop is not None:
            self.listen(loop)
        else:
            self.begin_thread()
        return token

    def begin_thread(self) -> None:
        """Begins the thread that settles what belongs to no event loop."""
        if self.thread is None:
            self.thread = threading.Thread(target=self.run, name="eagleray-futures", daemon=True)
            self.thread.start()

    def forget(self, token: int) -> None:
        """Ends a wait."""
        self.waiting.pop(token, None)

    def listen(self, loop: asyncio.AbstractEventLoop) -> None:
        """Makes an event loop serve the queue. The loop gets a descriptor of its own, which it closes."""
        if loop not in self.loops:
            fd = os.dup(self.session.hot.async_fd())
            self.loops[loop] = fd
            loop.add_reader(fd, self.drain)

    def drain(self) -> None:
        """Settles everything that has become ready."""
        if self.closed:
            return
        for token in self.session.hot.async_drain():
            found = self.waiting.pop(token, None)
            if found is None:
                continue
            ref, future, loop, settle = found
            if loop is None or _running_loop() is loop:
                settle(self.session, ref, future)
            else:
                with contextlib.suppress(RuntimeError):  # that loop was closed
                    loop.call_soon_threadsafe(settle, self.session, ref, future)

    def run(self) -> None:
        """Runs the thread that settles futures outside of event loops."""
        poll = select.poll()
        poll.register(self.session.hot.async_fd(), select.POLLIN)
        while not self.closed:
            poll.poll(_POLL_MS)
            self.drain()

    def close(self) -> None:
        """Lets all futures fail that still wait at the session's end."""
        self.closed = True
        error = ValueError("the session was shut down before the value was there")
        for token in list(self.waiting):
            found = self.waiting.pop(token, None)
            if found is None:
                continue
            _, future, loop, _ = found
            if loop is None or _running_loop() is loop:
                _fail(future, error)
            else:
                with contextlib.suppress(RuntimeError):
                    loop.call_soon_threadsafe(_fail, future, error)
        for loop, fd in list(self.loops.items()):
            if loop.is_closed() or not loop.is_running():
                _unlisten(loop, fd)
            elif _running_loop() is loop:
                _unlisten(loop, fd)
            else:
                with contextlib.suppress(RuntimeError):
                    loop.call_soon_threadsafe(_unlisten, loop, fd)


def _unlisten(loop: asyncio.AbstractEventLoop, fd: int) -> None:
    with contextlib.suppress(Exception):
        loop.remove_reader(fd)
    os.close(fd)


def _running_loop() -> asyncio.AbstractEventLoop | None:
    return asyncio._get_running_loop()


def _settle(session: Session, ref: Any, future: Any) -> None:
    if future.done():
        return
    if isinstance(future, concurrent.futures.Future) and not future.set_running_or_notify_cancel():
        return
    try:
        found = session.hot.get(ref, -1)
        value = unpack(found)
    except HotError as error:
        _fail(future, explain(error))
    except Exception as error:
        _fail(future, error)
    else:
        if found[0] in ERRORS:
            _fail(future, value)
        else:
            future.set_result(value)


def _fail(future: Any, error: BaseException) -> None:
    if not future.done():
        future.set_exception(error)


_waits: _Waits | None = None
_making = threading.Lock()


def _current() -> _Waits:
    global _waits
    session = process.require()
    with _making:
        if _waits is None or _waits.session is not session:
            _waits = _Waits(session)
        return _waits


def loop_future(ref: Any) -> asyncio.Future[Any]:
    """Returns a future of the running event loop, or of the loop that this thread will run.

    Raises:
        RuntimeError: no loop runs, and this thread has none.
    """
    loop = _running_loop() or asyncio.get_event_loop()
    future: asyncio.Future[Any] = loop.create_future()
    _current().add(ref, future, loop)
    return future


def thread_future(ref: Any) -> concurrent.futures.Future[Any]:
    """Returns a future for threads."""
    future: concurrent.futures.Future[Any] = concurrent.futures.Future()
    _current().add(ref, future, None)
    return future


def wait_for(ref: Any, waiting: Any, settle: Settle) -> Callable[[], None]:
    """Has a thread call ``settle`` when a reference is ready. Returns a function that ends the wait.

    Args:
        ref: The reference.
        waiting: What ``settle`` gets; it has the methods of a future that report errors.
        settle: What is called.
    """
    waits = _current()
    token = waits.add(ref, waiting, None, settle)
    return lambda: waits.forget(token)


def wait_without_ref(waiting: Any, settle: Settle) -> tuple[int, Callable[[], None]]:
    """Has a thread call ``settle`` when the core gives a token. Returns the token, and what ends the wait."""
    waits = _current()
    token = waits.enter(None, waiting, None, settle)
    waits.begin_thread()
    return token, lambda: waits.forget(token)


def ready_future(ref: Any) -> asyncio.Future[None]:
    """Returns a future of the running event loop that is done when a reference is ready. The value is not fetched."""
    loop = asyncio.get_running_loop()
    future: asyncio.Future[None] = loop.create_future()
    _current().add(ref, future, loop, _note)
    return future


def room_future(call: int) -> tuple[int, asyncio.Future[None]]:
    """Returns the state of a generator that runs here and, if it is full, a future for the next change of that."""
    loop = asyncio.get_running_loop()
    future: asyncio.Future[None] = loop.create_future()
    waits = _current()
    token = waits.enter(None, future, loop, _note)
    future.add_done_callback(lambda _: waits.waiting.pop(token, None))
    waits.listen(loop)
    return waits.session.hot.feed_watch(call, token), future


def _note(session: Session, ref: Any, future: Any) -> None:
    if not future.done():
        future.set_result(None)
