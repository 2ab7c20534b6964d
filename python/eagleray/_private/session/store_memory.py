"""The end of the memory of a session's store: the system needs about 0.2 s to take back one GiB.

Whoever closes a shared memory's last descriptor waits for that. So this process keeps one until the daemon has
ended, and a thread of its own closes it: neither the daemon's end nor the program waits.
"""

from __future__ import annotations

import functools
import os
import threading

#: Bytes that are given back so soon that no thread is worth it.
_AT_ONCE = 16 << 20

_held: set[int] = set()
_closing: threading.Thread | None = None


def hold(descriptor: int) -> None:
    """Keeps the store's memory; a child that user code forks does not."""
    _register()
    _held.add(descriptor)


@functools.cache
def _register() -> None:
    os.register_at_fork(after_in_child=_forget)


def _forget() -> None:
    while _held:
        os.close(_held.pop())


def let_go(descriptor: int) -> None:
    """Closes the last descriptor of a store. When it holds much, that goes on after the return."""
    global _closing
    _held.discard(descriptor)
    if os.fstat(descriptor).st_blocks * 512 <= _AT_ONCE:
        os.close(descriptor)
        return
    thread = threading.Thread(target=os.close, args=(descriptor,), name="eagleray-closes-store", daemon=True)
    try:
        thread.start()
    except RuntimeError:  # the system has no more threads
        os.close(descriptor)
    else:
        _closing = thread


def await_freed() -> None:
    """Waits until the system has the memory of the last session: the next one's sizes follow from what is free."""
    global _closing
    thread = _closing
    if thread is not None:
        thread.join()
        _closing = None
