"""Ends the processes of a session whose daemon was killed. Each carries a mark, by which it is found."""

from __future__ import annotations

import os
import signal
import time

#: The variable that the daemon gives to everything that it starts: the name of the session's folder.
MARK = "EAGLERAY_SESSION_MARK"
_ROUNDS = 50


def kill_processes(mark: str, spared: frozenset[bytes] = frozenset()) -> None:
    """Kills the processes of a session, this one excepted, also those that are stopped or hang.

    Args:
        mark: The mark of the session.
        spared: Names of processes that end by themselves.
    """
    if not mark:
        return
    wanted = f"{MARK}={mark}".encode()
    for _ in range(_ROUNDS):  # a process that is killed may just have started another one
        found = [pid for pid in _others() if _is_of(pid, wanted, spared)]
        if not found:
            return
        for pid in found:
            try:
                os.kill(pid, signal.SIGKILL)
            except OSError:
                continue
        time.sleep(0.01)


def _others() -> list[int]:
    me = os.getpid()
    return [int(name) for name in os.listdir("/proc") if name.isdigit() and int(name) != me]


def _is_of(pid: int, wanted: bytes, spared: frozenset[bytes]) -> bool:
    try:
        with open(f"/proc/{pid}/environ", "rb") as file:
            if wanted not in file.read().split(b"\0"):
                return False
        with open(f"/proc/{pid}/stat", "rb") as file:
            before, _, after = file.read().rpartition(b")")
    except OSError:
        return False
    return after.split()[0] not in (b"Z", b"X") and before.partition(b"(")[2] not in spared
