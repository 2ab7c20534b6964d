"""How large the processes of a long run are, and whether one of them grew.

What is measured, once a second, from outside the processes (``/proc/PID/status``):

- ``rss``: all that is resident, as the kernel counts it (VmRSS). The pages of the arena are in it: they are the
  objects', shared by all processes and counted for each that has touched them since it mapped the arena.
- ``own``: the same without those pages.
- ``anon``: the anonymous memory in that, all that the process has allocated.

What is judged is the issue's rule: the end (the median of the last minute) must not be more than ``PART`` above the
settled minute (the median of the minute around it). For a process that lives the whole run that holds for ``own`` and,
in runs of at least ``LONG`` minutes, for ``rss``: until then processes touch ranges of the arena for the first time,
and a busy machine gets less far. For a crowd, processes that come and go, each sample is the median over those that are
old enough to have settled, and only ``own`` is judged: how much of the arena a process has touched says how long it has
lived. A crowd shows what a single process cannot: whether those that are forked late begin larger.
"""

from __future__ import annotations

import csv
import itertools
import statistics
from dataclasses import dataclass
from pathlib import Path

#: How much larger than at the settled minute a process may end.
PART = 0.05
#: Minutes after which the whole arena has been touched, so that ``rss`` tells something.
LONG = 10.0
#: Kinds of size, in the order of the file's columns.
KINDS = ("rss", "own", "anon")
MIB = 1 << 20

#: The sizes of one process by kind.
Size = dict[str, int]


def sizes(pid: int) -> Size:
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
    own = found["RssAnon"] + found["RssFile"]
    return {"rss": own + found["RssShmem"], "own": own, "anon": found["RssAnon"]}


def middle(crowd: list[Size]) -> Size:
    """The median of each kind of size."""
    return {kind: int(statistics.median(one[kind] for one in crowd)) for kind in KINDS}


@dataclass
class Verdict:
    """How one kind of size of one role went, from the settled minute on; bytes."""

    role: str
    kind: str
    settled: float
    end: float
    least: float
    most: float
    slope: float  # a minute
    allowed: float | None  # bytes that it may be larger by; None: it is not judged

    @property
    def right(self) -> bool:
        """Whether it did not grow more than allowed."""
        return self.allowed is None or self.end - self.settled <= self.allowed

    def line(self) -> str:
        """For people; MiB."""
        part = (self.end - self.settled) / self.settled * 100 if self.settled else 0.0
        says = "" if self.allowed is None else "  RIGHT" if self.right else "  WRONG"
        return (
            f"  {self.role:14} {self.kind:4} {self.settled / MIB:8.2f} {self.end / MIB:8.2f} {part:+7.2f} % "
            f"{self.least / MIB:8.2f} {self.most / MIB:8.2f} {60 * self.slope / MIB:+9.2f}{says}"
        )


HEAD = f"  {'process':14} {'kind':4} {'settled':>8} {'end':>8} {'grown':>9} {'least':>8} {'most':>8} {'MiB/hour':>9}"


class Series:
    """The sizes over time. They are written down as they come and not kept here: the driver is measured, too."""

    def __init__(self, out: Path) -> None:
        out.parent.mkdir(parents=True, exist_ok=True)
        self._path = out
        self._file = out.open("w", newline="")
        self._csv = csv.writer(self._file)
        self._csv.writerow(["minute", "process", "count", *KINDS])

    def add(self, minute: float, role: str, size: Size, crowd: int = 0) -> None:
        """Notes a size at a time, of one process or in the middle of a crowd of so many."""
        self._csv.writerow([f"{minute:.3f}", role, crowd, *(size[kind] for kind in KINDS)])
        self._file.flush()

    def judge(self, settled: float, minutes: float, slack: int) -> list[Verdict]:
        """Compares the end with the settled minute.

        Each may be larger by ``slack`` bytes in any case: for runs that end before the session's tables, whose sizes
        have bounds, are full.
        """
        half = min(0.5, settled / 4)
        rows: dict[str, list[tuple[float, Size]]] = {}
        crowds = set()
        with self._path.open(newline="") as file:
            for row in csv.DictReader(file):
                rows.setdefault(row["process"], []).append(
                    (float(row["minute"]), {kind: int(row[kind]) for kind in KINDS})
                )
                if row["count"] != "0":
                    crowds.add(row["process"])
        found = []
        for role, kind in itertools.product(rows, KINDS):
            points = [(at, float(size[kind])) for at, size in rows[role]]
            later = [(at, size) for at, size in points if at >= settled]
            if not later:
                continue
            start, end = around(points, settled, half), around(points, minutes - half, half)
            judged = kind == "own" or (kind == "rss" and role not in crowds and minutes >= LONG)
            seen = [size for _, size in later]
            allowed = max(PART * start, slack) if judged else None
            found.append(Verdict(role, kind, start, end, min(seen), max(seen), slope(later), allowed))
        return found


def around(points: list[tuple[float, float]], minute: float, half: float) -> float:
    """The median size from ``half`` a window before a minute to half a window after it; 0 when there is none."""
    near = [size for at, size in points if abs(at - minute) <= half]
    return statistics.median(near) if near else 0.0


def slope(points: list[tuple[float, float]]) -> float:
    """The incline of the straight line that fits best."""
    if len(points) < 2:
        return 0.0
    return statistics.linear_regression(*zip(*points, strict=True)).slope
