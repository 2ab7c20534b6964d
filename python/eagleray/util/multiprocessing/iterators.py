"""The iterators of ``Pool.imap`` and ``Pool.imap_unordered``."""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from itertools import islice
from multiprocessing import TimeoutError
from typing import Any

from eagleray._private.session import api
from eagleray.exceptions import RayError
from eagleray.util.multiprocessing.worker import Failure

#: Sends a chunk to a worker and returns the reference to its results.
Send = Callable[[list[Any]], Any]
Step = tuple[Any, Exception | None]


class IMapIterator:
    """Sends a chunk for each worker, and one more for each that has come back. Pools make these objects.

    Args:
        send: Sends one chunk.
        iterable: The arguments.
        chunksize: Arguments in a chunk.
        width: Chunks under way at once.
    """

    def __init__(self, send: Send, iterable: Iterable[Any], chunksize: int, width: int) -> None:
        self._send = send
        self._source: Iterator[Any] | None = iter(iterable)
        self._chunksize = chunksize
        self._sent = 0
        #: References under way → their chunks' numbers.
        self._running: dict[Any, int] = {}
        self._done: deque[Step] = deque()
        self._lock = threading.RLock()
        for _ in range(width):
            self._send_next()

    def __iter__(self) -> IMapIterator:
        return self

    def __next__(self) -> Any:
        return self.next()

    def next(self, timeout: float | None = None) -> Any:
        """Returns the next result.

        Args:
            timeout: Seconds to wait at most.

        Raises:
            StopIteration: there are no more results.
            TimeoutError: the result was not there in time; this is ``multiprocessing.TimeoutError``.
            Exception: the call has raised it, as its own class. The results after it can still be taken.
        """
        end = None if timeout is None else time.monotonic() + timeout
        with self._lock:
            while not self._done:
                if not self._running:
                    raise StopIteration
                left = None if end is None else max(0.0, end - time.monotonic())
                ready, _ = api.wait(list(self._running), num_returns=1, timeout=left)
                if not ready:
                    raise TimeoutError
                self._take(ready[0])
            value, error = self._done.popleft()
        if error is not None:
            try:
                raise error
            finally:
                error = None  # the exception refers to this frame: a cycle
        return value

    def send_all(self) -> None:
        """Sends all chunks that are left, before the pool closes."""
        with self._lock:
            while self._source is not None:
                self._send_next()

    def drop(self) -> None:
        """Sends no more chunks, as the pool was terminated."""
        self._source = None

    def _send_next(self) -> None:
        if self._source is None:
            return
        try:
            chunk = list(islice(self._source, self._chunksize))
        except Exception as error:  # of the user's iterator: it comes after the results before it
            self._source = None
            self._finish(self._sent, [(None, error)])
            self._sent += 1
            return
        if len(chunk) < self._chunksize:
            self._source = None
        if chunk:
            self._running[self._send(chunk)] = self._sent
            self._sent += 1

    def _take(self, ref: Any) -> None:
        number = self._running.pop(ref)
        self._send_next()
        try:
            batch = api.get(ref)
        except RayError as problem:
            steps: list[Step] = [(None, problem)]
        else:
            steps = _steps(batch)
        self._finish(number, steps)

    def _finish(self, number: int, steps: list[Step]) -> None:
        raise NotImplementedError


def _steps(batch: Any) -> list[Step]:
    if type(batch) is list:
        return [(value, None) for value in batch]
    values, failures = batch
    found: dict[int, Failure] = failures
    return [(value, found[at].error() if at in found else None) for at, value in enumerate(values)]


class OrderedIMapIterator(IMapIterator):
    """Gives the results in the order of the arguments."""

    def __init__(self, send: Send, iterable: Iterable[Any], chunksize: int, width: int) -> None:
        self._next = 0
        self._early: dict[int, list[Step]] = {}
        super().__init__(send, iterable, chunksize, width)

    def _finish(self, number: int, steps: list[Step]) -> None:
        self._early[number] = steps
        while self._next in self._early:
            self._done.extend(self._early.pop(self._next))
            self._next += 1


class UnorderedIMapIterator(IMapIterator):
    """Gives the results in the order in which chunks end."""

    def _finish(self, number: int, steps: list[Step]) -> None:
        self._done.extend(steps)
