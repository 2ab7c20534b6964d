"""Lets a worker write the stacks of its threads when it gets a signal: ``eagleray stack`` sends it."""

from __future__ import annotations

import contextlib
import faulthandler
import fcntl
import os
import signal

#: A real-time signal: programs use the two that are for users themselves.
SIGNAL = int(signal.SIGRTMIN) + 7
#: The name of the memory into which the stacks go. Whoever asks finds it among the worker's descriptors.
NAME = "eagleray-stack"


def register() -> None:
    """Has this process answer the signal. A process without a free descriptor goes on without."""
    with contextlib.suppress(OSError):
        place = os.memfd_create(NAME, os.MFD_CLOEXEC)
        fcntl.fcntl(place, fcntl.F_SETFL, os.O_APPEND)  # who asks empties it first
        faulthandler.register(SIGNAL, file=place, all_threads=True)
