"""The output of one task, taken out of the files in which workers write."""

from __future__ import annotations

import os
from typing import Any, NamedTuple

from eagleray._private.sections import TASK_BEGINS, TaskLines, is_text

_PART = 1 << 20
#: Bytes of one task's output that are given; the file of a worker has 64 MiB at most.
_MOST = 64 << 20


class Reading(NamedTuple):
    """How far a worker's file was read for a task.

    Attributes:
        at: The offset in the file.
        lines: What is known of the lines before that.
    """

    at: int
    lines: TaskLines


def open_log(folder: str, name: str) -> Any:
    """Opens a file of the session's folder of logs, which must not be a link.

    Raises:
        OSError: it cannot be opened.
    """
    return os.fdopen(os.open(os.path.join(folder, "logs", name), os.O_RDONLY | os.O_NOFOLLOW), "rb")


def read(folder: str, name: str, task_id: str, reading: Reading | None, follow: bool) -> tuple[bytes, bool, Reading]:
    """Returns what the latest run of a task has written into a worker's file, from a place on.

    Args:
        folder: The session's.
        name: The file; one that is not there is empty.
        task_id: The task, in hex.
        reading: What the last call has returned; None for the beginning of the file.
        follow: Leave a line without an end for the next call.

    Returns:
        The lines, whether these are of another run than those before, and how far the file was read.
    """
    at, lines = reading or Reading(0, TaskLines(task_id))
    runs = lines.runs
    found: list[bytes] = []
    try:
        file = open_log(folder, name)
    except FileNotFoundError:
        return b"", False, Reading(at, lines)
    with file:
        file.seek(at)
        size = 0
        for line in file:
            if follow and not line.endswith(b"\n"):
                break
            at += len(line)
            before = lines.runs
            taken = lines.take((line,))
            if lines.runs != before:
                found, size = [], 0
            found += taken
            size += sum(map(len, taken))
            if size > _MOST:
                break
    return b"".join(found), lines.runs != runs and runs > 0, Reading(at, lines)


def files_of(folder: str, task_id: str, suffix: str) -> list[str]:
    """Returns the names of the workers' files in which a task has written."""
    begins = f"{TASK_BEGINS}{task_id}\n".encode()
    found = []
    with os.scandir(os.path.join(folder, "logs")) as entries:
        names = sorted(one.name for one in entries if one.name.startswith("worker-") and one.is_file())
    for name in names:
        if name.endswith(f".{suffix}"):
            with open_log(folder, name) as file:
                if _contains(file, begins):
                    found.append(name)
    return found


def _contains(file: Any, text: bytes) -> bool:
    rest = b""
    while block := file.read(_PART):
        if text in rest + block:
            return True
        rest = block[-len(text) :]
    return False


def last_lines(text: bytes, number: int) -> bytes:
    """Returns so many lines of the end of a text; all for a negative number."""
    if number < 0:
        return text
    return b"".join(text.splitlines(keepends=True)[-number:]) if number else b""


def without_marks(data: bytes) -> bytes:
    """Returns whole lines of a worker's file without those that only say who writes."""
    return b"".join(line for line in data.splitlines(keepends=True) if is_text(line))
