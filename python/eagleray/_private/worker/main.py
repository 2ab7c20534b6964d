"""A worker's life: join the session, take work, run it on the main thread, answer."""

from __future__ import annotations

import atexit
import functools
import gc
import os
import signal
import sys
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple, NoReturn

from eagleray._private import functions, native, task_error
from eagleray._private.calls import core, environments, tracing
from eagleray._private.calls.arguments import ArgumentFailed, decode_args
from eagleray._private.calls.retrying import may_retry
from eagleray._private.context import here
from eagleray._private.ids import TaskID
from eagleray._private.messages import pack, unpack
from eagleray._private.state import WORKER, EnvBase, Session, process
from eagleray._private.values import pickling
from eagleray._private.values.formats import NONE_RESULT, Encoded
from eagleray._private.worker import heap, host, output, startup
from eagleray._private.worker.actor import Actor
from eagleray._private.worker.cancel import cancellation, interrupt, raise_if_cancelled
from eagleray._private.worker.interruption import meant, notice_dropped
from eagleray._private.worker.results import APP_ERROR, CANCELLED, EXITING, NO_RETRY, encode_results, node_address
from eagleray._private.worker.results import producer as producer_of
from eagleray.exceptions import RaySystemError, RayTaskError, TaskCancelledError


class Outfit(NamedTuple):
    """What all workers of a zygote begin with; it is made before the forks, once."""

    base: EnvBase
    patience: int  # see heap.keep


def outfit(setup: Mapping[str, Any], environ: Mapping[str, str]) -> Outfit:
    """What the zygote makes for its workers.

    Args:
        setup: What it was told.
        environ: Its variables.
    """
    return Outfit(environments.worker_base(setup, environ), heap.keep())


def start(sock: str, token: str, fds: list[int], given: Outfit) -> None:
    """Becomes a worker; called in the fork.

    Args:
        sock: The daemon's socket.
        token: What the fork was ordered with.
        fds: The pipes for standard output and error.
        given: What the zygote has made.
    """
    startup.detach(fds)
    startup.run_hooks()
    hot = core.load()
    if tracing.ON:  # not where a start is rehearsed: it calls the core, which must not start there
        tracing.watch_worker(Worker, Actor)
    startup.appear_in_ps(hot)
    worker = join(hot, sock, token, given)
    native.learn()
    worker.run()


def join(hot: Any, sock: str, token: str, given: Outfit) -> Worker:
    """Joins the session.

    Args:
        hot: The core.
        sock: The daemon's socket.
        token: What the fork was ordered with.
        given: What the zygote has made.
    """
    signal.signal(signal.SIGUSR1, interrupt)
    notice_dropped()
    answer = hot.connect(pack({"sock": sock, "role": WORKER, "token": token, "vars": environments.settings()}))
    process.enter(Session(WORKER, hot, unpack(answer), given.base))
    _say_before_exit(hot)
    return Worker(hot, given.patience)


def _say_before_exit(hot: Any) -> None:
    """Lets what a generator has yielded leave before the program ends the process with ``os._exit``."""
    leave = os._exit

    @functools.wraps(leave)
    def exit_now(status: int) -> NoReturn:
        try:
            if not process.forked:
                hot.parting()
        finally:
            leave(status)

    os._exit = exit_now


_early = cancellation.early

#: How many functions a worker keeps as objects. Those that came first go first, and are made anew from their bytes when
#: they are called again: a program that makes functions in a loop must not fill its workers.
KEPT_FUNCTIONS = 1000


