"""The call runner: what a worker does with a call, whether it is a task or a method of an actor."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any, ClassVar, NamedTuple, NoReturn

from eagleray._private.calls.arguments import decode_args
from eagleray._private.calls.retrying import may_retry
from eagleray._private.context import here
from eagleray._private.values.formats import NONE_RESULT, Encoded
from eagleray._private.worker import heap, output
from eagleray._private.worker.cancel import cancellation, raise_if_cancelled
from eagleray._private.worker.interruption import raised_error
from eagleray._private.worker.results import APP_ERROR, CANCELLED, EXITING, NO_RETRY, encode_results, error_results
from eagleray._private.worker.results import producer as producer_of

_early = cancellation.early

#: The exceptions that a call is retried on, None for all of them.
RetryOn = tuple[type[BaseException], ...] | None


class Ending(NamedTuple):
    """How a call ends its process.

    Attributes:
        reason: Why.
        status: The exit status of a process that has failed. None: the process ends as it was meant to.
    """

    reason: str
    status: int | None = None


def exit_of(error: SystemExit) -> Ending:
    """What ``sys.exit`` has asked for. A text is written to standard error, as the interpreter does."""
    code = error.code if isinstance(error.code, int) else 0 if error.code is None else 1
    if isinstance(error.code, str):
        print(error.code, file=sys.stderr)
    return Ending("sys.exit was called", code & 0xFF)


class CallRunner:
    """Takes calls from the core, runs them one at a time on the thread that takes them, and answers them.

    Tasks and methods of actors are run by the same method. What differs is in the methods that a subclass overrides.

    The core describes a call by eleven fields: the kind, a token, a key, the name for messages, the format of the
    arguments, their pickled bytes, their buffers, their dependencies, the number of results, the id of the task, and
    one field more. The key is the id of a task's function, or the name of an actor's method. The last field is
    ``max_calls`` of a task; of a method it is the id of the exceptions that the method is retried on, or None.

    Attributes:
        kind: What the core calls the calls that this runner takes.
        labels: Whether the name of each call stands in front of what it writes.
        before_call: Called before each call, if it is set. The call raises what this raises.
        begins: Called when the arguments of a call are there, if it is set. It returns when the call may begin.
        hot: The core.
        idle_ms: Milliseconds without work after which free memory is given back to the system, -1 for never.
        known: The functions or bound methods that were called before, by key.
    """

    kind: ClassVar[str]

    def __init__(self, hot: Any, idle_ms: int, labels: bool = False) -> None:
        self.hot = hot
        self.labels = labels
        self.before_call: Callable[[], None] | None = None
        self.begins: Callable[[], None] | None = None
        self.idle_ms = idle_ms
        self.known: dict[Any, Callable[..., Any]] = {}

    def find(self, key: Any) -> Callable[..., Any]:
        """Finds what a call with this key runs, and adds it to ``known``."""
        raise NotImplementedError

    def retry_on(self, key: Any, extra: Any) -> RetryOn:
        """The exceptions that a failed call is retried on. The arguments are the key and the last field of the call."""
        raise NotImplementedError

    def ends(self, error: BaseException) -> Ending | None:
        """How the process ends after the call that raised this, or None when the error is an ordinary failure."""
        raise NotImplementedError

    def end(self, ending: Ending, token: int) -> NoReturn:
        """Ends the process without an answer to the call with this token, of which nothing is held any more."""
        raise NotImplementedError

    def wrote_errors(self) -> None:
        """Called after a call during which the process has written to standard error."""
        here.wrote_error = False

    def last_call(self, key: Any, name: str, extra: Any) -> str | None:
        """Why the process ends after this call, None when it goes on. The arguments are fields of the call.

        It is asked only about calls with an ``extra``, calls of processes that hold devices, and after a task was
        cancelled during an import: other calls pay nothing for it.
        """
        return None

    def leave(self, reason: str) -> NoReturn:
        """Ends the process, in which everything has been answered."""
        raise NotImplementedError

    def handle(self, items: list[tuple[Any, ...]]) -> None:
        """Does what the core asks for besides calls.

        Args:
            items: One item, to be taken out: what a constructor gets must not live in the frames below the actor.
        """
        raise NotImplementedError

    def take(self, next_item: Callable[[int], Any]) -> NoReturn:
        """Takes calls and other work on this thread until the process ends.

        Args:
            next_item: Waits at most so many milliseconds for the next item; None when no item came.
        """
        kind, run = self.kind, self.run_call
        idle_ms = self.idle_ms
        while True:
            item = next_item(idle_ms)
            if item is None:
                idle_ms = heap.release(idle_ms)
                continue
            idle_ms = self.idle_ms
            if item[0] == kind:
                run(item)
            else:
                items, item = [item], None
                self.handle(items)
            item = None  # what the item refers to must not outlive the answer

    def run_call(self, item: tuple[Any, ...]) -> None:
        """Runs one call and answers it. The user's function is called from here: tracebacks leave out one frame."""
        _, token, key, name, fmt, meta, buffers, deps, num_returns, task_id, extra = item
        running = here.running
        running.name = name
        function = args = kwargs = value = producer = ending = None
        results: tuple[Encoded, ...] = ()
        flags, retriable = 0, False
        try:
            if self.labels:
                here.label = name
            if self.before_call is not None:
                self.before_call()
            running.task_id = task_id
            function = self.known.get(key)
            if function is None:
                function = self.find(key)
            args, kwargs = decode_args(fmt, meta, buffers, deps)
            if self.begins is not None:
                self.begins()
            running.function = function
            if _early:
                raise_if_cancelled(task_id)
            retriable = True
            value = function(*args, **kwargs)
            if num_returns < 0:
                producer = producer_of(self.hot, token, num_returns, name, task_id)
                results = producer.run(value)
                retriable = False
            else:
                retriable = False
                results = (
                    (NONE_RESULT,)
                    if num_returns == 1 and value is None
                    else encode_results(value, num_returns, name, fmt)
                )
            running.task_id = None
        except BaseException as raised:
            running.task_id = None
            error = raised_error(raised)
            ending = self.ends(error)
            if ending is None:
                results, flags = self.failure(error, retriable, key, extra, name, task_id, producer)
            del error
        # From here on nothing of the call holds its values or the actor's instance, the exception's frames included.
        value = args = kwargs = function = producer = running.function = None
        if ending is not None:
            self.end(ending, token)
        if here.unfinished_line:
            output.flush_lines()
        if here.in_section:
            output.end_task(task_id)
        if here.wrote_error:
            self.wrote_errors()
        if extra or here.devices or cancellation.spoiled:
            reason = self.last_call(key, name, extra)
            if reason is not None:
                self.hot.reply(token, results, flags | EXITING)
                self.leave(reason)
        self.hot.reply(token, results, flags)

    def failure(
        self, error: BaseException, retriable: bool, key: Any, extra: Any, name: str, task_id: bytes, producer: Any
    ) -> tuple[tuple[Encoded, ...], int]:
        """The results and the flags that answer a call which has raised.

        Args:
            error: What was raised.
            retriable: Whether the user's code raised it, so that ``retry_exceptions`` applies.
            key: The key of the call.
            extra: The last field of the call.
            name: The name of the call.
            task_id: The id of the call.
            producer: What sends the items of the generator that the call runs, None if it runs none.
        """
        flags = APP_ERROR
        try:
            retriable = retriable and may_retry(error, self.retry_on(key, extra))
        except BaseException as problem:  # one of the exceptions to retry on cannot be unpickled in this process
            error.__traceback__ = error.__traceback__.tb_next if error.__traceback__ is not None else None
            error, retriable = problem, False
        if not retriable:
            flags |= NO_RETRY
        # The frame of ``run_call`` is not shown, nor that of the producer.
        results = error_results(error, name, task_id, 1 if producer is None else 2)
        if _early and task_id in _early and not flags & NO_RETRY:
            return (), CANCELLED
        return (results, flags) if producer is None else producer.failed(error, results, flags)


cancellation.runner = CallRunner.run_call.__code__
