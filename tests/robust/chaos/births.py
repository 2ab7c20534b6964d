"""Workers say when they begin to work, and the run learns how long a killed one was missed.

Replacement time is from the kill to the moment at which a fresh process does the dead one's work: for an actor the
beginning of its next constructor, for a task's worker the first task of a worker that did not work at the time of the
kill. Both are later than the moment at which the fresh worker is ready.
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
#: Seconds after its latest task for which a worker counts as working.
RECENT = 0.25


def born(actor: int = -1) -> None:
    """In a worker: tells that it begins a task, or the constructor of the actor of that number."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as line:
        try:
            line.sendto(_FORM.pack(os.getpid(), time.monotonic(), actor), os.environ[PATH])
        except (KeyError, OSError):
            return  # nobody measures


class Births:
    """Hears when work begins, and matches each kill with its replacement.

    A worker is announced here before it is killed: else a quick replacement may be heard of first.
    """

    def __init__(self, folder: Path) -> None:
        self._path = folder / "births"
        self._line = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self._line.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1 << 20)
        self._line.bind(str(self._path))
        os.environ[PATH] = str(self._path)
        self._lock = threading.Lock()
        self._actors: dict[int, int] = {}  # a worker's actor
        self._latest: dict[int, float] = {}  # a pooled worker's latest task
        self._lost: dict[int, float] = {}  # by actor: when its worker was killed, until it is back
        self._missed: list[tuple[float, set[int]]] = []  # when a pooled one was killed, and who worked then
        self._gaps: dict[str, list[float]] = {"task": [], "actor": []}
        self._thread = threading.Thread(target=self._listen, daemon=True)
        self._thread.start()

    def _listen(self) -> None:
        while data := self._line.recv(64):
            pid, when, actor = _FORM.unpack(data)
            with self._lock:
                if actor < 0:
                    self._works(pid, when)
                else:
                    self._lives(pid, when, actor)

    def _works(self, pid: int, when: float) -> None:
        self._latest[pid] = when
        for number, (killed, others) in enumerate(self._missed):
            if killed < when and pid not in others:
                del self._missed[number]
                for _, later in self._missed:
                    later.add(pid)  # one fresh worker replaces one dead one
                self._gaps["task"].append(when - killed)
                return

    def _lives(self, pid: int, when: float, actor: int) -> None:
        self._actors[pid] = actor
        self._latest.pop(pid, None)
        killed = self._lost.pop(actor, None)
        if killed is not None:
            self._gaps["actor"].append(when - killed)

    def working(self) -> list[int]:
        """The pooled workers that have just worked."""
        with self._lock:
            recent = time.monotonic() - RECENT
            return sorted(pid for pid, when in self._latest.items() if when > recent)

    def dies(self, victim: int, when: float) -> None:
        """Notes that a worker is about to be killed."""
        with self._lock:
            actor = self._actors.pop(victim, None)
            if actor is not None:
                self._lost.setdefault(actor, when)  # killed again before it is back: one gap
            elif (latest := self._latest.pop(victim, None)) is not None and latest > when - RECENT:
                self._missed.append((when, {pid for pid, at in self._latest.items() if at > when - RECENT}))

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
