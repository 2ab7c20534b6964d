"""Runs a command and ends every process that it leaves behind; leaving one is a failure.

As a child subreaper this process inherits all orphans below it, whatever session or process group they chose, so it
ends what the command started and nothing else.
"""

import ctypes
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

PR_SET_CHILD_SUBREAPER = 36
GRACE_S = 10.0  # for what is on its way out, such as a daemon whose driver has gone


def children() -> dict[int, str]:
    """The direct children that have not ended: process id and command line."""
    found = {}
    for path in Path("/proc").glob("[0-9]*"):
        try:
            state, parent = (path / "stat").read_text().rpartition(")")[2].split()[:2]
            if int(parent) == os.getpid() and state != "Z":
                found[int(path.name)] = (path / "cmdline").read_text().replace("\0", " ").strip()
        except (FileNotFoundError, ProcessLookupError):
            continue
    return found


def reap(until: float) -> bool:
    """Waits for all children to end; False when some live on at the deadline."""
    while True:
        try:
            while os.waitpid(-1, os.WNOHANG)[0]:
                pass
        except ChildProcessError:
            return True
        left = until - time.monotonic()
        if left <= 0:
            return False
        signal.sigtimedwait({signal.SIGCHLD}, left)


def main(command: list[str]) -> int:
    ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    status = subprocess.call(command)
    signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGCHLD})
    leaked: dict[int, str] = {}
    deadline = time.monotonic() + GRACE_S
    while not reap(deadline):
        for pid, line in children().items():
            leaked[pid] = line
            os.kill(pid, signal.SIGKILL)
        deadline = time.monotonic() + 1  # the children of what was killed come to us now
    for pid, line in leaked.items():
        print(f"reap: left behind and killed: {pid} {line}", file=sys.stderr)
    return status or (1 if leaked else 0)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
