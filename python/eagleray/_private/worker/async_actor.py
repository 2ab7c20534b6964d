"""Actors with coroutine methods: calls run as tasks of one event loop on the main thread."""

from __future__ import annotations

import asyncio
import contextvars
import sys
import threading
from collections.abc import Awaitable, Callable, Mapping, Sequence
from types import CoroutineType
from typing import Any, NoReturn

from eagleray._private import context
from eagleray._private.calls import tracing
from eagleray._private.calls.arguments import EMPTY, decode_args
from eagleray._private.context import here
from eagleray._private.values.formats import ARGS, NONE_RESULT, Encoded
from eagleray._private.worker import heap, output
from eagleray._private.worker.actor import EXIT_REASON, Actor
from eagleray._private.worker.cancel import cancellation
from eagleray._private.worker.interruption import Cancelled
from eagleray._private.worker.loop import CallSelector, new_loop
from eagleray._private.worker.results import CANCELLED, encode_results
from eagleray._private.worker.results import producer as producer_of
from eagleray._private.worker.runner import Ending
from eagleray._private.worker.turns import Turns
from eagleray.actor import exits

#: The token of the call that the coroutine belongs to: what it submits is that call's child.
_call: contextvars.ContextVar[int] = contextvars.ContextVar("eagleray-call")

#: What the calling coroutine runs.
_running = context.RunningPerCoroutine()

_NONE: tuple[Encoded, ...] = (NONE_RESULT,)


def run(
    actor: Actor,
    construct: Callable[[], bool],
    construct_rest: Callable[[], Awaitable[None]],
    max_concurrency: int,
    groups: Mapping[str, int],
) -> NoReturn:
    """Constructs the actor inside a loop and serves its calls there.

    Each of its concurrency groups has a loop and a thread of its own, so that a call that blocks one of the loops does
    not block the others.
    """
    if tracing.ON:
        tracing.watch_loop(sys.modules[__name__])
    if groups:
        actor.hot.declare_groups(tuple(groups), None)
    loop, selector = new_loop(actor.hot, actor.worker.idle_ms)
    asyncio.set_event_loop(loop)
    serving = _Serving(actor, loop, max_concurrency, _Calls())
    loop.run_until_complete(serving.serve(construct, construct_rest, selector, groups))
    raise AssertionError("an actor's loop does not end")


class _Calls:
    """The calls of all loops of an actor."""

    def __init__(self) -> None:
        self.servings: list[_Serving] = []
        self.tasks: dict[bytes, asyncio.Task[None]] = {}
        self.fresh: dict[bytes, int] = {}  # calls that have not made their first step, and their tokens
        self.cancelled: set[bytes] = set()

    def cancel(self, task_id: bytes) -> None:
        """Called by the signal handler, on the main thread but between any two of its loop's steps."""
        self.cancelled.add(task_id)
        for serving in self.servings:
            serving.loop.call_soon_threadsafe(serving.cancel_now, task_id)

    def exit_beside(self) -> None:
        """Ends the actor, if the calling coroutine is run by one of its loops and belongs to none of its calls."""
        try:
            task = asyncio.current_task()
        except RuntimeError:  # no loop runs on this thread
            return
        if task is None or task in self.tasks.values():
            return
        for serving in self.servings:
            if serving.loop is task.get_loop() and task is not serving.main:
                serving.leave(Ending(EXIT_REASON), 0)


