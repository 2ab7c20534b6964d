"""The selector of an actor's event loop: it waits in the core, for calls and for the loop's own descriptors.

asyncio waits in its selector. With this selector the waiting thread reads the task sockets itself, as the threads of
other workers do, so no second thread hands calls over. The core watches the loop's own descriptors as one descriptor.
"""

from __future__ import annotations

import asyncio
import math
import selectors
from collections.abc import Callable, Sequence
from typing import Any

from eagleray._private.worker import heap

#: Calls that are begun together, before the loop looks at its other descriptors.
_MOST = 64


class CallSelector(selectors.EpollSelector):
    """An epoll selector that also takes calls.

    Args:
        hot: The core.
        idle_ms: Milliseconds without anything to do after which memory is given back, -1 for never.
    """

    def __init__(self, hot: Any, idle_ms: int) -> None:
        super().__init__()
        self._take = hot.loop_take
        self._idle_ms = self._rest_after = idle_ms
        self._begin: Callable[[Sequence[Any]], None] | None = None
        self._look = super().select
        self.room = 0
        hot.loop_start(self.fileno())

    def serve(self, begin: Callable[[Sequence[Any]], None], room: int) -> None:
        """From now on ``begin`` is called with calls, ``room`` of them at first; it and others change ``room``."""
        self._begin = begin
        self.room = room

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        """The loop's descriptors that have something; calls that have come are begun."""
        if timeout is None:
            wait = self._rest_after
        elif timeout <= 0:
            wait = 0
        else:
            wait = math.ceil(timeout * 1000)
        room = self.room
        calls, ready = self._take(room if room < _MOST else _MOST, wait)
        if calls is not None:
            self._rest_after = self._idle_ms
            assert self._begin is not None
            self._begin(calls)
        elif ready:
            self._rest_after = self._idle_ms
        elif timeout is None and wait >= 0:
            self._rest_after = heap.release(wait)
        return self._look(0) if ready else []


def new_loop(hot: Any, idle_ms: int) -> tuple[asyncio.AbstractEventLoop, CallSelector | None]:
    """An event loop that takes calls itself; one of the user's own kind with None, where a policy is set."""
    loop = asyncio.new_event_loop()
    if type(loop) is not asyncio.SelectorEventLoop:
        return loop, None
    loop.close()
    selector = CallSelector(hot, idle_ms)
    return asyncio.SelectorEventLoop(selector), selector
