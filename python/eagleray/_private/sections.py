"""The lines in what a worker writes that say who has written the lines after them.

A line of the form ``\\x1f:name:TEXT`` has what stands in front of the lines after it where the driver shows them. A
line ``\\x1f:task:+HEX`` has the id of the task that writes the lines after it, and ``\\x1f:task:-HEX`` says that this
task has ended. A line ``\\x1f:task:-`` says that no task writes.
"""

from __future__ import annotations

from collections.abc import Iterable

#: The beginning of all such lines.
MARK = "\x1f:"
NAME = "\x1f:name:"
TASK_BEGINS = "\x1f:task:+"
TASK_ENDS = "\x1f:task:-"
#: At the end of a line, or as one: what follows on standard error comes from other work.
OVER = "\x1f:over:"

_MARK = MARK.encode()
_OVER = OVER.encode()


def is_text(line: bytes) -> bool:
    """Whether a line is one that the program has written."""
    return not line.startswith(_MARK)


class TaskLines:
    """Takes the lines of one task out of the lines of a worker.

    Attributes:
        runs: How many runs of the task have begun to write.
    """

    def __init__(self, task_id: str) -> None:
        self._begins = (TASK_BEGINS + task_id).encode()
        self._ends = (TASK_ENDS + task_id).encode()
        self._task = (TASK_BEGINS[:-1]).encode()
        self._writes = False
        self._over = True
        self.runs = 0

    def take(self, lines: Iterable[bytes]) -> list[bytes]:
        """Returns those of the lines that the latest run of the task has written.

        When another run begins, the lines before it are left out, and ``runs`` is higher than before.
        """
        found: list[bytes] = []
        for line in lines:
            if not line.startswith(_MARK):
                if self._writes:
                    found.append(line.replace(_OVER, b""))
            elif line.startswith(self._task):
                mark = line.rstrip(b"\r\n")
                self._writes = mark == self._begins
                if self._writes and self._over:
                    self.runs += 1
                    self._over = False
                    found.clear()
                elif mark == self._ends:
                    self._over = True
        return found
