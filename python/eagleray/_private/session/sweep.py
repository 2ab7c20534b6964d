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
        found, unsure = _processes_of(wanted, spared)
        if not found and not unsure:
            return
        for pid in found:
            try:
                os.kill(pid, signal.SIGKILL)
            except OSError:
                continue
        time.sleep(0.01)


def _processes_of(wanted: bytes, spared: frozenset[bytes]) -> tuple[list[int], bool]:
    """The processes with a mark, and whether there are some whose environment cannot be read yet."""
    me = os.getpid()
    found, unsure = [], False
    for pid in (int(name) for name in os.listdir("/proc") if name.isdigit()):
        try:
            environment = _environment(pid)
            if environment is None:
                unsure = True
            elif pid != me and wanted in environment and _lives(_read(pid, "stat"), spared):
                found.append(pid)
        except OSError:
            continue
    return found, unsure


def _environment(pid: int) -> list[bytes] | None:
    """The variables of a process, None during an exec: the old ones are gone then, and the new ones read as empty."""
    if text := _read(pid, "environ"):
        return text.split(b"\0")
    execs = _exec_is_under_way(_read(pid, "stat"))
    if text := _read(pid, "environ"):  # the exec may have ended since the first look
        return text.split(b"\0")
    return None if execs else []


def _exec_is_under_way(stat: bytes) -> bool:
    """Whether a process has memory, field 23 of its stat, and no environment's end yet, field 51 (proc_pid_stat(5))."""
    fields = stat.rpartition(b")")[2].split()  # from the third one
    return len(fields) > 48 and fields[20] != b"0" and fields[48] == b"0"


def _lives(stat: bytes, spared: frozenset[bytes]) -> bool:
    before, _, after = stat.rpartition(b")")
    return after.split()[0] not in (b"Z", b"X") and before.partition(b"(")[2] not in spared


def _read(pid: int, name: str) -> bytes:
    with open(f"/proc/{pid}/{name}", "rb") as file:
        return file.read()
