"""The exception that interrupts a cancelled task, also where the interpreter drops it.

The interpreter calls the handler of a signal between two steps of the running Python code. That code may be a
callback of a weak reference, or ``__del__``; each import runs such a callback. The interpreter prints and drops an
exception that leaves such code, and the task goes on as if it had not been cancelled. So this module notices
exceptions that were dropped, and makes the interpreter call the handler once more.
"""

from __future__ import annotations

import signal
import sys
import threading
import time
from typing import Any

from eagleray._private.context import here

#: Seconds until the handler of a dropped interruption is called again; each further time takes twice as long.
_SOON, _LATEST = 0.01, 1.0
#: The running tasks whose interruption was dropped, until the handler takes them.
_dropped: set[bytes] = set()


class Cancelled(KeyboardInterrupt):
    """Raised in the task that somebody cancelled."""


def notice_dropped() -> None:
    """Notices interruptions that are dropped in this process, from now on."""
    if sys.unraisablehook is not _unraisable:
        global _otherwise
        _otherwise = sys.unraisablehook
        sys.unraisablehook = _unraisable


def forget_dropped() -> None:
    """Undoes ``notice_dropped``."""
    if sys.unraisablehook is _unraisable:
        sys.unraisablehook = _otherwise


def take_dropped() -> list[bytes]:
    """The tasks that are to be interrupted again, each once."""
    found = list(_dropped)
    _dropped.clear()
    return found


def raised_error(error: BaseException) -> BaseException:
    """What a task raised, or the interruption that Python up to 3.11 has put into an exception of its own.

    A class whose attribute fails in ``__set_name__`` gives a ``RuntimeError``, whatever the failure was.
    """
    inner = error.__cause__
    if type(error) is RuntimeError and isinstance(inner, Cancelled) and str(error).startswith("Error calling __set_"):
        return inner
    return error


_otherwise: Any = sys.__unraisablehook__
_sleep = time.sleep  # a program may replace it


def _unraisable(told: Any) -> None:
    task_id = here.running.task_id
    if not isinstance(told.exc_value, Cancelled) or task_id is None:
        _otherwise(told)
        return
    _dropped.add(task_id)
    # Not from here: the code whose exceptions are dropped still runs.
    threading.Thread(target=_remind, name="eagleray-interruption", daemon=True).start()


def _remind() -> None:
    wait = _SOON
    main = threading.main_thread().ident
    while _dropped and main is not None:
        _sleep(wait)
        if _dropped:
            signal.pthread_kill(main, signal.SIGUSR1)
        wait = min(2 * wait, _LATEST)