class Worker:
    """The loop of a worker that runs one thing at a time."""

    def __init__(self, hot: Any, patience: int) -> None:
        self.hot = hot
        self.pid = os.getpid()
        self.assigned = startup.Assigned()
        self._functions: dict[bytes, tuple[Callable[..., Any], tuple[type[BaseException], ...] | None]] = {}
        self._calls: dict[bytes, int] = {}
        self.ran_tasks = False
        self._watch: Any = None
        self._watch_failed = False
        self.patience = patience

    def run(self) -> NoReturn:
        """Serves until the daemon says that it is enough."""
        next_task = self.hot.next_task
        patience = self.patience
        while True:
            item = next_task(patience)
            if item is None:
                patience = heap.rest(patience)
                continue
            patience = self.patience
            kind = item[0]
            if kind == "task":
                self._run_task(item)
            elif kind == "forget":
                self.forget(item[1])
            elif kind == "assign":
                self.assigned.apply(unpack(item[1]))
            elif kind == "actor":
                host.host(self, item)
            else:
                self.leave(str(item[1]))
            item = None  # what it holds must not outlive the answer

    def _run_task(self, item: tuple[Any, ...]) -> None:
        _, token, fid, name, fmt, meta, buffers, deps, num_returns, task_id, max_calls = item
        running = here.running
        here.label = running.name = name
        function = retry_on = args = kwargs = value = producer = None
        flags, retriable = 0, False
        try:
            self.assigned.restore()
            running.task_id = task_id
            found = self._functions.get(fid)
            function, retry_on = found if found is not None else self.load(fid)
            args, kwargs = decode_args(fmt, meta, buffers, deps)
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
            error = meant(raised)
            if isinstance(error, SystemExit):
                self.quit(error)
            flags = APP_ERROR
            if not retriable or not may_retry(error, retry_on):
                flags |= NO_RETRY
            results = self.error_results(error, name, task_id, 1 if producer is None else 2)
            if _early and task_id in _early and not flags & NO_RETRY:
                flags, results = CANCELLED, ()
            elif producer is not None:
                results, flags = producer.failed(error, results, flags)
            del error
        value = args = kwargs = producer = None
        if here.unfinished_line:
            output.flush_lines()
        if here.wrote_error:
            output.end_section()
        if max_calls <= 0 and here.devices and self._leaks(fid, name, max_calls):
            self.hot.reply(token, results, flags | EXITING)
            self.leave("on_leak")
        if max_calls > 0:
            count = self._calls[fid] = self._calls.get(fid, 0) + 1
            if count >= max_calls:
                self.hot.reply(token, results, flags | EXITING)
                self.leave("max_calls")
        if cancellation.spoiled:
            self.hot.reply(token, results, flags | EXITING)
            self.leave("a task was cancelled amid an import")
        self.hot.reply(token, results, flags)

    def _leaks(self, fid: bytes, name: str, max_calls: int) -> bool:
        """Whether the worker is to end because the function, which has just run, leaks device memory."""
        from eagleray._private.worker import leaks

        try:
            if self._watch is None:
                self._watch = leaks.Leaks(leaks.measure_with(self.hot))
            recycled = max_calls == leaks.WATCHED
            return self._watch.after(fid, name, recycled=recycled) and recycled
        except Exception as problem:  # a library's, or the user's probe
            if not self._watch_failed:
                self._watch_failed = True
                print(f"Eagle Ray warning: device memory is not measured: {problem!r}", file=sys.stderr, flush=True)
            return False

    def load(
        self, fid: bytes, fetched: bool = False
    ) -> tuple[Callable[..., Any], tuple[type[BaseException], ...] | None]:
        """The function that travels under ``fid``, with the exceptions that it is retried on.

        Args:
            fid: Its name.
            fetched: It is a large class, which the cluster keeps for this detached actor alone: when this process
                makes other actors of it, it pickles the class anew.
        """
        self.ran_tasks = True
        with pickling.received() as captured:
            function: Any = functions.rebuild(self.hot.function(fid))
        retry_on = None
        if fetched:
            self.hot.unload(fid)
            return function, None
        if type(function) is functions.Filtered:
            function, retry_on = function.function, function.retry_on
        else:
            functions.arrive(function, fid, tuple(captured) or None)
        while len(self._functions) >= KEPT_FUNCTIONS:
            oldest = next(iter(self._functions))
            del self._functions[oldest]
            functions.forget(oldest)
            self.hot.unload(oldest)
        self._functions[fid] = (function, retry_on)
        return function, retry_on

    def forget(self, fid: bytes) -> None:
        """Lets go of a function that holds references: the process that has called it does not any more."""
        if self._functions.pop(fid, None) is None:
            return
        functions.forget(fid)
        self.hot.unload(fid)
        here.running.function = None
        gc.collect()  # functions refer to themselves, by what they close over

    def error_results(
        self, error: BaseException, name: str, task_id: bytes | None, skip: int = 1
    ) -> tuple[Encoded, ...]:
        """The answer of a task that raised. Whatever the exception's class does, there is one."""
        try:
            results = self._error_results(error, name, task_id, skip)
            task_error.let_go(error)
            return results
        except Exception as problem:
            what = f"{type(error).__module__}.{type(error).__qualname__}"
            text = f"  {name} raised {what}, whose own code fails: {type(problem).__name__}"
            made = RayTaskError(name, text, RaySystemError(text), pid=self.pid, ip=node_address())
            return (task_error.encoded(made),)

    def _error_results(self, error: BaseException, name: str, task_id: bytes | None, skip: int) -> tuple[Encoded, ...]:
        where: dict[str, Any] = {"pid": self.pid, "ip": node_address()}
        if here.actor is not None:
            where.update(actor_repr=here.label, actor_id=here.actor.id.hex())
        if isinstance(error, ArgumentFailed):
            made = task_error.argument_error(error.error, name, **where)
        else:
            made = task_error.task_error(error, name, skip=skip, **where)
            if isinstance(error, KeyboardInterrupt):
                made.cause = TaskCancelledError(TaskID(task_id) if task_id is not None else None)
                made.traceback_str += str(made.cause)
        return (task_error.encoded(made),)

    def quit(self, error: SystemExit) -> NoReturn:
        """The user's code called ``sys.exit``: the process ends, without an answer."""
        code = error.code if isinstance(error.code, int) else 0 if error.code is None else 1
        if isinstance(error.code, str):
            print(error.code, file=sys.stderr)
        self._finish()
        os._exit(code & 0xFF)

    def leave(self, reason: str) -> NoReturn:
        """Ends the process as it was meant to: answers are sent first."""
        self._finish()
        self.hot.exiting(reason)
        os._exit(0)

    def _finish(self) -> None:
        here.running.task_id = None
        try:
            atexit._run_exitfuncs()
        except BaseException:  # user code
            pass
        output.flush_lines()


cancellation.runner = Worker._run_task.__code__
