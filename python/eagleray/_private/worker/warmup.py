"""The warm-up of a zygote: the zygote runs a few times what every worker runs first, with a core that does nothing.

The interpreter stores what it learns from running code: in the code object, how often the code ran and for which types;
in one table for all, which attributes were looked up; in each type, its version. A forked worker that runs code for the
first time would copy the pages that hold this, and learn what other workers have learned before. After the warm-up each
worker has all this from its fork on.
"""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from eagleray._private import functions
from eagleray._private.calls.arguments import EMPTY
from eagleray._private.context import here
from eagleray._private.messages import pack
from eagleray._private.state import UNIT, process
from eagleray._private.values import pickling
from eagleray._private.values.formats import ARGS
from eagleray._private.worker import interruption, main, startup

if TYPE_CHECKING:
    from eagleray._private.worker.main import WorkerDefaults

#: Code is adapted to what it meets once it has run eight times.
TURNS = 16
_FID = b"\0warm-up: a class"
_FUNCTION = b"\0warm-up: a task."
_ANSWER = {
    **{"node_id": bytes(28), "worker_id": bytes(28), "job_id": bytes(4), "namespace": "", "session_dir": "/"},
    **{"addr": "/", "totals": {"CPU": UNIT}, "can_grow": False, "wait": False, "daemon_pid": 1},
}
_ASSIGNMENT = {"resources": {"CPU": UNIT}, "devices": {}, "env": {}, "int_ids": True}
_SPEC = {
    **{"actor_id": bytes(16), "name": "", "namespace": "", "class_name": "Part", "incarnation": 1, "owner_addr": ""},
    **{"meta": pack({"shared_limit": 0, "groups": {}}), "fid": _FID, "max_concurrency": 1, "assignment": _ASSIGNMENT},
}


class _Over(BaseException):
    """Ends a turn: there is no more work."""


class _IdleCore:
    """Stands in for the core."""

    def __init__(self, code: dict[bytes, bytes], items: Iterator[tuple[Any, ...]]) -> None:
        self._code = code
        self._items = items

    def connect(self, request: bytes) -> bytes:
        """Whom it has come to."""
        return _PACKED_ANSWER

    def next_task(self, idle_ms: int) -> tuple[Any, ...]:
        """The next thing to do."""
        for item in self._items:
            return item
        raise _Over

    def function(self, fid: bytes) -> bytes:
        """What code is named by it."""
        return self._code[fid]

    def show_as(self, title: str) -> None:
        """Nobody sees it."""

    def actor_ready(self, token: int, ok: bool, message: str, error: bytes, brief: bytes) -> None:
        """Nobody waits for it."""

    def declare_groups(self, names: tuple[str, ...], server: Callable[[], Any]) -> None:
        """There are none."""

    def reply(self, token: int, results: Any, flags: int) -> None:
        """Nobody waits for it."""


_PACKED_ANSWER = pack(_ANSWER)


def warm_up(defaults: WorkerDefaults) -> None:
    """Takes this process through a worker's start, a task, and an actor's first call. It is then as it was.

    Args:
        defaults: What workers begin with.
    """
    code = {_FID: pickling.dumps_code(_part())[0], _FUNCTION: pickling.dumps_code(_task())[0]}
    no_arguments = (ARGS, EMPTY, None, None)
    task = ("task", 1, _FUNCTION, "task", *no_arguments, 1, bytes(24), 0)
    actor = ("actor", 1, pack(_SPEC), *no_arguments)
    call = ("method", 2, "call", "Part.call", *no_arguments, 1, bytes(24), None)
    assign = ("assign", pack(_ASSIGNMENT))
    with _as_it_was():
        for _ in range(TURNS):
            for items in ((assign, task, task), (actor, call, call)):
                _play(_IdleCore(code, iter(items)), defaults)


def _play(core: _IdleCore, defaults: WorkerDefaults) -> None:
    startup.appear()
    startup.reseed()
    try:
        main.join(core, "", "", defaults).run()
    except _Over:
        process.leave()
    functions.forget(_FID)
    functions.forget(_FUNCTION)


def _part() -> type:
    """A class that no module has, like those of a user's script."""

    class Part:
        def __init__(self) -> None:
            self.number = 1

        def call(self) -> int:
            return self.number

    Part.__module__ = "__main__"
    return Part


def _task() -> Callable[[], int]:
    def task() -> int:
        return 1

    task.__module__ = "__main__"
    return task


@contextmanager
def _as_it_was() -> Iterator[None]:
    """Puts back what a worker's start changes in its process."""
    streams = {name: getattr(sys, name) for name in ("stdout", "stderr", "__stdout__", "__stderr__", "argv")}
    situation, variables, leave = dict(vars(here)), dict(os.environ), os._exit
    handlers = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGUSR1)}
    try:
        yield
    finally:
        for name, value in streams.items():
            setattr(sys, name, value)
        interruption.forget_dropped()
        vars(here).clear()
        vars(here).update(situation)
        for name in os.environ.keys() - variables.keys():
            del os.environ[name]
        os.environ.update(variables)
        os._exit = leave
        for number, handler in handlers.items():
            signal.signal(number, handler)
