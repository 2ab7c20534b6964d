"""One machine of a lab: commands and programs on it, and its node of the cluster."""

from __future__ import annotations

import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import textwrap
from pathlib import Path
from typing import TYPE_CHECKING

from eagleray._private.cli import BINARY

if TYPE_CHECKING:
    from net.lab import Lab

LIMIT_S = 90.0
_ELSEWHERE = (
    *(
        "RAY_ADDRESS",
        "EAGLERAY_ADDRESS",
        "EAGLERAY_TOKEN_FILE",
        "RAY_AUTH_TOKEN",
        "RAY_AUTH_TOKEN_PATH",
        "RAY_AUTH_MODE",
    ),
    *("RAY_gcs_storage_path", "EAGLERAY_gcs_storage_path", "EAGLERAY_ROBUST_MARK"),
)


class Machine:
    """One machine.

    Attributes:
        name: Its letter.
        address: The address at which the others reach it.
        inside: The words that run a command on it, behind those of the lab.
        folder: Its folder for sessions.
    """

    def __init__(self, lab: Lab, name: str, address: str, holder: str) -> None:
        self.lab, self.name, self.address = lab, name, address
        self.inside = ["nsenter", "--target", holder, "--net", "--"]
        self.folder = Path(tempfile.mkdtemp(prefix="er", dir="/tmp"))  # paths of sockets are short
        self.env = {**os.environ, "EAGLERAY_TMPDIR": str(self.folder), "EAGLERAY_PYTHON": sys.executable}
        for variable in _ELSEWHERE:
            self.env.pop(variable, None)

    def words(self, *words: str) -> list[str]:
        """The command line, from outside, of one that runs on this machine."""
        return [*self.lab.enter(), *self.inside, *words]

    def __call__(self, *words: str, status: int = 0) -> str:
        """Runs the command ``eagleray`` here and returns what it wrote."""
        done = subprocess.run(
            self.words(BINARY, *words),
            env=self.env,
            capture_output=True,
            text=True,
            timeout=LIMIT_S,
            stdin=subprocess.DEVNULL,
        )
        assert done.returncode == status, f"{self.name}: eagleray {' '.join(words)}: {done.stdout}{done.stderr}"
        return done.stdout + done.stderr

    def ask(self, *words: str) -> str | None:
        """Runs the command ``eagleray`` here and returns what it printed, or None when it failed or took too long."""
        line = self.words(BINARY, *words)
        try:
            done = subprocess.run(
                line,
                env=self.env,
                capture_output=True,
                text=True,
                timeout=LIMIT_S,
                stdin=subprocess.DEVNULL,
                check=True,
            )
        except (subprocess.CalledProcessError, subprocess.TimeoutExpired):
            return None
        return done.stdout

    def start_head(self, *flags: str) -> tuple[str, str]:
        """Begins a cluster here. Returns the head's address and the file of the token."""
        said = self("start", "--head", f"--node-ip-address={self.address}", f"--node-name={self.name}", *flags)
        found = re.search(r"--address='(\S+)' --token-file=(\S+)", said)
        assert found, said
        return found[1], found[2]

    def join(self, head: tuple[str, str], *flags: str) -> None:
        """Adds this machine to a cluster."""
        where = (f"--address={head[0]}", f"--token-file={head[1]}", f"--node-name={self.name}")
        self("start", *where, f"--node-ip-address={self.address}", *flags)

    def python(self, source: str, *words: str) -> subprocess.Popen[str]:
        """Starts a Python program here. Its input and output are pipes."""
        return self.popen(sys.executable, "-u", "-c", textwrap.dedent(source), *words)

    def popen(self, *words: str) -> subprocess.Popen[str]:
        """Starts a program here. Its input and output are pipes."""
        line = self.words(*words)
        pipe = subprocess.PIPE
        return subprocess.Popen(line, env=self.env, stdin=pipe, stdout=pipe, stderr=subprocess.STDOUT, text=True)

    def session(self) -> Path:
        """The folder of the node's session."""
        return Path(next(self.folder.glob("eagleray-*/current")).read_text().strip())

    def pid(self, name: str = "pid") -> int:
        """A process of the node, seen from outside: ``pid`` is the daemon; ``head.pid``, ``warden.pid``."""
        return self.lab.host_pid(int((self.session() / name).read_text()))

    def signal(self, number: signal.Signals, name: str = "pid") -> None:
        """Sends a signal to a process of the node."""
        os.kill(self.pid(name), number)

    def members(self) -> dict[int, str]:
        """All processes of this machine's nodes and programs: they inherit its folder."""
        wanted, found = f"EAGLERAY_TMPDIR={self.folder}".encode(), {}
        for pid, line in self.lab.processes().items():
            try:
                if wanted in Path(f"/proc/{pid}/environ").read_bytes().split(b"\0"):
                    found[pid] = line
            except OSError:
                continue
        return found

    def close(self) -> None:
        """Removes the folder. The lab ends the processes."""
        shutil.rmtree(self.folder, ignore_errors=True)
