"""What is left of the nodes of a lab when they have been stopped."""

from __future__ import annotations

import os
from pathlib import Path

from net.machine import Machine
from processes import until

from chaos.blows import GONE_S

#: What stays of an ended node, beside its logs: the lock of starting one, the token and where it is, its end.
KEPT = ("start.lock", "token", "member.json", "ended")


def left(machines: list[Machine]) -> list[str]:
    """Stops all nodes, and says what of them is there afterwards: processes, sockets, shared memory, files."""
    found = []
    for machine in reversed(machines):
        try:
            machine("stop")
        except (AssertionError, OSError) as error:
            found.append(str(error))
    sockets = machines[0].lab.run("cat", "/proc/net/unix")
    for machine in machines:
        try:
            until(lambda m=machine: not m.members(), GONE_S)  # type: ignore[misc]
        except TimeoutError:
            found += [f"process {pid} of {machine.name}: {line}" for pid, line in machine.members().items()]
        if str(machine.folder) in sockets:
            found.append(f"sockets of {machine.name}")
        found += [f"{path} of {machine.name}" for path in _files(machine.folder)]
    return found + [f"/dev/shm/{name}" for name in os.listdir("/dev/shm") if "eagleray" in name]


def _files(folder: Path) -> list[Path]:
    files = [path for path in folder.rglob("*") if not path.is_dir()]
    return [path for path in files if "logs" not in path.parts and path.name not in KEPT]
