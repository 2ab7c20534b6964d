"""A worker's standard output and error: pipes that the daemon reads line by line.

Lines of their own name the writer of the lines after them, and the task (see ``sections``). They are written before the
first output of another writer, and when a task ends that has written something, so a worker pays nothing for tasks that
print nothing. A line that one task begins and another one ends belongs to the first.

A line that ends with ``\\x1f:over:``, on standard error only, says that the output after it comes from other work:
from the next task, or from the actor that the worker becomes. If the process dies, earlier output does not explain why.
"""

from __future__ import annotations

import io
import os
import sys

from eagleray._private.context import here
from eagleray._private.sections import NAME, OVER, TASK_BEGINS, TASK_ENDS

_WORK_ENDS = f"{OVER}\n".encode()


class Output(io.TextIOWrapper):
    """Text output that says who writes."""

    def __init__(self, fd: int) -> None:
        raw = io.FileIO(fd, "w", closefd=False)
        super().__init__(io.BufferedWriter(raw), encoding="utf-8", errors="backslashreplace", line_buffering=True)
        self._label = ""
        self._task: bytes | None = None
        self._at_start = True
        self._is_error = fd == 2

    def begin_line(self) -> None:
        """Notes that something else has ended the line."""
        self._at_start = True

    def _name_writer(self, task: bytes | None) -> None:
        """Says who writes from now on."""
        marks = ""
        if here.label != self._label:
            self._label = here.label
            marks = f"{'' if self._at_start else chr(10)}{NAME}{self._label}\n"
            self._at_start = True
        if task != self._task and self._at_start:
            self._task = task
            marks += f"{TASK_ENDS}\n" if task is None else f"{TASK_BEGINS}{task.hex()}\n"
            here.in_section = here.in_section or task is not None
        if marks:
            super().write(marks)

    def end_task(self, task: bytes) -> bool:
        """Says that a task has ended, if it has written last. Returns whether another task's lines may follow."""
        if self._task == task and self._at_start:
            self._task = None
            super().write(f"{TASK_ENDS}{task.hex()}\n")
        return self._task is not None

    def write(self, text: str) -> int:
        if text:
            task = here.running.task_id
            if task != self._task or here.label != self._label:
                self._name_writer(task)
            if self._is_error:
                here.wrote_error = True
            self._at_start = text[-1] in "\r\n"
            if not self._at_start:
                here.unfinished_line = True
        return super().write(text)


def flush_lines() -> None:
    """Sends text that a task left without an end of line."""
    here.unfinished_line = False
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except (OSError, ValueError):  # the user's own stream, closed
            continue


def end_task(task: bytes) -> None:
    """Notes that a task has ended: what is written from now on is not its own."""
    goes_on = False
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, Output):
            try:
                goes_on = stream.end_task(task) or goes_on
            except (OSError, ValueError):  # the user has closed it
                continue
    here.in_section = goes_on


def end_section() -> None:
    """Tells the daemon that what this process writes to standard error from now on is of other work."""
    here.wrote_error = False
    try:
        sys.stderr.flush()
        os.write(2, _WORK_ENDS)
    except (AttributeError, OSError, ValueError):  # the user's own stream, or none
        return
    if isinstance(sys.stderr, Output):
        sys.stderr.begin_line()


def install() -> None:
    """Puts the outputs in place."""
    sys.stdout = Output(1)
    sys.stderr = Output(2)
    # Libraries that want the originals must not find the zygote's.
    sys.__stdout__, sys.__stderr__ = sys.stdout, sys.stderr  # type: ignore[misc]
