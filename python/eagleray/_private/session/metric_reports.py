"""What this process counts and measures, and the thread that reports it to the daemon.

Values are kept here for as long as the process lives, and a report says how much each is, not how much it has changed.
So nothing is lost with a report, and a new session gets everything again.
"""

from __future__ import annotations

import atexit
import bisect
import os
import re
import threading
from collections.abc import Iterator
from typing import Any

from eagleray._private import driver_log
from eagleray._private.hot_error import HotError
from eagleray._private.messages import pack, unpack
from eagleray._private.state import process

COUNTER = "counter"
GAUGE = "gauge"
HISTOGRAM = "histogram"

#: Seconds between two reports.
INTERVAL = 1.0
#: How many series a process keeps. The node has bounds of its own, in bytes.
MOST_SERIES = 50_000
_CALL_MS = 5_000
#: About how many bytes one report has.
_MOST_BYTES = 1_000_000

Tags = tuple[tuple[str, str], ...]


class Table:
    """One metric of this process: a row for each choice of values of its tags."""

    def __init__(self, name: str, kind: str, description: str, boundaries: tuple[float, ...]) -> None:
        self.name = name
        self.kind = kind
        self.description = description
        self.boundaries = boundaries
        self.rows: dict[Tags, list[Any]] = {}  # a value, or of a histogram the sum and the counts
        self.changed: set[Tags] = set()

    def record(self, tags: Tags, value: float) -> bool:
        """Adds a value; False when there is no room for its row."""
        row = self.rows.get(tags)
        if row is None:
            if reports.series >= MOST_SERIES:
                return False
            reports.series += 1
            row = self.rows[tags] = [0.0, [0] * (len(self.boundaries) + 1) if self.boundaries else None]
        if self.kind == GAUGE:
            row[0] = float(value)
        else:
            row[0] += value
            if row[1] is not None:
                row[1][bisect.bisect_left(self.boundaries, value)] += 1
        self.changed.add(tags)
        return True


class Reports:
    """The tables of this process and the thread that reports them, which starts when there is something to report."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.tables: dict[tuple[Any, ...], Table] = {}
        self.series = 0
        self._sending = threading.Lock()
        self._wake = threading.Event()
        self._thread: threading.Thread | None = None
        self._epoch = -1  # the session that has been told all
        self._off = -1  # the session that takes no reports
        self._said: set[str] = set()

    def table(self, name: str, kind: str, description: str, boundaries: tuple[float, ...] = ()) -> Table:
        """The table of a metric; metrics with the same name and kind share one."""
        key = (name, kind, boundaries)
        with self.lock:
            found = self.tables.get(key)
            if found is None:
                found = self.tables[key] = Table(name, kind, description, boundaries)
            return found

    def record(self, table: Table, tags: Tags, value: float) -> None:
        """Adds a value to a table, to be reported within a second."""
        with self.lock:
            kept = table.record(tags, value)
        if not kept:
            self._say(f"metrics: this process has {MOST_SERIES} series already, so {table.name} gets no further ones")
        elif not self._wake.is_set() and self._off != process.epoch:
            self.wake()

    def wake(self) -> None:
        """Has what has changed reported soon."""
        if process.session is None:
            return  # init() calls this again
        self._wake.set()
        if self._thread is None:
            with self.lock:
                if self._thread is None:
                    self._thread = threading.Thread(target=self._run, name="eagleray-metrics", daemon=True)
                    self._thread.start()
                    atexit.register(self.flush)

    def _run(self) -> None:
        pause = threading.Event()
        while True:
            self._wake.wait()
            pause.wait(INTERVAL)  # what comes meanwhile goes with the same report
            self._wake.clear()
            self.flush()

    def flush(self) -> None:
        """Reports what has changed, now."""
        with self._sending:
            session, epoch = process.session, process.epoch
            if session is None or process.forked or self._off == epoch:
                return
            for body in self._bodies(epoch):
                try:
                    answer = unpack(session.hot.rpc("metrics", pack({"metrics": body}), _CALL_MS))
                except HotError:
                    self._epoch = -1  # the session ends, or the daemon is busy: all is reported again
                    return
                if answer["off"]:
                    self._off = epoch
                    return
                if answer["refused"]:
                    self._say(f"metrics: {answer['refused']} series are not reported: {answer['why']}")

    def _bodies(self, epoch: int) -> Iterator[list[dict[str, Any]]]:
        """What is to be reported, in parts of bounded size."""
        with self.lock:
            everything, self._epoch = self._epoch != epoch, epoch
            listed: list[tuple[Table, Tags, float, list[int] | None]] = []
            for table in self.tables.values():
                for tags in table.rows if everything else table.changed:
                    value, counts = table.rows[tags]
                    listed.append((table, tags, value, list(counts) if counts else None))
                table.changed.clear()
        part: dict[tuple[int, tuple[str, ...]], dict[str, Any]] = {}
        size = 0
        for table, tags, value, counts in listed:
            keys = tuple(key for key, _ in tags)
            found = part.get((id(table), keys))
            if found is None:
                found = part[id(table), keys] = {
                    "Name": table.name,
                    "Kind": table.kind,
                    "Help": table.description,
                    "TagKeys": [label_name(key) for key in keys],
                    "Boundaries": list(table.boundaries),
                    "Series": [],
                }
                size += 200 + len(table.description) + 9 * len(table.boundaries)
            found["Series"].append({"Tags": [text for _, text in tags], "Value": value, "Counts": counts or []})
            size += 60 + 9 * len(counts or ()) + sum(len(text) for _, text in tags)
            if size >= _MOST_BYTES:
                yield list(part.values())
                part, size = {}, 0
        if part:
            yield list(part.values())

    def _say(self, text: str) -> None:
        """Warns, once for each reason."""
        if text not in self._said and len(self._said) < 20:
            self._said.add(text)
            driver_log.warning(text)


def label_name(key: str) -> str:
    """A tag's name as Prometheus allows names of labels."""
    name = re.sub(r"[^a-zA-Z0-9_]", "_", key)
    return name if name[:1] and not name[0].isdigit() else "_" + name


reports = Reports()


def _after_fork() -> None:
    """Begins with nothing in a process that user code has forked: what its parent has counted is the parent's."""
    global reports
    fresh = Reports()
    for key, table in reports.tables.items():
        table.rows, table.changed = {}, set()
        fresh.tables[key] = table
    reports = fresh


os.register_at_fork(after_in_child=_after_fork)
