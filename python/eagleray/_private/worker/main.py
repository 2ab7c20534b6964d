"""A worker's life: it joins the session, takes tasks, and runs them on its main thread."""

from __future__ import annotations

import atexit
import functools
import gc
import os
import signal
import sys
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple, NoReturn, cast

from eagleray._private import functions, native
from eagleray._private.calls import core, environments, tracing
from eagleray._private.context import here
from eagleray._private.environments import arrangement
from eagleray._private.messages import pack, unpack
from eagleray._private.state import WORKER, EnvBase, Session, process
from eagleray._private.values import pickling
from eagleray._private.worker import heap, host, output, startup
from eagleray._private.worker.actor import Actor
from eagleray._private.worker.cancel import cancellation, interrupt
from eagleray._private.worker.interruption import notice_dropped
from eagleray._private.worker.runner import CallRunner, Ending, RetryOn, exit_of


class WorkerDefaults(NamedTuple):
    """What all workers of a zygote begin with. The zygote makes it once, before the forks."""

    base: EnvBase
    idle_ms: int  # see heap.keep
    hook: dict[str, Any] | None = None  # what a worker calls before it takes work


def worker_defaults(setup: Mapping[str, Any], environ: Mapping[str, str]) -> WorkerDefaults:
    """What the zygote makes for its workers.

    Args:
        setup: What it was told.
        environ: Its variables.
    """
    hook = arrangement.hook(setup["needs"]) if setup.get("needs") else None
    return WorkerDefaults(environments.worker_base(setup, environ), heap.keep(), hook)


def start(sock: str, token: str, fds: list[int], defaults: WorkerDefaults) -> None:
    """Becomes a worker; called in the fork.

    Args:
        sock: The daemon's socket.
        token: What the fork was ordered with.
        fds: The pipes for standard output and error.
        defaults: What the zygote has made.
    """
    startup.detach(fds)
    startup.run_hooks()
    hot = core.load()
    if tracing.ON:  # not in a warm-up: it calls the core, which must not start in a zygote
        tracing.watch_calls(Worker, Actor)
    startup.appear_in_ps(hot)
    worker = join(hot, sock, token, defaults)
    native.record_written_pages()
    if defaults.hook is not None:
        from eagleray._private.environments import setup_hook

        setup_hook.call(defaults.hook, hot)
    worker.run()


def join(hot: Any, sock: str, token: str, defaults: WorkerDefaults) -> Worker:
    """Joins the session.

    Args:
        hot: The core.
        sock: The daemon's socket.
        token: What the fork was ordered with.
        defaults: What the zygote has made.
    """
    signal.signal(signal.SIGUSR1, interrupt)
    notice_dropped()
    hello: dict[str, Any] = {"sock": sock, "role": WORKER, "token": token, "vars": environments.settings()}
    if defaults.hook is not None:
        hello["not_ready"] = True
    answer = hot.connect(pack(hello))
    process.enter(Session(WORKER, hot, unpack(answer), defaults.base))
    _say_before_exit(hot)
    return Worker(hot, defaults.idle_ms)


def _say_before_exit(hot: Any) -> None:
    """Lets what a generator has yielded leave before the program ends the process with ``os._exit``."""
    leave = os._exit

    @functools.wraps(leave)
    def exit_now(status: int) -> NoReturn:
        try:
            if not process.forked:
                hot.flush_on_exit()
        finally:
            leave(status)

    os._exit = exit_now


#: How many functions a worker keeps as objects. Those that came first go first, and are made anew from their bytes when
#: they are called again: a program that makes functions in a loop must not fill its workers.
KEPT_FUNCTIONS = 1000


