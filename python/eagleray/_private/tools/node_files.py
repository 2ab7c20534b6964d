"""Reads the log files of any node of a cluster."""

from __future__ import annotations

import fnmatch
import os
from collections.abc import Callable
from typing import Any, TypeVar

from eagleray import exceptions
from eagleray._private.sections import is_text
from eagleray._private.session import census, task_logs
from eagleray._private.state import process
from eagleray._private.tools.terminal import Failure

_PIECE = 1 << 20
_MOST_TAIL = 256 << 20
T = TypeVar("T")


def files(session_dir: str, pattern: str) -> list[tuple[str, int]]:
    """Returns the log files of a session whose names fit a pattern, and their sizes."""
    folder = os.path.join(session_dir, "logs")
    found = []
    for name in sorted(os.listdir(folder)):
        path = os.path.join(folder, name)
        if fnmatch.fnmatch(name, pattern) and os.path.isfile(path) and not os.path.islink(path):
            found.append((name, os.stat(path).st_size))
    return found


def piece(session_dir: str, name: str, offset: int, length: int) -> tuple[int, bytes]:
    """Returns the size of a log file, and a piece of it."""
    if os.path.basename(name) != name or name in ("", ".", ".."):
        raise ValueError(f"{name!r} is no name of a log file")
    with open(os.path.join(session_dir, "logs", name), "rb") as file:
        size = os.fstat(file.fileno()).st_size
        file.seek(offset)
        return size, file.read(length)


def _count(text: bytes) -> int:
    """The number of lines that have their beginning in a text for sure, those that only say who writes left out."""
    return sum(map(is_text, text.splitlines()[1:]))


def _on_node(call: Callable[..., T], *args: Any) -> T:
    return call(process.require().session_dir, *args)


class Nodes:
    """The nodes of the cluster that a session belongs to.

    Files of this machine's node are read directly. For another node this process joins the cluster, and a task reads
    them there.

    Args:
        address: The session, as for ``init``.
        timeout: Seconds for each answer.
    """

    def __init__(self, address: str | None, timeout: float) -> None:
        self.folder = census.find(address)
        self.timeout = timeout
        self.census = census.take(self.folder, timeout, head=True)
        self.rows = {row["node_id"]: row for row in self.census.nodes()}
        own = [raw["NodeID"].hex() for raw in self.census.raw["Nodes"] or () if raw["SessionDir"] == self.folder]
        self.own = own[0] if own else None

    def find(self, node_id: str | None, node_ip: str | None) -> list[str]:
        """Returns the living nodes that flags name; all if they name none.

        Raises:
            Failure: there is none.
        """
        alive = [key for key, row in self.rows.items() if row["state"] == "ALIVE"]
        if node_id is not None:
            alive = [key for key in alive if key == node_id]
        if node_ip is not None:
            alive = [key for key in alive if self.rows[key]["node_ip"] == node_ip]
        if not alive:
            named = f"--node-id {node_id}" if node_id is not None else f"--node-ip {node_ip}"
            raise Failure(f"{named}: no node of the cluster that lives is called so; `eagleray list nodes` shows them")
        return alive

    def files(self, node_id: str, pattern: str) -> list[tuple[str, int]]:
        """Returns the log files of a node whose names fit a pattern, and their sizes."""
        return self._there(node_id, files, pattern)

    def piece(self, node_id: str, name: str, offset: int, length: int) -> tuple[int, bytes]:
        """Returns the size of a log file, and a piece of it."""
        return self._there(node_id, piece, name, offset, length)

    def tail(self, node_id: str, name: str, lines: int) -> tuple[int, bytes]:
        """Returns the end of a file, and where it begins.

        Args:
            node_id: The node.
            name: The file.
            lines: So many lines; -1 for all.
        """
        size, _ = self.piece(node_id, name, 0, 0)
        offset, text = size, b""
        while offset > 0 and (lines < 0 or _count(text) < lines) and len(text) < _MOST_TAIL:
            length = min(_PIECE, offset)
            offset -= length
            text = self.piece(node_id, name, offset, length)[1] + text
        whole = text if offset == 0 else text.partition(b"\n")[2] or text
        return size, task_logs.last_lines(task_logs.without_marks(whole), lines)

    def of_task(
        self, node_id: str, name: str, task_id: str, reading: task_logs.Reading | None, follow: bool
    ) -> tuple[bytes, bool, task_logs.Reading]:
        """Returns what a task has written into a file, see ``task_logs.read``."""
        return self._there(node_id, task_logs.read, name, task_id, reading, follow)

    def _there(self, node_id: str, call: Callable[..., T], *args: Any) -> T:
        if node_id == self.own:
            return call(self.folder, *args)
        import eagleray
        from eagleray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

        if process.session is None:
            eagleray.init(
                address=self.folder, namespace="_ray_internal_cli", log_to_driver=False, configure_logging=False
            )

        strategy = NodeAffinitySchedulingStrategy(node_id, soft=False)
        task = eagleray.remote(num_cpus=0, max_retries=0)(_on_node).options(scheduling_strategy=strategy)
        try:
            found: T = eagleray.get(task.remote(call, *args), timeout=self.timeout)
            return found
        except exceptions.RayTaskError as problem:
            cause = problem.cause
            raise Failure(f"node {node_id}: {cause}") from None
        except exceptions.RayError as problem:
            raise Failure(f"node {node_id} does not answer: {problem}") from None
