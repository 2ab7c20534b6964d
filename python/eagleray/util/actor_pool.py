"""A pool of actors that work off a stream of values."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from typing import Any, TypeVar

import eagleray
from eagleray.actor import ActorHandle

V = TypeVar("V")
_Call = Callable[[ActorHandle[Any], V], Any]


class ActorPool:
    """Gives each value to an actor that is free.

    Args:
        actors: Handles of actors of one kind.
    """

    def __init__(self, actors: Iterable[ActorHandle[Any]]) -> None:
        self._idle: deque[ActorHandle[Any]] = deque(actors)
        self._running: dict[Any, tuple[int, ActorHandle[Any]]] = {}  # reference → its place in the order, its actor
        self._by_place: dict[int, Any] = {}
        self._waiting: deque[tuple[_Call[Any], Any]] = deque()
        self._submitted = 0
        self._next = 0

    def submit(self, fn: _Call[V], value: V) -> None:
        """Has ``fn(actor, value)`` called with the next free actor; it returns a reference."""
        if not self._idle:
            self._waiting.append((fn, value))
            return
        actor = self._idle.popleft()
        ref = fn(actor, value)
        self._running[ref] = (self._submitted, actor)
        self._by_place[self._submitted] = ref
        self._submitted += 1

    def map(self, fn: _Call[V], values: Iterable[V]) -> Iterator[Any]:
        """The results for ``values``, in their order."""
        self._drop_finished()
        for value in values:
            self.submit(fn, value)
        return self._results(self.get_next)

    def map_unordered(self, fn: _Call[V], values: Iterable[V]) -> Iterator[Any]:
        """The results for ``values``, as they come."""
        self._drop_finished()
        for value in values:
            self.submit(fn, value)
        return self._results(self.get_next_unordered)

    def _drop_finished(self) -> None:
        # Results of earlier calls that nobody took are not among those of this one.
        while self.has_next():
            try:
                self.get_next_unordered(timeout=0)
            except TimeoutError:
                break

    def _results(self, take: Callable[[], Any]) -> Iterator[Any]:
        while self.has_next():
            yield take()

    def has_next(self) -> bool:
        """Whether there are results to come."""
        return bool(self._running)

    def get_next(self, timeout: float | None = None, ignore_if_timedout: bool = False) -> Any:
        """The next result in the order of submission.

        Raises:
            StopIteration: there are no more.
            TimeoutError: it was not there in time.
        """
        if not self.has_next():
            raise StopIteration("No more results to get")
        while self._next not in self._by_place:  # taken by get_next_unordered
            self._next += 1
        ref = self._by_place[self._next]
        if timeout is not None and not eagleray.wait([ref], timeout=timeout)[0]:
            if not ignore_if_timedout:
                raise TimeoutError("Timed out waiting for result")
            return None
        self._next += 1
        return self._take(ref)

    def get_next_unordered(self, timeout: float | None = None, ignore_if_timedout: bool = False) -> Any:
        """Whatever result comes next.

        Raises:
            StopIteration: there are no more.
            TimeoutError: none was there in time.
        """
        if not self.has_next():
            raise StopIteration("No more results to get")
        ready, _ = eagleray.wait(list(self._running), num_returns=1, timeout=timeout)
        if not ready:
            if not ignore_if_timedout:
                raise TimeoutError("Timed out waiting for result")
            return None
        return self._take(ready[0])

    def _take(self, ref: Any) -> Any:
        place, actor = self._running.pop(ref)
        del self._by_place[place]
        self._return_actor(actor)
        return eagleray.get(ref)

    def _return_actor(self, actor: ActorHandle[Any], is_alive: bool = True) -> None:
        if is_alive:
            self._idle.append(actor)
        if self._waiting and self._idle:
            self.submit(*self._waiting.popleft())

    def has_free(self) -> bool:
        """Whether an actor is free and nothing waits for one."""
        return bool(self._idle) and not self._waiting

    def pop_idle(self) -> ActorHandle[Any] | None:
        """Takes a free actor out of the pool."""
        return self._idle.popleft() if self.has_free() else None

    def push(self, actor: ActorHandle[Any]) -> None:
        """Adds an actor.

        Raises:
            ValueError: it is in the pool already.
        """
        if actor in self._idle or any(actor == busy for _, busy in self._running.values()):
            raise ValueError("Actor already belongs to current ActorPool")
        self._return_actor(actor)
