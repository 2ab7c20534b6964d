"""When calls of an exclusive actor begin that its process has taken."""

from __future__ import annotations

import asyncio
import time
from collections import deque
from collections.abc import Callable
from typing import Any

#: Seconds between two looks.
_LOOK = 0.02


def awaits_turn(hot: Any) -> Callable[[], None]:
    """What a thread calls when the arguments of its call are there: it returns when the call may begin.

    The core has looked before it gave the call to the thread, but arguments can take long to unpickle.

    Args:
        hot: The core.
    """
    may_begin = hot.may_begin

    def wait() -> None:
        while not may_begin():
            time.sleep(_LOOK)

    return wait


class Turns:
    """Lets calls that the event loop has taken begin in order, and only while the cluster counts on this node.

    The loop takes many calls at once, and one of them can keep it busy for long. So each call looks when it begins.

    Args:
        hot: The core.
    """

    def __init__(self, hot: Any) -> None:
        self._may_begin = hot.may_begin
        self._line: deque[asyncio.Future[None]] = deque()  # those that wait; the first one looks

    async def take(self) -> None:
        """Returns when the calling coroutine may begin."""
        line = self._line
        if not line and self._may_begin():
            return
        mine: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        line.append(mine)
        try:
            if line[0] is not mine:
                await mine
            while not self._may_begin():
                await asyncio.sleep(_LOOK)
        finally:
            first = line[0] is mine
            line.remove(mine)
            if first and line and not line[0].done():
                line[0].set_result(None)
