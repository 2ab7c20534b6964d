"""Workers report when they begin to work, and the run learns how long the replacement of each killed worker took.

The recovery time of a worker begins with its kill. For an actor it ends when the constructor begins again. For a worker
that is killed in the middle of a task it ends when as many tasks run side by side as there are CPUs. Both moments are
later than the one at which a fresh worker is ready.
"""

from __future__ import annotations

import math
import os
import socket
import struct
import threading
import time
from pathlib import Path

#: Variable with the socket's path; workers inherit it.
PATH = "EAGLERAY_CHAOS_RECOVERY"
_FORM = struct.Struct("<idi")
#: What a task's worker sends in place of an actor's number.
_TASK_STARTS, _TASK_ENDS = -1, -2
#: Seconds in which a killed process may still run on another processor.
_DYING_S = 0.01


def report_start(actor: int = _TASK_STARTS) -> None:
    """Called in a worker: reports that it begins a task, or the constructor of the actor with that number."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as line:
        try:
            line.sendto(_FORM.pack(os.getpid(), time.monotonic(), actor), os.environ[PATH])
        except (KeyError, OSError):
            return  # nobody measures


def report_end() -> None:
    """Called in a worker: reports that the task whose start it reported has ended."""
    report_start(_TASK_ENDS)


class RecoveryMonitor:
    """Receives the reports of workers, and matches each kill with the replacement of the worker.

    The killer announces each kill before it happens. Otherwise the report of a quick replacement could arrive first.
    """

    def __init__(self, folder: Path, cpus: int = 2) -> None:
        self._cpus = cpus
        self._path = folder / "recovery"
        self._line = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self._line.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1 << 20)
        self._line.bind(str(self._path))
        os.environ[PATH] = str(self._path)
        self._lock = threading.Lock()
        self._actors: dict[int, int] = {}  # by worker: the number of its actor
        self._running: set[int] = set()  # pooled workers in a task that reports its end, too
        self._dead: dict[int, float] = {}  # by killed worker: until when reports with its pid are its own
        self._lost: dict[int, float] = {}  # by actor that is not back yet: when its worker was killed
        self._missed: list[float] = []  # when the pooled workers that are not replaced yet were killed
        self._gaps: dict[str, list[float]] = {"task": [], "actor": []}
        self._thread = threading.Thread(target=self._listen, daemon=True)
        self._thread.start()

    def _listen(self) -> None:
        while data := self._line.recv(64):
            pid, when, actor = _FORM.unpack(data)
            with self._lock:
                if when <= self._dead.get(pid, 0.0):
                    continue
                self._dead.pop(pid, None)  # the system has given the pid to another process
                if actor == _TASK_ENDS:
                    self._running.discard(pid)
                elif actor == _TASK_STARTS:
                    self._task_started(pid, when)
                else:
                    self._actor_started(pid, when, actor)

    def _task_started(self, pid: int, when: float) -> None:
        self._running.add(pid)
        if len(self._running) >= self._cpus:
            self._gaps["task"] += [when - killed for killed in self._missed if killed < when]
            self._missed = [killed for killed in self._missed if killed >= when]

    def _actor_started(self, pid: int, when: float, actor: int) -> None:
        self._actors[pid] = actor
        self._running.discard(pid)
        killed = self._lost.pop(actor, None)
        if killed is not None:
            self._gaps["actor"].append(when - killed)

    def working(self) -> list[int]:
        """The pooled workers that run a task."""
        with self._lock:
            return sorted(self._running)

    def actors(self) -> dict[int, int]:
        """The number of the actor that each worker of an actor has."""
        with self._lock:
            return dict(self._actors)

    def announce_kill(self, victim: int, when: float) -> None:
        """Notes that a worker is about to be killed."""
        with self._lock:
            self._dead[victim] = math.inf
            actor = self._actors.pop(victim, None)
            if actor is not None:
                self._lost.setdefault(actor, when)  # an actor that is killed again before it is back counts once
            elif victim in self._running:
                self._running.remove(victim)
                self._missed.append(when)

    def note_killed(self, victim: int) -> None:
        """Notes that the announced kill has happened. Another process may get the pid from now on."""
        with self._lock:
            self._dead[victim] = time.monotonic() + _DYING_S

    def take(self, kind: str) -> list[float]:
        """The recovery times of ``"task"`` or ``"actor"`` workers since the last call."""
        with self._lock:
            found, self._gaps[kind] = self._gaps[kind], []
            return found

    def wait_recovered(self, seconds: float) -> bool:
        """Waits until every killed actor is back; False: one is not back within that time."""
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            with self._lock:
                if not self._lost:
                    return True
            time.sleep(0.01)
        return False

    def forget_missing(self) -> None:
        """Forgets the workers that are not replaced yet: without work they never will be."""
        with self._lock:
            self._missed.clear()
            self._lost.clear()

    def close(self) -> None:
        """Stops listening and removes the socket."""
        with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as line:
            line.sendto(b"", str(self._path))
        self._thread.join()
        self._line.close()
        self._path.unlink()
        del os.environ[PATH]
