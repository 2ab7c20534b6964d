"""Workers say when they begin to work, and the run learns how long a dead one was missed."""

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
_told = 0


def born(actor: int = -1) -> None:
    """In a worker: tells once that it runs its first work, for the actor of that number if it is one's."""
    global _told
    if actor < 0 and _told == os.getpid():  # a pooled one may have become an actor's
        return
    _told = os.getpid()
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as line:
        try:
            line.sendto(_FORM.pack(os.getpid(), time.monotonic(), actor), os.environ[PATH])
        except (KeyError, OSError):
            return  # nobody measures


class Births:
    """Hears of workers' first work, and matches each death with its replacement.

    An actor's worker is replaced when the same actor's constructor has run again; a pooled one by the next pooled
    one that begins to work, while there is work for it.
    """

    def __init__(self, folder: Path) -> None:
        self._path = folder / "births"
        self._line = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self._line.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1 << 20)
        self._line.bind(str(self._path))
        os.environ[PATH] = str(self._path)
        self._lock = threading.Lock()
        self._of: dict[int, int] = {}  # a worker's actor, -1 for a pooled one
        self._missed: dict[int, list[float]] = {}  # by actor: when workers died that nobody replaced yet
        self._gaps: dict[str, list[float]] = {"task": [], "actor": []}
        self._thread = threading.Thread(target=self._listen, daemon=True)
        self._thread.start()

    def _listen(self) -> None:
        while data := self._line.recv(64):
            pid, when, actor = _FORM.unpack(data)
            with self._lock:
                self._of[pid] = actor
                missed = self._missed.get(actor)
                if missed and missed[0] < when:
                    gap = when - missed.pop(0)
                    self._gaps["task" if actor < 0 else "actor"].append(gap)
                    if actor >= 0:
                        missed.clear()  # it died again before it had worked: one gap

    def died(self, pid: int, when: float) -> bool:
        """Notes that a worker was killed; False for one that had not worked yet."""
        with self._lock:
            actor = self._of.pop(pid, None)
            if actor is None:
                return False
            self._missed.setdefault(actor, []).append(when)
            return True

    def take(self, kind: str) -> list[float]:
        """How long dead workers were missed since the last time, those of ``"task"`` or ``"actor"``."""
        with self._lock:
            found, self._gaps[kind] = self._gaps[kind], []
            return found

    def idle(self) -> None:
        """There is no more work: who died now is not replaced."""
        with self._lock:
            self._missed.clear()

    def close(self) -> None:
        """Ends the listening."""
        with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as line:
            line.sendto(b"", str(self._path))
        self._thread.join()
        self._line.close()
        self._path.unlink()
        del os.environ[PATH]
