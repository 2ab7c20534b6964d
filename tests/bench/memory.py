"""The memory of a session: proportional set size over the driver and everything that it started."""

from __future__ import annotations

import contextlib
import os
import time
from dataclasses import dataclass
from pathlib import Path

#: Set in the driver's environment with a value of its own, so that processes which left its tree are found as well.
MARKER = "EAGLERAY_BENCH_SESSION"


@dataclass(frozen=True)
class Usage:
    """What the processes of a session hold, in bytes, and how many they are."""

    pss: int
    processes: int


def parent(pid: int) -> int:
    return int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1])


def marked(pid: int, mark: bytes) -> bool:
    return mark in Path(f"/proc/{pid}/environ").read_bytes().split(b"\0")


def session_processes() -> set[int]:
    """This process, its descendants, and all processes that inherited its mark."""
    mark = f"{MARKER}={os.environ[MARKER]}".encode()
    parents: dict[int, int] = {}
    found = {os.getpid()}
    for entry in Path("/proc").iterdir():
        if not entry.name.isdigit():
            continue
        pid = int(entry.name)
        try:
            parents[pid] = parent(pid)
            if marked(pid, mark):
                found.add(pid)
        except OSError:  # ended meanwhile, or another user's
            continue
    while True:
        children = {pid for pid, above in parents.items() if above in found} - found
        if not children:
            return found
        found |= children


def marked_processes(value: str) -> set[int]:
    """The processes that inherited this mark and still run."""
    mark = f"{MARKER}={value}".encode()
    found = set()
    for entry in Path("/proc").iterdir():
        with contextlib.suppress(OSError):
            if entry.name.isdigit() and marked(int(entry.name), mark):
                found.add(int(entry.name))
    return found


def rollup_bytes(pid: int, *fields: str) -> int:
    """The sum of some fields of a process's memory, such as `Pss`."""
    total = 0
    for line in Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines():
        if line.partition(":")[0] in fields:
            total += int(line.split()[1]) * 1024
    return total


def pss_bytes(pid: int) -> int:
    return rollup_bytes(pid, "Pss")


def private_bytes(pid: int) -> int:
    """What only this process has."""
    return rollup_bytes(pid, "Private_Clean", "Private_Dirty")


def usage() -> Usage:
    total = 0
    count = 0
    for pid in session_processes():
        try:
            total += pss_bytes(pid)
            count += 1
        except OSError:
            continue
    return Usage(total, count)


def settled(seconds: float = 20.0) -> Usage:
    """The usage once it no longer changes by more than 1 % within a second; what it is after `seconds` otherwise."""
    deadline = time.monotonic() + seconds
    last = usage()
    while time.monotonic() < deadline:
        time.sleep(1.0)
        now = usage()
        if now.processes == last.processes and abs(now.pss - last.pss) <= 0.01 * last.pss:
            return now
        last = now
    return last
