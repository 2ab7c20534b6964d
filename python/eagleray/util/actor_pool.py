"""A pool of actors that work off a stream of values."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from typing import Any, TypeVar

from eagleray._private.session import api
from eagleray.actor import ActorHandle
from eagleray.exceptions import ActorDiedError

V = TypeVar("V")
_Call = Callable[[ActorHandle[Any], V], Any]


class ActorPool:
    """Gives each value to an actor that is free.

    Args:
        actors: Handles of actors of one kind.
    """

    def __init__(self, actors: Iterable[ActorHandle[Any]]) -> None:
        self._idle: list[ActorHandle[Any]] = list(actors)
        #: The number of each call whose result was not taken → what the call returned, and its actor.
        self._running: dict[int, tuple[Any, ActorHandle[Any]]] = {}
        self._pending_submits: deque[tuple[_Call[Any], Any]] = deque()
        self._submitted = 0

    def submit(self, fn: _Call[V], value: V) -> None:
        """Calls ``fn(actor, value)`` with the next free actor.

        ``fn`` returns a reference; a list of references is one result, a list of values.
        """
        if not self._idle:
            self._pending_submits.append((fn, value))
            return
        actor = self._idle.pop()
        try:
            found = fn(actor, value)
        except BaseException:
            self._idle.append(actor)
            raise
        self._running[self._submitted] = (found, actor)
        self._submitted += 1

    def map(self, fn: _Call[V], values: Iterable[V]) -> Iterator[Any]:
        """Yields the results for ``values``, in their order. Results of earlier calls that nobody took are dropped."""
        return self._map(fn, values, self.get_next)

    def map_unordered(self, fn: _Call[V], values: Iterable[V]) -> Iterator[Any]:
        """Yields the results for ``values``, as they come. Results of earlier calls that nobody took are dropped."""
        return self._map(fn, values, self.get_next_unordered)

    def _map(self, fn: _Call[V], values: Iterable[V], take: Callable[[], Any]) -> Iterator[Any]:
        # A call that runs goes on; its actor does what is given to it now after that.
        while self._running:
            self._end(next(iter(self._running)))
        for value in values:
            self.submit(fn, value)
        return self._results(take)

    def _results(self, take: Callable[[], Any]) -> Iterator[Any]:
        while self.has_next():
            yield take()

    def has_next(self) -> bool:
        """Whether there are results to come."""
        return bool(self._running)

    def get_next(self, timeout: float | None = None, ignore_if_timedout: bool = False) -> Any:
        """Returns the next result in the order of submission.

        Args:
            timeout: Seconds to wait at most.
            ignore_if_timedout: Whether a result that is not ready in time is dropped, so that the next call of this
                method waits for the result after it.

        Raises:
            StopIteration: there are no more results.
            TimeoutError: the result was not ready in time.
        """
        if not self.has_next():
            raise StopIteration("No more results to get")
        number = next(iter(self._running))
        if timeout is not None and self._first_ready([number], timeout) is None:
            self._late(number, ignore_if_timedout)
        return self._take(number)

    def get_next_unordered(self, timeout: float | None = None, ignore_if_timedout: bool = False) -> Any:
        """Returns the result that is ready first.

        Args:
            timeout: Seconds to wait at most.
            ignore_if_timedout: Whether the oldest result is dropped when no result is ready in time.

        Raises:
            StopIteration: there are no more results.
            TimeoutError: no result was ready in time.
        """
        if not self.has_next():
            raise StopIteration("No more results to get")
        number = self._first_ready(list(self._running), timeout)
        if number is None:
            number = next(iter(self._running))
            self._late(number, ignore_if_timedout)
        return self._take(number)

    def _late(self, number: int, ignore: bool) -> None:
        text = "Timed out waiting for result"
        if ignore:
            found, _ = self._running[number]
            self._end(number)
            text += f"; {found!r} is dropped"
        raise TimeoutError(text)

    def _first_ready(self, numbers: list[int], timeout: float | None) -> int | None:
        """The call among these whose results are all there first, None when none was in time."""
        deadline = None if timeout is None else time.monotonic() + timeout
        left = {number: _references(self._running[number][0]) for number in numbers}
        while True:
            for number, refs in left.items():
                if not refs:
                    return number
            heads = {refs[-1]: number for number, refs in left.items()}
            patience = None if deadline is None else max(0.0, deadline - time.monotonic())
            ready, _ = api.wait(list(heads), num_returns=1, timeout=patience)
            if not ready:
                return None
            left[heads[ready[0]]].pop()

    def _take(self, number: int) -> Any:
        found, _ = self._running[number]
        alive = True
        try:
            return api.get(found)
        except ActorDiedError:
            alive = False
            raise
        finally:
            self._end(number, alive)

    def _end(self, number: int, is_alive: bool = True) -> None:
        _, actor = self._running.pop(number)
        self._return_actor(actor, is_alive)

    def _return_actor(self, actor: ActorHandle[Any], is_alive: bool = True) -> None:
        if is_alive:  # a dead one would be given every value, and fail it
            self._idle.append(actor)
        if self._pending_submits and self._idle:
            self.submit(*self._pending_submits.popleft())

    def has_free(self) -> bool:
        """Whether an actor is free and nothing waits for one."""
        return bool(self._idle) and not self._pending_submits

    def pop_idle(self) -> ActorHandle[Any] | None:
        """Takes a free actor out of the pool, None if there is none."""
        return self._idle.pop() if self.has_free() else None

    def push(self, actor: ActorHandle[Any]) -> None:
        """Adds an actor.

        Raises:
            ValueError: the actor is in the pool already.
        """
        if actor in self._idle or any(actor == busy for _, busy in self._running.values()):
            raise ValueError("Actor already belongs to current ActorPool")
        self._return_actor(actor)


def _references(found: Any) -> list[Any]:
    """The references that one call has returned, the first one last."""
    return list(reversed(found)) if isinstance(found, (list, tuple)) else [found]