class Worker(CallRunner):
    """Runs tasks, one at a time, until the daemon ends the worker or makes it an actor."""

    kind = "task"

    def __init__(self, hot: Any, idle_ms: int) -> None:
        super().__init__(hot, idle_ms, labels=True)
        self.assigned = startup.Assigned()
        self._retry_on: dict[bytes, RetryOn] = {}  # of the functions in ``known`` whose retry_exceptions is a list
        self._calls: dict[bytes, int] = {}
        self.ran_tasks = False
        self._watch: Any = None
        self._watch_failed = False

    def run(self) -> NoReturn:
        """Serves until the daemon says that it is enough."""
        self.take(self.hot.next_task)

    def handle(self, items: list[tuple[Any, ...]]) -> None:
        """Does what the daemon asks for besides tasks."""
        kind = items[0][0]
        if kind == "actor":
            host.host(self, items)
        item = items.pop()
        if kind == "forget":
            self.forget(item[1])
        elif kind == "assign":
            self.assigned.apply(unpack(item[1]))
            self.before_call = self.assigned.restore if self.assigned.shows_devices else None
        else:
            self.leave(str(item[1]))

    def find(self, key: bytes) -> Callable[..., Any]:
        """The function of a task, unpickled."""
        found: Any = self.load(key)
        if not callable(found):  # a Go program names it by its path
            self._drop(key)
            raise TypeError(
                f"{here.running.name} is not a function, so it cannot run as a task: it is of type "
                f"{type(found).__name__!r}, which cannot be called"
            )
        return cast("Callable[..., Any]", found)

    def retry_on(self, key: bytes, extra: int) -> RetryOn:
        """The exceptions that travel with the function."""
        return self._retry_on.get(key)

    def ends(self, error: BaseException) -> Ending | None:
        """How the process ends when the task has called ``sys.exit``."""
        return exit_of(error) if isinstance(error, SystemExit) else None

    def end(self, ending: Ending, token: int) -> NoReturn:
        """Ends the process, whose task has called ``sys.exit``."""
        self.quit(ending.status or 0)

    def wrote_errors(self) -> None:
        """Tells the daemon that what the process writes to standard error from now on is of another task."""
        output.end_section()

    def last_call(self, key: bytes, name: str, extra: int) -> str | None:
        """Why the process ends after this task: its function was called often enough, or leaks memory of devices."""
        if extra > 0:
            count = self._calls[key] = self._calls.get(key, 0) + 1
            if count >= extra:
                return "max_calls"
        elif here.devices and self._leaks(key, name, extra):
            return "on_leak"
        return "a task was cancelled during an import" if cancellation.spoiled else None

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

    def load(self, fid: bytes, fetched: bool = False) -> Any:
        """The function or class that travels under ``fid``.

        Args:
            fid: Its name.
            fetched: It is a large class, which the cluster keeps for this detached actor alone: when this process
                makes other actors of it, it pickles the class anew.
        """
        self.ran_tasks = True
        with pickling.received() as captured:
            function: Any = functions.rebuild(self.hot.function(fid))
        if fetched:
            self.hot.unload(fid)
            return function
        retry_on = None
        if type(function) is functions.Filtered:
            function, retry_on = function.function, function.retry_on
        else:
            functions.remember(function, fid, tuple(captured) or None)
        while len(self.known) >= KEPT_FUNCTIONS:
            self._drop(next(iter(self.known)))
        self.known[fid] = function
        if retry_on is not None:
            self._retry_on[fid] = retry_on
        return function

    def forget(self, fid: bytes) -> None:
        """Lets go of a function that holds references: the process that has called it does not any more."""
        if fid not in self.known:
            return
        self._drop(fid)
        here.running.function = None
        gc.collect()  # functions refer to themselves, by what they close over

    def _drop(self, fid: bytes) -> None:
        """Removes a function from this process."""
        del self.known[fid]
        self._retry_on.pop(fid, None)
        functions.forget(fid)
        self.hot.unload(fid)

    def quit(self, status: int) -> NoReturn:
        """The user's code called ``sys.exit``: the process ends, without an answer."""
        self._finish()
        os._exit(status)

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
