"""How large the processes of a long run are, and whether one of them grew.

Two sizes are compared, each at the settled minute and at the end (the median of what was seen within a minute of it):

- ``rss``: what is resident, without the pages of the arena. Those are the objects', shared by all processes and mapped
  by whoever touched them: a process that read another part of the arena has not grown. It may be larger by ``PART``.
- ``anon``: the anonymous memory in that, all that a process has allocated. It may be larger by ``PART`` or by
  ``GRAIN``, whichever is more: that much an allocator takes from the system at a time.
"""

from __future__ import annotations

import csv
import itertools
import statistics
from pathlib import Path

#: How much larger than at the settled minute a process may end.
PART = 0.05
#: CPython's allocator takes memory in pieces of 1 MiB.
GRAIN = 1 << 20

#: Sizes of each process at one time: by its role, then by the kind of size.
Sizes = dict[str, dict[str, int]]


def sizes(pid: int) -> dict[str, int]:
    """What a process has resident, in bytes.

    Raises:
        OSError: the process is gone.
    """
    found = {}
    for line in Path(f"/proc/{pid}/status").read_text().splitlines():
        key, _, value = line.partition(":")
        if key in {"RssAnon", "RssFile", "RssShmem"}:
            found[key] = int(value.split()[0]) << 10
    if not found:
        raise ProcessLookupError(f"process {pid} is a zombie")
    return {
        "rss": found["RssAnon"] + found["RssFile"],
        "anon": found["RssAnon"],
        "arena": found["RssShmem"],
    }


class Series:
    """The sizes over time, written down as they come."""

    def __init__(self, out: Path) -> None:
        self._out = out
        self._rows: list[tuple[float, Sizes]] = []

    def add(self, minute: float, now: Sizes) -> None:
        """Notes the sizes at a time."""
        first = not self._rows
        self._rows.append((minute, now))
        with self._out.open("w" if first else "a", newline="") as file:
            rows = csv.writer(file)
            if first:
                rows.writerow(["minute", "process", "rss", "anon", "arena"])
            rows.writerows([f"{minute:.2f}", role, *kinds.values()] for role, kinds in now.items())

    def report(self, settled: float, minutes: float, slack: int) -> bool:
        """Prints how the sizes went; whether a process ended larger than allowed.

        Each may be larger by ``slack`` bytes in any case: for runs that end before the session's tables, whose sizes
        have bounds, are full.
        """
        window = min(1.0, settled / 2)

        def around(minute: float, role: str, kind: str) -> float:
            near = [
                now[role][kind] for at, now in self._rows if abs(at - minute) <= window and now.get(role) is not None
            ]
            return statistics.median(near) if near else 0

        grew = False
        step = (minutes - settled) / 5
        marks = list(itertools.accumulate([settled, *[step] * 5]))
        print("MiB at minute      " + " ".join(f"{mark:6.1f}" for mark in marks))
        for role, kind in itertools.product(self._rows[-1][1], ["rss", "anon"]):
            line = [around(mark, role, kind) for mark in marks]
            allowed = max(line[0] * PART, slack, GRAIN if kind == "anon" else 0)
            larger = line[-1] - line[0]
            grew |= larger > allowed
            print(
                f"  {role:11} {kind:4} {' '.join(f'{size / (1 << 20):6.1f}' for size in line)}"
                f"  {larger / line[0] * 100 if line[0] else 0:+5.1f} %{'  GREW' if larger > allowed else ''}"
            )
        return grew
