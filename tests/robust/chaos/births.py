"""Workers say when they begin to work, and the run learns how long a killed one was missed.

Replacement time is from the kill to the moment at which the dead one's work is done again: for an actor the beginning
of its next constructor; for a worker that is killed in the middle of a task, until as many tasks run side by side as
there are CPUs. Both are later than the moment at which a fresh worker is ready.
"""

from __future__ import annotations

import os
import socket
import struct
import threading
import time
from pathlib import Path

#: Variable with the socket's path; workers inherit it.
PATH = "EAGLERAY_CHAOS_BIRTHS"
_FORM = struct.Struct("<idi")
#: What a task's worker says in place of an actor's number.
_BEGINS, _ENDS = -1, -2


def born(actor: int = _BEGINS) -> None:
    """In a worker: tells that it begins a task, or the constructor of the actor of that number."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as line:
        try:
            line.sendto(_FORM.pack(os.getpid(), time.monotonic(), actor), os.environ[PATH])
        except (KeyError, OSError):
            return  # nobody measures


def done() -> None:
    """In a worker: tells that the task whose beginning it told is over."""
    born(_ENDS)


class Births:
    """Hears when work begins, and matches each kill with its replacement.

    A worker is announced here before it is killed: else a quick replacement may be heard of first.
    """

    def __init__(self, folder: Path, cpus: int = 2) -> None:
        self._cpus = cpus
        self._path = folder / "births"
        self._line = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self._line.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1 << 20)
        self._line.bind(str(self._path))
        os.environ[PATH] = str(self._path)
        self._lock = threading.Lock()
        self._actors: dict[int, int] = {}  # a worker's actor
        self._running: set[int] = set()  # pooled workers in a task that tells its end, too
        self._dead: set[int] = set()
        self._lost: dict[int, float] = {}  # by actor: when its worker was killed, until it is back
        self._missed: list[float] = []  # when pooled workers were killed that are not replaced
        self._gaps: dict[str, list[float]] = {"task": [], "actor": []}
        self._thread = threading.Thread(target=self._listen, daemon=True)
        self._thread.start()

    def _listen(self) -> None:
        while data := self._line.recv(64):
            pid, when, actor = _FORM.unpack(data)
            with self._lock:
                if pid in self._dead:
                    continue
                if actor == _ENDS:
                    self._running.discard(pid)
                elif actor == _BEGINS:
                    self._works(pid, when)
                else:
                    self._lives(pid, when, actor)

    def _works(self, pid: int, when: float) -> None:
        self._running.add(pid)
        if len(self._running) >= self._cpus:
            self._gaps["task"] += [when - killed for killed in self._missed if killed < when]
            self._missed = [killed for killed in self._missed if killed >= when]

    def _lives(self, pid: int, when: float, actor: int) -> None:
        self._actors[pid] = actor
        self._running.discard(pid)
        killed = self._lost.pop(actor, None)
        if killed is not None:
            self._gaps["actor"].append(when - killed)

    def working(self) -> list[int]:
        """The pooled workers that run a task."""
        with self._lock:
            return sorted(self._running)

    def dies(self, victim: int, when: float) -> None:
        """Notes that a worker is about to be killed."""
        with self._lock:
            self._dead.add(victim)
            actor = self._actors.pop(victim, None)
            if actor is not None:
                self._lost.setdefault(actor, when)  # killed again before it is back: one gap
            elif victim in self._running:
                self._running.remove(victim)
                self._missed.append(when)

    def take(self, kind: str) -> list[float]:
        """How long dead workers were missed since the last time, those of ``"task"`` or ``"actor"``."""
        with self._lock:
            found, self._gaps[kind] = self._gaps[kind], []
            return found

    def back(self, seconds: float) -> bool:
        """Whether every killed actor is back within that time."""
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            with self._lock:
                if not self._lost:
                    return True
            time.sleep(0.01)
        return False

    def idle(self) -> None:
        """There is no more work: who died now is not replaced."""
        with self._lock:
            self._missed.clear()
            self._lost.clear()

    def close(self) -> None:
        """Ends the listening."""
        with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as line:
            line.sendto(b"", str(self._path))
        self._thread.join()
        self._line.close()
        self._path.unlink()
        del os.environ[PATH]
