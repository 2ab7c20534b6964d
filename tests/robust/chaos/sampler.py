"""Looks at the sizes of a session's processes for as long as a run lasts."""

from __future__ import annotations

import threading
import time

from chaos.killer import workers
from chaos.sizes import Series, middle, sizes

#: Seconds from one measurement to the next.
PACE = 1.0
#: A worker that has lived so many seconds has loaded what its work needs.
GROWN = 1.0


class Sampler:
    """Notes the sizes of the session's processes on a thread of its own, at any time of the load."""

    def __init__(self, daemon: int, alone: dict[str, int], series: Series, start: float) -> None:
        self._daemon = daemon
        self._alone = alone
        self._series = series
        self._start = start
        self._born: dict[int, float] = {}
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)
        self.crowd: set[int] = set()  # all workers that were measured in it
        self.trouble: Exception | None = None
        self._thread.start()

    def stop(self) -> None:
        """Measures no more."""
        self._over.set()
        self._thread.join()

    def _run(self) -> None:
        try:
            while not self._over.wait(PACE):
                self._look()
        except Exception as error:  # the run fails with it, after what it was doing
            self.trouble = error

    def _look(self) -> None:
        now = time.monotonic()
        minute = (now - self._start) / 60
        for role, pid in self._alone.items():
            try:
                self._series.add(minute, role, sizes(pid))
            except OSError as error:
                raise RuntimeError(f"the {role}, process {pid}, which was to live the whole run, has ended") from error
        here = set(workers(self._daemon)) - set(self._alone.values())
        self._born = {pid: self._born.get(pid, now) for pid in here}
        found = []
        for pid in [pid for pid, since in self._born.items() if now - since >= GROWN]:
            try:
                found.append(sizes(pid))
            except OSError:  # it ended just now
                continue
            self.crowd.add(pid)
        if found:
            self._series.add(minute, "other workers", middle(found), len(found))
