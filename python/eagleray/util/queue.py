"""A queue between processes: an actor that holds the items."""

from __future__ import annotations

import asyncio
import queue
from collections.abc import Iterable
from typing import Any

from eagleray._private.session import api
from eagleray._private.session.decorator import remote
from eagleray.exceptions import ActorDiedError


class Empty(queue.Empty):
    """Nothing came in time."""


class Full(queue.Full):
    """No room came in time."""


class _QueueActor:
    def __init__(self, maxsize: int) -> None:
        self.maxsize = maxsize
        self.items: asyncio.Queue[Any] = asyncio.Queue(maxsize)

    async def qsize(self) -> int:
        return self.items.qsize()

    async def put(self, item: Any, timeout: float | None) -> bool:
        if timeout == 0:  # wait_for with 0 gives up before it begins
            return await self.put_all([item])
        try:
            await asyncio.wait_for(self.items.put(item), timeout)
        except asyncio.TimeoutError:
            return False
        return True

    async def get(self, timeout: float | None) -> tuple[bool, Any]:
        if timeout == 0:
            found = await self.get_all(1)
            return (False, None) if found is None else (True, found[0])
        try:
            return True, await asyncio.wait_for(self.items.get(), timeout)
        except asyncio.TimeoutError:
            return False, None

    async def put_all(self, items: list[Any]) -> bool:
        if self.maxsize > 0 and self.items.qsize() + len(items) > self.maxsize:
            return False
        for item in items:
            self.items.put_nowait(item)
        return True

    async def get_all(self, count: int) -> list[Any] | None:
        if self.items.qsize() < count:
            return None
        return [self.items.get_nowait() for _ in range(count)]


class Queue:
    """A first-in, first-out queue for any number of tasks and actors at both ends.

    Args:
        maxsize: How many items the queue can hold; 0 means no limit.
        actor_options: Options of the actor that holds the items.
    """

    def __init__(self, maxsize: int = 0, actor_options: dict[str, Any] | None = None) -> None:
        self.maxsize = maxsize
        options = {"num_cpus": 0, **(actor_options or {})}
        #: The actor that holds the items; None after ``shutdown``.
        self.actor: Any = remote(_QueueActor).options(**options).remote(maxsize)

    def _holder(self) -> Any:
        if self.actor is None:
            raise ActorDiedError("this queue was shut down and its items are lost: make a new Queue")
        return self.actor

    def __len__(self) -> int:
        return self.qsize()

    def size(self) -> int:
        """How many items are in it."""
        return self.qsize()

    def qsize(self) -> int:
        """How many items are in it."""
        found: int = api.get(self._holder().qsize.remote())
        return found

    def empty(self) -> bool:
        """Whether nothing is in it."""
        return self.qsize() == 0

    def full(self) -> bool:
        """Whether it has no room."""
        return self.maxsize > 0 and self.qsize() >= self.maxsize

    def put(self, item: Any, block: bool = True, timeout: float | None = None) -> None:
        """Adds an item, waiting for room.

        Raises:
            Full: there was no room in time.
        """
        if not api.get(self._holder().put.remote(item, _patience(block, timeout))):
            raise Full

    async def put_async(self, item: Any, block: bool = True, timeout: float | None = None) -> None:
        """``put`` for event loops."""
        if not await self._holder().put.remote(item, _patience(block, timeout)):
            raise Full

    def get(self, block: bool = True, timeout: float | None = None) -> Any:
        """Takes the first item, waiting for one.

        Raises:
            Empty: no item came in time.
        """
        found, item = api.get(self._holder().get.remote(_patience(block, timeout)))
        if not found:
            raise Empty
        return item

    async def get_async(self, block: bool = True, timeout: float | None = None) -> Any:
        """``get`` for event loops."""
        found, item = await self._holder().get.remote(_patience(block, timeout))
        if not found:
            raise Empty
        return item

    def put_nowait(self, item: Any) -> None:
        """Adds an item if there is room."""
        self.put(item, block=False)

    def get_nowait(self) -> Any:
        """Takes an item if there is one."""
        return self.get(block=False)

    def put_nowait_batch(self, items: Iterable[Any]) -> None:
        """Adds all items, or none.

        Raises:
            Full: there is not enough room for all items.
        """
        if not isinstance(items, Iterable):
            raise TypeError(f"'items' must be an iterable, got {type(items).__name__}: {items!r}")
        batch = list(items)
        if not api.get(self._holder().put_all.remote(batch)):
            raise Full(f"Cannot add {len(batch)} items to queue of size {self.qsize()} and maxsize {self.maxsize}.")

    def get_nowait_batch(self, num_items: int) -> list[Any]:
        """Takes that many items, or none.

        Raises:
            Empty: the queue has fewer items.
        """
        if not isinstance(num_items, int):
            raise TypeError(f"'num_items' must be a nonnegative integer, got {type(num_items).__name__}: {num_items!r}")
        if num_items < 0:
            raise ValueError(f"'num_items' must be a nonnegative integer, got {num_items!r}")
        found: list[Any] | None = api.get(self._holder().get_all.remote(num_items))
        if found is None:
            raise Empty(f"Cannot get {num_items} items from queue of size {self.qsize()}.")
        return found

    def shutdown(self, force: bool = False, grace_period_s: int = 5) -> None:
        """Ends the queue's actor. The items in the queue are lost.

        Args:
            force: Whether to end the actor at once.
            grace_period_s: Without force, how long running calls may take.
        """
        actor, self.actor = self.actor, None
        if actor is None:
            return
        if not force:
            ref = actor.__ray_terminate__.remote()
            if api.wait([ref], timeout=grace_period_s)[0]:
                return
        api.kill(actor)


def _patience(block: bool, timeout: float | None) -> float | None:
    if not block:
        return 0.0
    if timeout is not None and timeout < 0:
        raise ValueError("'timeout' must be a non-negative number")
    return timeout
