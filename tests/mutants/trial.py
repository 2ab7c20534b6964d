"""One run of tests within bounds, for ``python_mutants.py``; trial.go beside this file does the same for Go.

A changed program may allocate, write or start processes without end. Each trial therefore has a temporary folder of
its own that is removed, bounds on its memory, files and processes, and none of its processes lives on.
"""

from __future__ import annotations

import ctypes
import os
import resource
import signal
import subprocess
import threading
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

_PR_SET_CHILD_SUBREAPER = 36
#: How often a running trial is compared with its bounds, in seconds.
_LOOK_EVERY = 0.2
#: How long the end of a trial's processes may take, in seconds.
_END_WITHIN = 60.0


@dataclass(frozen=True)
class Bounds:
    """How much a trial may use."""

    #: Bytes that all its processes have together; of shared memory the largest process counts.
    memory: int = 8 << 30
    #: Bytes below its temporary folder.
    disk: int = 4 << 30
    #: Bytes of any one file. A session's store is one, and is never larger than the machine's memory.
    file: int = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    processes: int = 1000


def run(command: Sequence[str], cwd: Path, env: Mapping[str, str], limit: float, bounds: Bounds | None = None) -> bool:
    """Runs a command. This process becomes the parent of orphans below it, and must have no other children meanwhile.

    Returns:
        Whether the command succeeded within ``limit`` seconds and within the bounds.

    Raises:
        RuntimeError: processes of the command do not end.
    """
    bounds = bounds or Bounds()
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) != 0:
        raise OSError(ctypes.get_errno(), "become the parent of orphans")
    # The folder's name is short: tests have sockets below it, whose paths are bounded.
    with TemporaryDirectory(prefix="mu", ignore_cleanup_errors=True) as folder:
        own = {**env, "TMPDIR": folder, "EAGLERAY_TMPDIR": folder}
        before = resource.getrlimit(resource.RLIMIT_FSIZE)
        room = bounds.file if before[1] == resource.RLIM_INFINITY else min(bounds.file, before[1])
        resource.setrlimit(resource.RLIMIT_FSIZE, (room, before[1]))  # the child inherits it
        try:
            child = subprocess.Popen(
                command, cwd=cwd, env=own, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True
            )
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, before)
        done, exceeded = threading.Event(), threading.Event()
        watcher = threading.Thread(target=_watch, args=(bounds, Path(folder), done, exceeded))
        watcher.start()
        try:
            status = child.wait(limit)
        except subprocess.TimeoutExpired:
            status = None
        finally:
            done.set()
            watcher.join()
            child.kill()
            child.wait()
            end_descendants()
    return status == 0 and not exceeded.is_set()


def _watch(bounds: Bounds, folder: Path, done: threading.Event, exceeded: threading.Event) -> None:
    """Ends a trial that uses more than its bounds."""
    while not done.wait(_LOOK_EVERY):
        pids = descendants()
        memory = [_memory(pid) for pid in pids]
        total = sum(own for own, _ in memory) + max((shared for _, shared in memory), default=0)
        if len(pids) > bounds.processes or total > bounds.memory or _disk(folder) > bounds.disk:
            exceeded.set()
            for pid in descendants():
                _kill(pid)
            return


def descendants() -> list[int]:
    """The processes that this process started, those that they started, and so on, without ended ones."""
    children: dict[int, list[int]] = {}
    for pid, (parent, state) in _processes().items():
        if state != "Z":
            children.setdefault(parent, []).append(pid)
    found = list(children.get(os.getpid(), []))
    for pid in found:  # it grows meanwhile
        found.extend(children.get(pid, []))
    return found


def end_descendants() -> None:
    """Kills all descendants, also those that start meanwhile, and takes note of the end of orphans."""
    end = time.monotonic() + _END_WITHIN
    while True:
        alive = descendants()
        for pid in alive:
            _kill(pid)
        for pid, (parent, _) in _processes().items():
            if parent == os.getpid():
                try:
                    os.waitpid(pid, os.WNOHANG)
                except ChildProcessError:
                    pass
        if not alive:
            return
        if time.monotonic() > end:
            raise RuntimeError(f"the processes {alive} live {_END_WITHIN:.0f} s after they were killed")
        time.sleep(0.001)


def _processes() -> dict[int, tuple[int, str]]:
    """The parent and the state of each process that can be seen."""
    found = {}
    for name in os.listdir("/proc"):
        if not name.isdigit():
            continue
        try:
            text = Path("/proc", name, "stat").read_bytes()
        except OSError:
            continue  # it has ended
        # The name before it stands in parentheses and may hold any character.
        state, parent = text[text.rindex(b")") + 1 :].split()[:2]
        found[int(name)] = (int(parent), state.decode())
    return found


def _memory(pid: int) -> tuple[int, int]:
    """The bytes of memory that only this process has, and those that it shares with others."""
    sizes = {"RssAnon": 0, "RssShmem": 0}
    try:
        for line in Path("/proc", str(pid), "status").read_text().splitlines():
            name, _, value = line.partition(":")
            if name in sizes:
                sizes[name] = int(value.split()[0]) << 10
    except OSError:
        pass  # it has ended
    return sizes["RssAnon"], sizes["RssShmem"]


def _disk(folder: Path) -> int:
    """The bytes that the files below a folder take; files may come and go meanwhile."""
    total = 0
    for where, _, names in os.walk(folder):
        for name in names:
            try:
                total += 512 * os.lstat(os.path.join(where, name)).st_blocks
            except OSError:
                pass
    return total


def _kill(pid: int) -> None:
    try:
        os.kill(pid, signal.SIGKILL)
    except ProcessLookupError:
        pass
