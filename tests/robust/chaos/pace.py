"""How much slower than a quiet machine this one is at the moment."""

from __future__ import annotations

import os
import subprocess
import sys

_SPIN = """
import sys, time
wall, cpu = time.monotonic(), time.thread_time()
while time.monotonic() - wall < float(sys.argv[1]):
    sum(range(1000))
print((time.monotonic() - wall) / (time.thread_time() - cpu))
"""


def slowness(seconds: float = 1.0) -> float:
    """Seconds that pass while one process per core computes for one second: 1 on a quiet machine."""
    command = [sys.executable, "-c", _SPIN, str(seconds)]
    spinning = [
        subprocess.Popen(command, stdout=subprocess.PIPE, text=True) for _ in range(len(os.sched_getaffinity(0)))
    ]
    return max(1.0, *(float(one.communicate()[0]) for one in spinning))
