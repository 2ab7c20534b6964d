"""A daemon that takes long to end: what it has started is ended all the same."""

from __future__ import annotations

import os
import secrets
import subprocess
import sys
from typing import Any

import pytest
from eagleray._private.session.sweep import MARK
from pace import killed, until
from processes import alive

#: A process whose first thread has ended while another one lives: to its children it is a process that ends slowly.
ENDS_SLOWLY = """
import ctypes, os, platform, subprocess, sys, threading, time
from pathlib import Path

def rest():
    child = subprocess.Popen([sys.executable, "-c", sys.argv[1]])
    print(child.pid, flush=True)
    while ")" not in (stat := Path("/proc/self/stat").read_text()) or stat.rpartition(")")[2].split()[0] != "Z":
        time.sleep(0.001)
    time.sleep(1.5)  # longer than a zygote waits for a daemon that lives
    os._exit(0)

threading.Thread(target=rest).start()
ctypes.CDLL(None).syscall({"x86_64": 60, "aarch64": 93}[platform.machine()], 0)
"""
ORPHAN = "from eagleray._private.worker import zygote; zygote._orphaned()"


@pytest.mark.skipif(
    os.uname().machine not in ("x86_64", "aarch64"), reason="the number of the system call is not known"
)
def test_what_a_slowly_ending_daemon_has_started_is_ended(place: Any) -> None:
    """Its zygote waits for its end, however long that takes, and then ends what carries the session's mark."""
    env = {**os.environ, MARK: f"s-{secrets.token_hex(8)}"}
    with killed(subprocess.Popen(["sleep", "600"], env=env)) as left:
        command = [sys.executable, "-c", ENDS_SLOWLY, ORPHAN]
        with killed(subprocess.Popen(command, env=env, stdout=subprocess.PIPE, text=True)) as daemon:
            zygote = int(daemon.stdout.readline())
            until(lambda: not alive(zygote), "the zygote ends")
        assert not alive(left.pid)
