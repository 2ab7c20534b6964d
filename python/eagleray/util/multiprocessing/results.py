"""Results of a pool's calls, and the thread that runs their callbacks."""

from __future__ import annotations

import queue
import sys
import threading
import time
from collections.abc import Callable, Sequence
from multiprocessing import TimeoutError
from typing import Any

from eagleray._private.session import api
from eagleray.exceptions import RayError

Outcome = tuple[list[Any], Exception | None]


def outcome_of(batch: Any) -> Outcome:
    """The values of a chunk, and the first exception among them if there is one."""
    if type(batch) is list:
        return batch, None
    values, failures = batch
    return values, failures[min(failures)].error()


class AsyncResult:
    """What an asynchronous call of a pool will give. Pools make these objects.

    Args:
        refs: References to the results of the chunks, in order.
        single: Whether the result is the one value of one chunk.
        callbacks: The pool's thread for callbacks.
        callback: Is called with the result when all calls have succeeded.
        error_callback: Is called once, with the first exception that comes.
    """

    def __init__(
        self,
        refs: Sequence[Any],
        single: bool,
        callbacks: Callbacks,
        callback: Callable[[Any], object] | None = None,
        error_callback: Callable[[Exception], object] | None = None,
    ) -> None:
        for name, function in (("callback", callback), ("error_callback", error_callback)):
            if function is not None and not callable(function):
                raise TypeError(f"{name} must be a function or None, got {type(function).__name__}: {function!r}")
        self._refs = list(refs)
        self._single = single
        self._lock = threading.Lock()
        self._outcome: tuple[Any, Exception | None] | None = None
        #: Is set when the callbacks have run; None without callbacks.
        self._called: threading.Event | None = None
        if callback is not None or error_callback is not None:
            self._called = threading.Event()
            callbacks.watch(self, self._refs, callback, error_callback)

    def get(self, timeout: float | None = None) -> Any:
        """Waits for the result and returns it.

        Args:
            timeout: Seconds to wait at most.

        Raises:
            TimeoutError: the result was not there in time; this is ``multiprocessing.TimeoutError``.
            Exception: a call has raised it, as its own class. The first one in the order of the arguments counts.
        """
        self.wait(timeout)
        if not self.ready():
            raise TimeoutError
        value, error = self._settled()
        if error is not None:
            try:
                raise error
            finally:
                error = None  # the exception refers to this frame: a cycle
        return value

    def wait(self, timeout: float | None = None) -> None:
        """Waits until the result is there.

        Args:
            timeout: Seconds to wait at most.
        """
        end = None if timeout is None else time.monotonic() + max(0.0, timeout)
        if self._outcome is None and self._refs:
            api.wait(self._refs, num_returns=len(self._refs), timeout=None if timeout is None else max(0.0, timeout))
        if self._called is not None:
            self._called.wait(None if end is None else max(0.0, end - time.monotonic()))

    def ready(self) -> bool:
        """Returns whether the result is there, and its callback has run."""
        if self._called is not None and not self._called.is_set():
            return False
        if self._outcome is not None or not self._refs:
            return True
        return not api.wait(self._refs, num_returns=len(self._refs), timeout=0)[1]

    def successful(self) -> bool:
        """Returns whether no call has raised an exception.

        Raises:
            ValueError: the result is not there yet.
        """
        if not self.ready():
            raise ValueError(f"{self!r} not ready")
        return self._settled()[1] is None

    def _settled(self) -> tuple[Any, Exception | None]:
        with self._lock:
            if self._outcome is None:
                values, error = _collect(self._refs)
                self._outcome = (values[0] if self._single and values else values, error)
                self._refs = []
            return self._outcome


def _collect(refs: list[Any]) -> Outcome:
    """The values of all chunks, and the first exception in their order."""
    values: list[Any] = []
    for ref in refs:
        try:
            found, error = outcome_of(api.get(ref))
        except RayError as problem:
            return [], problem
        if error is not None:
            return [], error
        values += found
    return values, None


class Callbacks:
    """Runs the callbacks of a pool one after the other, on a thread that runs as long as results are awaited."""

    def __init__(self) -> None:
        self._changed = threading.Condition()
        #: Results whose callbacks have not run, and whether the thread runs.
        self._awaited = 0
        self._running = False
        self._ready: queue.SimpleQueue[Callable[[], bool]] = queue.SimpleQueue()

    def watch(
        self,
        result: AsyncResult,
        refs: Sequence[Any],
        callback: Callable[[Any], object] | None,
        error_callback: Callable[[Exception], object] | None,
    ) -> None:
        """Calls the functions when the chunks of a result come."""
        assert result._called is not None
        watched = _Watched(result, len(refs), callback, error_callback)
        with self._changed:
            self._awaited += 1
            if not self._running:
                self._running = True
                threading.Thread(target=self._run, name="eagleray-pool-callbacks", daemon=True).start()
        if not refs:
            self._ready.put(watched.end)
        for ref in refs:
            ref.future().add_done_callback(lambda done: self._ready.put(lambda: watched.take(done)))

    def _run(self) -> None:
        while True:
            over = self._ready.get()()
            with self._changed:
                self._awaited -= over
                if self._awaited == 0:
                    self._running = False
                    self._changed.notify_all()
                    return

    def join(self) -> None:
        """Waits until all callbacks have run."""
        with self._changed:
            self._changed.wait_for(lambda: self._awaited == 0)


class _Watched:
    """A result with callbacks. All methods run on the thread for callbacks."""

    def __init__(
        self,
        result: AsyncResult,
        left: int,
        callback: Callable[[Any], object] | None,
        error_callback: Callable[[Exception], object] | None,
    ) -> None:
        self.result = result
        self.left = left
        self.callback = callback
        self.error_callback = error_callback
        self.failed = False

    def take(self, done: Any) -> bool:
        """Takes one chunk; returns whether it was the last one."""
        self.left -= 1
        error = done.exception()
        if error is None:
            error = outcome_of(done.result())[1]
        if error is not None and not self.failed:
            self.failed = True
            _call(self.error_callback, error)
        return self.left == 0 and self.end()

    def end(self) -> bool:
        """Calls the callback when all has succeeded."""
        if not self.failed:
            _call(self.callback, self.result._settled()[0])
        called = self.result._called
        assert called is not None
        called.set()
        return True


def _call(function: Callable[[Any], object] | None, value: Any) -> None:
    """Calls a callback of the user. What it raises is shown as that of a thread, and the next callbacks still run."""
    if function is None:
        return
    try:
        function(value)
    except BaseException as error:
        threading.excepthook(
            threading.ExceptHookArgs((type(error), error, error.__traceback__, threading.current_thread()))
        )
        sys.stderr.flush()
