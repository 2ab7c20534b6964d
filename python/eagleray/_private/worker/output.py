"""A worker's standard output and error: pipes that the daemon reads line by line.

A line of the form ``\\x1f:name:TEXT`` names the writer of the lines after it. It is written before the first output of
another writer, so a worker pays nothing for tasks that print nothing.

A line that ends with ``\\x1f:over:``, on standard error only, says that the output after it comes from other work:
from the next task, or from the actor that the worker becomes. If the process dies, earlier output does not explain why.
"""

from __future__ import annotations

import io
import os
import sys

from eagleray._private.context import here

_MARK = "\x1f:name:"
_WORK_ENDS = b"\x1f:over:\n"


class Output(io.TextIOWrapper):
    """Text output that says who writes."""

    def __init__(self, fd: int) -> None:
        raw = io.FileIO(fd, "w", closefd=False)
        super().__init__(io.BufferedWriter(raw), encoding="utf-8", errors="backslashreplace", line_buffering=True)
        self._label = ""
        self._at_start = True
        self._is_error = fd == 2

    def begin_line(self) -> None:
        """Notes that something else has ended the line."""
        self._at_start = True

    def write(self, text: str) -> int:
        if here.label != self._label and text:
            self._label = here.label
            super().write(f"{'' if self._at_start else chr(10)}{_MARK}{self._label}\n")
        if text:
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
