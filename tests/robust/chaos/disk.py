"""A disk that is slow for some processes: a control group bounds their writes, or others keep it busy."""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

from processes import until

#: What the processes may write together. A sync of the cluster's state takes a fifth of a second then.
BYTES_A_SECOND, WRITES_A_SECOND = 400_000, 5
#: A write to a disk that does not answer takes an hour.
STALLED_BYTES_A_SECOND = 1
#: Keeps the disk of a folder busy: writes and syncs until it is killed.
BUSY = """
import os, sys
fd = os.open(sys.argv[1], os.O_CREAT | os.O_WRONLY, 0o600)
while True:
    os.pwrite(fd, os.urandom(1 << 22), 0)
    os.fsync(fd)
"""


def _disk(folder: Path) -> str:
    """The disk of a folder as MAJOR:MINOR; "" if there is none behind it. A part of a disk has no bound of its own."""
    device = os.stat(folder).st_dev
    found = Path(f"/sys/dev/block/{os.major(device)}:{os.minor(device)}")
    if not found.exists():
        return ""
    whole = found.resolve().parent if (found / "partition").exists() else found
    return (whole / "dev").read_text().strip()


def _bounds(disk: str, size_s: int = BYTES_A_SECOND) -> tuple[Path, dict[str, str], dict[str, str]] | None:
    """Where control groups are, what bounds one, and what takes the bound away; None where that is not possible."""
    old, new = Path("/sys/fs/cgroup/blkio"), Path("/sys/fs/cgroup")
    if not disk or os.geteuid():
        return None
    if (old / "blkio.throttle.write_bps_device").exists():
        size, count = "blkio.throttle.write_bps_device", "blkio.throttle.write_iops_device"
        bound = {size: f"{disk} {size_s}", count: f"{disk} {WRITES_A_SECOND}"}
        return old, bound, {size: f"{disk} 0", count: f"{disk} 0"}
    control = new / "cgroup.subtree_control"
    if control.exists() and "io" in control.read_text().split():
        bound = {"io.max": f"{disk} wbps={size_s} wiops={WRITES_A_SECOND}"}
        return new, bound, {"io.max": f"{disk} wbps=max wiops=max"}
    return None


@contextlib.contextmanager
def slow(folder: Path, pids: Callable[[], list[int]]) -> Iterator[str]:
    """Makes the disk of a folder slow for processes and all that they start; gives the way in which that was done."""
    try:
        bounds = _bounds(_disk(folder))
        group = Path() if bounds is None else bounds[0] / f"eagleray-chaos-{os.getpid()}-{folder.name}"
        if bounds is not None:
            group.mkdir()
    except OSError:
        bounds = None
    if bounds is None:
        with _busy(folder):
            yield "other processes write and sync"
        return
    root, bound, free = bounds
    try:
        for file, text in bound.items():
            (group / file).write_text(text)
        _move(pids(), group)
        yield "a control group bounds the writes"
    finally:
        for file, text in free.items():
            (group / file).write_text(text)
        _empty(group, root)


def stalls(folder: Path) -> str:
    """Why the disk of a folder cannot be made not to answer; "" if it can."""
    try:
        if _bounds(_disk(folder)) is not None:
            return ""
    except OSError as error:
        return str(error)
    return "needs root and a control group that bounds what is written to the disk"


@contextlib.contextmanager
def stalled(folder: Path, pids: list[int]) -> Iterator[None]:
    """Has the disk of a folder not answer some processes. Ask ``stalls`` first."""
    bounds = _bounds(_disk(folder), STALLED_BYTES_A_SECOND)
    assert bounds is not None
    root, bound, free = bounds
    group = root / f"eagleray-chaos-{os.getpid()}-stalled"
    group.mkdir()
    try:
        _move(pids, group)
        for file, text in bound.items():
            (group / file).write_text(text)
        yield
    finally:
        for file, text in free.items():
            (group / file).write_text(text)
        _empty(group, root)


def _move(pids: list[int], group: Path) -> None:
    for pid in pids:
        with contextlib.suppress(ProcessLookupError):
            (group / "cgroup.procs").write_text(str(pid))


def _empty(group: Path, root: Path) -> None:
    """Moves what is in a group back, and removes the group. What is in it may be starting or ending processes."""

    def removed() -> bool:
        _move([int(word) for word in (group / "cgroup.procs").read_text().split()], root)
        try:
            group.rmdir()
        except OSError:
            return False
        return True

    until(removed, 30, f"the control group {group} is empty")


@contextlib.contextmanager
def _busy(folder: Path) -> Iterator[None]:
    file = folder / "busy"
    with subprocess.Popen([sys.executable, "-c", BUSY, str(file)]) as process:
        try:
            yield
        finally:
            process.kill()
    file.unlink(missing_ok=True)
