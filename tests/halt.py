"""Stops processes so that they have really stopped.

``os.kill(pid, SIGSTOP)`` returns before the process has stopped. The kernel gives the signal to one thread, and the
others run on until that thread has had a processor, which takes milliseconds on a busy machine. A worker that a test
takes for stopped can begin a task in that time.
"""

from __future__ import annotations

import contextlib
import os
import signal
from collections.abc import Iterator
from pathlib import Path

from pace import until


def _stopped(pid: int) -> bool:
    """Whether every thread of the process is stopped; a process or thread that has ended runs no more either."""
    for stat in Path(f"/proc/{pid}/task").glob("*/stat"):
        with contextlib.suppress(FileNotFoundError, ProcessLookupError):
            if stat.read_text().rpartition(")")[2].split()[0] not in "TtZX":
                return False
    return True


def halt(*pids: int) -> None:
    """Stops the processes, and returns when no thread of them runs any more."""
    for pid in pids:
        os.kill(pid, signal.SIGSTOP)
    for pid in pids:
        until(lambda pid=pid: _stopped(pid), f"process {pid} stops")  # type: ignore[misc]


@contextlib.contextmanager
def halted(*pids: int) -> Iterator[None]:
    """Stops the processes for the length of a block. Those that the block kills stay dead."""
    try:
        halt(*pids)
        yield
    finally:
        for pid in pids:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGCONT)
