"""Frees the memory of a session's store in the background: the system needs about 0.2 s for one GiB.

The process that closes the last descriptor of a shared memory waits for that. So this process keeps a descriptor until
the daemon has ended, and a thread closes it: neither the daemon's end nor the program waits.
"""

from __future__ import annotations

import functools
import os
import threading

#: The largest memory, in bytes, that is freed without a thread, since that is quick.
_AT_ONCE = 16 << 20

_held: set[int] = set()
_closing: threading.Thread | None = None


def hold(descriptor: int) -> None:
    """Keeps a descriptor of the store's memory. A child that user code forks does not keep it."""
    _register()
    _held.add(descriptor)


@functools.cache
def _register() -> None:
    os.register_at_fork(after_in_child=_forget)


def _forget() -> None:
    while _held:
        os.close(_held.pop())


def let_go(descriptor: int) -> None:
    """Closes the last descriptor of a store. A large store is still being freed after the return."""
    global _closing
    _held.discard(descriptor)
    if os.fstat(descriptor).st_blocks * 512 <= _AT_ONCE:
        os.close(descriptor)
        return
    thread = threading.Thread(target=os.close, args=(descriptor,), name="eagleray-closes-store", daemon=True)
    try:
        thread.start()
    except RuntimeError:  # the system can start no more threads
        os.close(descriptor)
    else:
        _closing = thread


def await_freed() -> None:
    """Waits until the last session's memory is freed, since the sizes of the next session depend on the free memory."""
    global _closing
    thread = _closing
    if thread is not None:
        thread.join()
        _closing = None