class _Serving:
    """One event loop of an actor, and the calls that it runs.

    Args:
        actor: The actor.
        loop: The loop.
        max_concurrency: How many calls it runs at a time.
        calls: What the loops of the actor share.
        group: The concurrency group whose calls it runs; by default those of no group.
    """

    def __init__(
        self, actor: Actor, loop: asyncio.AbstractEventLoop, max_concurrency: int, calls: _Calls, group: str = ""
    ) -> None:
        self.actor = actor
        self.loop = loop
        self.most = max_concurrency
        self.group = group
        self.give_back: Callable[[], None]
        self.main: asyncio.Task[None] | None = None
        self.calls = calls
        self.turns = Turns(actor.hot) if actor.spec.get("exclusive") else None
        self.tasks, self.fresh, self.cancelled = calls.tasks, calls.fresh, calls.cancelled
        calls.servings.append(self)

    async def serve(
        self,
        construct: Callable[[], bool],
        construct_rest: Callable[[], Awaitable[None]],
        selector: CallSelector | None,
        groups: Mapping[str, int],
    ) -> None:
        self.main = asyncio.current_task()
        exits.beside = self.calls.exit_beside
        if not construct():
            await construct_rest()
        here.running = _running
        self.actor.hot.calls_in(_call)
        for group, limit in groups.items():
            _Serving(self.actor, asyncio.new_event_loop(), limit, self.calls, group).begin_thread()
        cancellation.handler = self.calls.cancel
        if selector is None:
            self.begin_feeding()
        else:

            def give_back() -> None:
                selector.room += 1

            self.give_back = give_back
            self.selector = selector
            selector.serve(self.begin_taken, self.most)
        await asyncio.Event().wait()

    def begin_thread(self) -> None:
        """Runs the loop, of a concurrency group, on a thread of its own."""

        def run() -> None:
            asyncio.set_event_loop(self.loop)
            self.loop.run_forever()

        threading.Thread(target=run, name=f"eagleray-{self.group}", daemon=True).start()
        self.begin_feeding()

    def begin_feeding(self) -> None:
        """Begins the thread that takes calls."""
        room = threading.Semaphore(self.most)
        self.give_back = room.release
        threading.Thread(target=self.feed, args=(room,), name="eagleray-calls", daemon=True).start()

    def feed(self, room: threading.Semaphore) -> None:
        """The thread that takes calls and hands them to a loop that does not take them itself, in order."""
        next_task = self.actor.hot.next_task
        while True:
            room.acquire()
            idle_ms = self.actor.worker.idle_ms
            while (item := next_task(idle_ms, self.group)) is None:
                idle_ms = heap.release(idle_ms)
            self.loop.call_soon_threadsafe(self.begin, (item,))

    def begin_taken(self, items: Sequence[tuple[Any, ...]]) -> None:
        """Begins calls that the selector has taken."""
        self.selector.room -= len(items)
        self.begin(items)

    def begin(self, items: Sequence[tuple[Any, ...]]) -> None:
        """Makes a task of each call; what it is to do it does in the loop, in order."""
        create, tasks, fresh, made = self.loop.create_task, self.tasks, self.fresh, []
        for item in items:
            if item[0] == "method":
                task_id = item[9]
                fresh[task_id] = item[1]
                made.append(task_id)
                task = create(self.call(item))
                if not task.done():  # a task factory of the user's may run it at once
                    tasks[task_id] = task
                if self.cancelled and task_id in self.cancelled:
                    task.cancel()
                continue
            if item[0] == "exit":
                self.actor.end(Ending(str(item[1])))
            if item[0] == "forget":
                self.actor.worker.forget(item[1])
            self.give_back()
        if made:
            self.loop.call_soon(self.look, made)

    def look(self, made: list[bytes]) -> None:
        """Runs when these tasks have made their first step. One that was cancelled before has not answered."""
        for task_id in made:
            token = self.fresh.pop(task_id, None)
            if token is not None:
                self.ended(task_id)
                self.actor.hot.reply(token, (), CANCELLED)

    def ended(self, task_id: bytes) -> None:
        self.tasks.pop(task_id, None)
        if here.in_section:
            output.end_task(task_id)
        if self.cancelled:
            self.cancelled.discard(task_id)
        self.give_back()

    def cancel_now(self, task_id: bytes) -> None:
        """Cancels a call if it has begun; one that has not will look."""
        task = self.tasks.get(task_id)
        if task is not None:
            if task.get_loop() is self.loop:
                task.cancel()
        elif not self.actor.hot.is_cancelled(task_id):  # it has ended
            self.cancelled.discard(task_id)

    def leave(self, ending: Ending, token: int) -> None:
        """Ends the actor when the other calls of its loops have ended; the loops go on meanwhile."""

        def wait() -> None:
            self.actor.hot.last_calls(token)
            self.loop.call_soon_threadsafe(self.actor.end, ending)

        threading.Thread(target=wait, name="eagleray-leave", daemon=True).start()

    async def call(self, item: tuple[Any, ...]) -> None:
        _, token, method, name, fmt, meta, buffers, deps, num_returns, task_id, extra = item
        del item
        actor = self.actor
        flags, retriable, producer, ending = 0, False, None, None
        args: Any = None
        kwargs: Any = None
        results: tuple[Encoded, ...] = ()
        del self.fresh[task_id]
        _call.set(token)
        try:
            if self.turns is not None:
                await self.turns.take()
            function = actor.known.get(method)
            if function is None:
                function = actor.find(method)
            _running.begin(task_id, name, function)
            if deps is None and meta == EMPTY and fmt == ARGS:
                retriable = True
                value = function()
            else:
                args, kwargs = decode_args(fmt, meta, buffers, deps)
                retriable = True
                value = function(*args, **kwargs)
                del args, kwargs
            if num_returns < 0:
                producer = producer_of(actor.hot, token, num_returns, name, task_id)
                results = await producer.run_async(value)
            elif type(value) is CoroutineType:  # nothing else: a reference is a result, not to be waited for
                value = await value
            retriable = False
            if self.cancelled and task_id in self.cancelled:
                raise Cancelled  # as Ray: nothing is returned, although the method caught it
            if value is None and num_returns == 1:
                results = _NONE
            elif num_returns >= 0:
                results = encode_results(value, num_returns, name, fmt)
        except BaseException as error:
            ending = actor.ends(error)
            if ending is None:
                if task_id in self.cancelled or isinstance(error, asyncio.CancelledError):
                    error = Cancelled().with_traceback(error.__traceback__)
                results, flags = actor.failure(error, retriable, method, extra, name, task_id, producer)
        value = None
        if ending is not None:
            function = producer = args = kwargs = None  # nothing of the call is held any more
            self.tasks.pop(task_id, None)
            _running.begin(task_id, name, None)
            if ending.status is not None:
                actor.end(ending, token)
            self.leave(ending, token)
            return
        self.ended(task_id)
        actor.hot.reply(token, results, flags)
