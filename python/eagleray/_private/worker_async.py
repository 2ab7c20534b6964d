"""Actors with coroutine methods: calls run as tasks of one event loop on the main thread."""

from __future__ import annotations

import asyncio
import contextvars
import inspect
import sys
import threading
from collections.abc import Callable
from typing import Any, NoReturn

from eagleray._private import context, heap, tracing, worker_main
from eagleray._private.arguments import decode_args
from eagleray._private.context import here
from eagleray._private.serialization import Encoded
from eagleray._private.worker_actor import _EXIT_REASON, Actor
from eagleray._private.worker_main import APP_ERROR, NO_RETRY, _producer, encode_results
from eagleray.actor import ExitActor

#: The token of the call that the coroutine belongs to: what it submits is that call's child.
_call: contextvars.ContextVar[int] = contextvars.ContextVar("eagleray-call")


def run(actor: Actor, construct: Callable[[], bool], max_concurrency: int) -> NoReturn:
    """Constructs the actor inside a loop and serves its calls there."""
    if tracing.ON:
        tracing.watch_loop(sys.modules[__name__])
    running = context.RunningPerCoroutine()
    asyncio.run(_Loop(actor, running, max_concurrency).serve(construct))
    raise AssertionError("an actor's loop does not end")


class _Loop:
    def __init__(self, actor: Actor, running: context.RunningPerCoroutine, max_concurrency: int) -> None:
        self.actor = actor
        self.running = running
        self.room = threading.Semaphore(max_concurrency)
        self.tasks: dict[bytes, asyncio.Task[None]] = {}
        self.open: set[int] = set()  # the tokens of calls without an answer
        self.cancelled: set[bytes] = set()
        self.loop: asyncio.AbstractEventLoop

    async def serve(self, construct: Callable[[], bool]) -> None:
        self.loop = asyncio.get_running_loop()
        construct()
        here.running = self.running
        self.actor.hot.calls_in(_call)
        worker_main.set_cancel_handler(self.cancel)
        threading.Thread(target=self.feed, name="eagleray-calls", daemon=True).start()
        await asyncio.Event().wait()

    def feed(self) -> None:
        """The thread that takes calls and hands them to the loop, in order."""
        next_task = self.actor.hot.next_task
        while True:
            self.room.acquire()
            patience = self.actor.worker.patience
            while (item := next_task(patience)) is None:
                patience = heap.rest(patience)
            self.loop.call_soon_threadsafe(self.begin, item)

    def begin(self, item: tuple[Any, ...]) -> None:
        if item[0] == "exit":
            self.actor.end(str(item[1]))
        if item[0] == "forget":
            self.actor.worker.forget(item[1])
        if item[0] != "method":
            self.room.release()
            return
        token, task_id = item[1], item[9]
        self.open.add(token)
        task = self.loop.create_task(self.call(item))
        self.tasks[task_id] = task
        task.add_done_callback(lambda _: self.done(token, task_id))
        if task_id in self.cancelled:
            task.cancel()

    def done(self, token: int, task_id: bytes) -> None:
        """A call has ended. One that was cancelled before its first step has not answered."""
        self.tasks.pop(task_id, None)
        self.cancelled.discard(task_id)
        if token in self.open:
            self.open.discard(token)
            self.room.release()
            self.actor.hot.reply(token, (), worker_main.CANCELLED)

    def cancel(self, task_id: bytes) -> None:
        """Called by the signal handler, on the loop's thread but between any two of its steps."""
        self.cancelled.add(task_id)
        self.loop.call_soon_threadsafe(self.cancel_now, task_id)

    def cancel_now(self, task_id: bytes) -> None:
        """Cancels a call if it has begun; one that has not will look."""
        task = self.tasks.get(task_id)
        if task is not None:
            task.cancel()
        elif not self.actor.hot.is_cancelled(task_id):  # it has ended
            self.cancelled.discard(task_id)

    async def call(self, item: tuple[Any, ...]) -> None:
        _, token, method, name, fmt, meta, buffers, deps, num_returns, task_id, retry_on = item
        del item
        actor = self.actor
        flags, retriable, producer = 0, False, None
        results: tuple[Encoded, ...] = ()
        _call.set(token)
        try:
            function = actor.method(method)
            self.running.begin(task_id, name, function)
            args, kwargs = decode_args(fmt, meta, buffers, deps)
            retriable = True
            value = function(*args, **kwargs)
            del args, kwargs
            if num_returns < 0:
                producer = _producer(actor.hot, token, num_returns, name, task_id)
                results = await producer.run_async(value)
            elif inspect.isawaitable(value):
                value = await value
            retriable = False
            if task_id in self.cancelled:  # as Ray: nothing is returned, although the method caught it
                raise worker_main.Cancelled
            if num_returns >= 0:
                results = encode_results(value, num_returns, name, fmt)
        except BaseException as error:
            if isinstance(error, ExitActor):
                actor.end(_EXIT_REASON)
            if isinstance(error, SystemExit):
                actor.quit(error)
            if task_id in self.cancelled or isinstance(error, asyncio.CancelledError):
                error = worker_main.Cancelled().with_traceback(error.__traceback__)
            flags = APP_ERROR if retriable and actor.may_retry(error, retry_on) else APP_ERROR | NO_RETRY
            results = actor.worker.error_results(error, name, task_id, 1 if producer is None else 2)
            if producer is not None:
                results, flags = producer.failed(error, results, flags)
        value = None
        self.open.discard(token)
        self.room.release()
        actor.hot.reply(token, results, flags)
