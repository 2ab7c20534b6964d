"""What the tests see of processes from outside: who lives, how large it is, what it keeps open."""

from __future__ import annotations

import os
import signal
import threading
import time
from collections.abc import Callable
from pathlib import Path

#: Variable that a session and everything below it inherits; its value tells the sessions of tests apart.
MARK = "EAGLERAY_ROBUST_MARK"
_pause = threading.Event()


def until(condition: Callable[[], object], seconds: float, what: str = "") -> None:
    """Waits for a condition that nothing announces.

    Raises:
        TimeoutError: it did not come true in time.
    """
    deadline = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > deadline:
            raise TimeoutError(f"not within {seconds} s: {what or condition}")
        _pause.wait(0.005)


def state(pid: int) -> str:
    """The state letter of a process; Z when there is none."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        return "Z"


def alive(pid: int) -> bool:
    """Whether the process runs: zombies do not."""
    return state(pid) not in "ZX"


def marked(value: str) -> dict[int, str]:
    """The living processes that inherited this mark, this one excepted: process id and command line."""
    wanted = f"{MARK}={value}".encode()
    found = {}
    for path in Path("/proc").glob("[0-9]*"):
        pid = int(path.name)
        try:
            if pid != os.getpid() and wanted in (path / "environ").read_bytes().split(b"\0") and alive(pid):
                found[pid] = (path / "cmdline").read_text().replace("\0", " ").strip()
        except OSError:
            continue
    return found


def daemon_of(mark: str) -> int:
    """The daemon of the only session with this mark.

    A process that the daemon is about to start is a copy of it for a moment.

    Raises:
        TimeoutError: there is none, or more than one.
    """
    found: list[int] = []

    def one() -> bool:
        found[:] = [pid for pid, line in marked(mark).items() if " daemon " in line]
        return len(found) == 1

    until(one, 60, "one daemon")
    return found[0]


def name(pid: int) -> str:
    """The short name of a process."""
    try:
        return Path(f"/proc/{pid}/comm").read_text().strip()
    except OSError:
        return ""


def remains(mark: str, folder: Path, seconds: float) -> list[str]:
    """What is left of the sessions with this mark below this folder after that time at most.

    Processes are killed then.
    """
    left: dict[int, str] = {}
    files: list[str] = []

    def nothing() -> bool:
        nonlocal left, files
        left = marked(mark)
        files = sorted(str(path) for path in folder.glob("eagleray-*/s-*"))
        return not left and not files

    try:
        until(nothing, seconds)
    except TimeoutError:
        for pid in left:
            os.kill(pid, signal.SIGKILL)
        return [f"process {pid}: {line}" for pid, line in left.items()] + files
    return []


def pss(pid: int) -> int:
    """Bytes of memory in proportion to how many share them."""
    for line in Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines():
        if line.startswith("Pss:"):
            return int(line.split()[1]) << 10
    raise ValueError(f"process {pid} has no Pss")


def private(pid: int) -> int:
    """Bytes of anonymous memory that are resident."""
    for line in Path(f"/proc/{pid}/status").read_text().splitlines():
        if line.startswith("RssAnon:"):
            return int(line.split()[1]) << 10
    raise ValueError(f"process {pid} has no RssAnon")


def descriptors() -> int:
    """How many this process has open."""
    return len(os.listdir("/proc/self/fd"))


def threads() -> int:
    """How many this process has, those of Go too."""
    return len(os.listdir("/proc/self/task"))
