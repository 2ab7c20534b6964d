"""A daemon that ends slowly, or while its zygote is busy: what it has started is ended all the same."""

from __future__ import annotations

import os
import secrets
import subprocess
import sys
from pathlib import Path
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


#: A daemon that has a zygote, and waits to be killed.
HAS_ZYGOTE = """
import os, socket, subprocess, sys, time
ours, its = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
alive, ends = os.pipe()
subprocess.Popen([sys.executable, "-c", sys.argv[1], str(its.fileno()), str(alive)], pass_fds=[its.fileno(), alive])
its.close()
os.close(alive)
time.sleep(600)
"""
#: A zygote whose worker ends with the daemon, while the zygote imports a module.
IMPORTS = """
import os, select, signal, socket, sys, time
from eagleray._private.worker import zygote

channel = socket.socket(fileno=int(sys.argv[1]))
zygote._watch_children(channel)
if os.fork() == 0:
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    os.read(int(sys.argv[2]), 1)
    gone = select.poll()  # the kernel closes the daemon's pipe and its socket in any order
    gone.register(channel, 0)
    gone.poll()
    os._exit(0)
zygote._import_modules(["module_that_takes_long"], bare=False)
time.sleep(600)
"""
#: Python runs the handler of a signal between two steps: one that comes just before a long sleep waits for its end.
TAKES_LONG = """
import os, time
print(os.getpid(), flush=True)
while True:
    time.sleep(0.01)
"""


def test_a_daemon_ends_while_its_zygote_imports(place: Any, tmp_path: Path) -> None:
    """A worker ends meanwhile and nobody is left to be told: the zygote ends what the session has started."""
    (tmp_path / "module_that_takes_long.py").write_text(TAKES_LONG)
    path = os.pathsep.join([str(tmp_path), *sys.path])
    env = {**os.environ, MARK: f"s-{secrets.token_hex(8)}", "PYTHONPATH": path}
    with killed(subprocess.Popen(["sleep", "600"], env=env)) as left:
        command = [sys.executable, "-c", HAS_ZYGOTE, IMPORTS]
        with killed(subprocess.Popen(command, env=env, stdout=subprocess.PIPE, text=True)) as daemon:
            zygote = int(daemon.stdout.readline())
            daemon.kill()
            until(lambda: not alive(zygote), "the zygote ends")
        assert not alive(left.pid)
