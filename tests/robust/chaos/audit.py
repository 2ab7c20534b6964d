"""What a session holds, seen from outside, before and after a run."""

from __future__ import annotations

import contextlib
import gc
import os
import signal
from pathlib import Path
from typing import Any

import msgpack
from arena import stats
from eagleray.util import state
from processes import marked, name, until
from processes import state as state_of

from chaos import LIMIT
from chaos.killer import children, workers


def open_files(pid: int) -> dict[str, int]:
    """The kinds of descriptors that a process has open, and how many of each."""
    found: dict[str, int] = {}
    for path in Path(f"/proc/{pid}/fd").iterdir():
        try:
            target = os.readlink(path)
        except OSError:
            continue
        kind = target.partition(":[")[0] if ":[" in target else target
        found[kind] = found.get(kind, 0) + 1
    # A process opens this once, when it first maps a huge page of the store, and keeps it.
    return {kind: n for kind, n in found.items() if n > 1 or not kind.endswith("/pagemap")}


class Audit:
    """Takes stock of a quiet session, and waits until it is so again."""

    def __init__(self, session: Any) -> None:
        self._daemon: int = session.daemon_pid
        self._hot = session.hot
        self._folder = Path(session.session_dir)
        self._shared = set(os.listdir("/dev/shm"))
        self._mark = os.environ["EAGLERAY_ROBUST_MARK"]
        until(lambda: not self.stock()["busy resources"], LIMIT, "leases of what ran before go back")
        self._first = self.stock()

    def stock(self) -> dict[str, Any]:
        """Everything that a run may leave behind, counted."""
        numbers = stats()
        self._end_idle_workers()
        below = children(self._daemon)
        info = msgpack.unpackb(self._hot.rpc("cluster_info", b"", 5000))
        totals = info["totals"]["resources"]
        return {
            "objects": numbers["objects"],
            "arena bytes": numbers["used"],
            "pins": numbers["pinned"],
            "owned": numbers["owned"],
            "borrowed": numbers["borrowed"],
            **{f"driver's descriptors ({kind})": n for kind, n in open_files(os.getpid()).items()},
            **{f"daemon's descriptors ({kind})": n for kind, n in open_files(self._daemon).items()},
            "zombies": sum(state_of(pid) == "Z" for each in [self._daemon, *below] for pid in children(each)),
            "other processes": len([pid for pid in marked(self._mark) if name(pid) != "eagleray-worker"]),
            "workers": info["workers"],
            "sockets": len(os.listdir(self._folder / "p")),
            "shared memory": len({file for file in os.listdir("/dev/shm") if "eagleray" in file} - self._shared),
            "busy resources": {key: n for key, n in totals.items() if info["available"].get(key) != n},
            "files of spilled objects": len(list(self._folder.rglob("eagleray_spilled_*/*-*"))),
            "actors": info["actors"],
            "pending": info["pending"],
        }

    def spilled(self) -> dict[str, int]:
        """What the store says about the disk."""
        found: dict[str, int] = stats()["spilling"]  # type: ignore[assignment]
        return found

    def _end_idle_workers(self) -> None:
        """Kills them: what they have open is no leak, but hard to tell from one. One may just be coming."""
        killed = set()

        def none() -> bool:
            left = workers(self._daemon)
            for pid in left:
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)
            killed.update(left)
            return not left

        try:
            until(none, LIMIT)
        except TimeoutError:
            raise AssertionError(f"idle workers that are killed come again and again: {sorted(killed)}") from None

    def leaks(self, seconds: float = LIMIT) -> dict[str, tuple[Any, Any]]:
        """What is still more than at first after that time: before and after."""
        found: dict[str, tuple[Any, Any]] = {}

        def none() -> bool:
            nonlocal found
            gc.collect()
            now = self.stock()
            found = {key: (self._first.get(key, 0), n) for key, n in now.items() if differs(self._first.get(key, 0), n)}
            return not found

        try:
            until(none, seconds)
        except TimeoutError:
            return found
        return {}


def holders(most: int = 10) -> list[str]:
    """Who holds what is left, in words."""
    return [
        f"{row.object_id[:12]}… {row.object_size} bytes, {row.reference_type}, {row.task_status or 'no task'}, made at "
        f"{row.call_site}, held by {'its owner' if row.is_owner else 'a borrower'}, process {row.pid} ({row.type})"
        for row in state.list_objects(limit=most, detail=True)
    ]


def differs(was: Any, now: Any) -> bool:
    """Whether there is more than there was."""
    return bool(now > was) if isinstance(was, int) else bool(now != was)
