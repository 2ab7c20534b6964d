"""The first process of a lab: reaps what is orphaned, and ends when its input closes. Then the kernel ends the rest."""

from __future__ import annotations

import contextlib
import os
import select
import signal
import sys


def main() -> None:
    """Says that it is there, and waits."""
    ours, kernels = os.pipe()
    os.set_blocking(kernels, False)
    signal.set_wakeup_fd(kernels)
    signal.signal(signal.SIGCHLD, lambda number, frame: None)
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # a Ctrl-C is for the program that made the lab
    print("ready", flush=True)
    poll = select.poll()
    poll.register(ours, select.POLLIN)
    poll.register(sys.stdin.fileno(), select.POLLIN)
    while all(fd == ours for fd, _ in poll.poll()):
        os.read(ours, 4096)
        with contextlib.suppress(ChildProcessError):
            while os.waitpid(-1, os.WNOHANG)[0]:
                pass


if __name__ == "__main__":
    main()
