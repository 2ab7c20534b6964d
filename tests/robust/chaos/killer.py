"""Kills a worker every so often."""

from __future__ import annotations

import os
import random
import signal
import threading
import time
from pathlib import Path

from processes import name

from chaos.recovery import RecoveryMonitor


def children(pid: int) -> list[int]:
    """The direct children of a process."""
    found = []
    for path in Path(f"/proc/{pid}/task").glob("*/children"):
        try:
            found += [int(word) for word in path.read_text().split()]
        except OSError:
            continue
    return found


def workers(daemon: int) -> list[int]:
    """A daemon's workers: children of its zygotes, and of itself when their zygote is gone."""
    below = children(daemon)
    return sorted(
        pid for pid in below + [one for each in below for one in children(each)] if name(pid) == "eagleray-worker"
    )


class Killer:
    """Kills one of the session's workers per interval, or one that works; a seed says which."""

    def __init__(self, daemon: int, monitor: RecoveryMonitor, seed: int, interval: float, busy: bool = False) -> None:
        self._daemon = daemon
        self._monitor = monitor
        self._chance = random.Random(seed)
        self._interval = interval
        self._busy = busy
        self._over = threading.Event()
        self.killed = 0
        self._thread = threading.Thread(target=self._run, daemon=True)

    def start(self) -> None:
        """Begins."""
        self._thread.start()

    def stop(self) -> None:
        """Kills no more."""
        self._over.set()
        self._thread.join()

    def _run(self) -> None:
        due = time.monotonic()
        while True:
            due = max(due + self._interval, time.monotonic())  # a late one is not made up for by two at once
            if self._over.wait(due - time.monotonic()):
                return
            victims = self._monitor.working() if self._busy else workers(self._daemon)
            if not victims:
                continue
            victim = self._chance.choice(victims)
            self._monitor.announce_kill(victim, time.monotonic())
            try:
                os.kill(victim, signal.SIGKILL)
            except ProcessLookupError:
                continue
            finally:
                self._monitor.note_killed(victim)
            self.killed += 1
