"""Clusters of several nodes on this machine, each with a folder for sessions of its own."""

from __future__ import annotations

import os
import re
import secrets
import shutil
import subprocess
import sys
import tempfile
import textwrap
from pathlib import Path
from types import TracebackType

from eagleray._private.cli import BINARY

LIMIT = 60.0
MARK = "EAGLERAY_TEST_OF_NODES"
_NAMES = (
    *("RAY_ADDRESS", "EAGLERAY_ADDRESS", "EAGLERAY_TOKEN_FILE", "RAY_AUTH_TOKEN", "RAY_AUTH_MODE"),
    *("RAY_gcs_storage_path", "EAGLERAY_gcs_storage_path"),
)


class Node:
    """One node, which stands for a machine."""

    def __init__(self, mark: str) -> None:
        self.folder = Path(tempfile.mkdtemp(prefix="er", dir="/tmp"))  # sockets' paths are short
        self.env = {**os.environ, "EAGLERAY_TMPDIR": str(self.folder), "EAGLERAY_PYTHON": sys.executable, MARK: mark}
        for name in _NAMES:
            self.env.pop(name, None)
        self.binary = BINARY

    def use(self, package: Path) -> Node:
        """Has what is started from now on run another build of the package, in this folder."""
        self.env["PYTHONPATH"] = str(package)
        self.binary = str(package / "eagleray" / "_bin" / "eagleray")
        return self

    def __call__(self, *words: str, status: int = 0) -> str:
        """Runs the command ``eagleray`` and returns what it wrote."""
        done = subprocess.run([self.binary, *words], env=self.env, capture_output=True, text=True, timeout=LIMIT)
        assert done.returncode == status, done.stdout + done.stderr
        return done.stdout + done.stderr

    def start(self, *flags: str) -> str:
        return self("start", "--object-store-memory=100000000", *flags)

    def popen(self, source: str) -> subprocess.Popen[str]:
        """Starts a Python program on this node."""
        words = [sys.executable, "-u", "-c", textwrap.dedent(source)]
        return subprocess.Popen(
            words, env=self.env, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
        )

    def python(self, source: str) -> str:
        """Runs a Python program on this node and returns what it printed."""
        program = self.popen(source)
        out, _ = program.communicate(timeout=LIMIT)
        assert program.returncode == 0, out
        return out

    def pid(self, name: str) -> int:
        """The process with this file in the folder of the node's session: ``pid``, ``head.pid`` or ``warden.pid``."""
        base = self.folder / f"eagleray-{os.getuid()}"
        return int((Path((base / "current").read_text().strip()) / name).read_text())

    def clear(self) -> None:
        """Removes the folder of a node that has ended."""
        shutil.rmtree(self.folder, ignore_errors=True)


class TwoNodes:
    """A head with one CPU and a second node with two CPUs and the resource ``b``.

    Args:
        flags: More flags of the head.
        second: More flags of the second node.
    """

    def __init__(self, *flags: str, second: tuple[str, ...] = ()) -> None:
        self.flags, self._second = flags, second
        self.mark = secrets.token_hex(8)
        self.first, self.second = Node(self.mark), Node(self.mark)
        self.address = self.token = ""

    def __enter__(self) -> TwoNodes:
        try:
            self._start()
        except BaseException:
            self.__exit__(None, None, None)
            raise
        return self

    def _start(self) -> None:
        said = self.start_head(0)
        found = re.search(r"--address='(\S+)' --token-file=(\S+)", said)
        assert found, said
        self.address, self.token = found[1], found[2]
        self.join(self.second, "--num-cpus=2", "--node-name=two", '--resources={"b": 1}', *self._second)

    def start_head(self, port: int) -> str:
        words = ("--head", f"--port={port}", "--num-cpus=1", "--node-ip-address=127.0.0.1", "--node-name=one")
        return self.first.start(*words, *self.flags)

    def join(self, node: Node, *flags: str) -> str:
        return node.start(f"--address={self.address}", f"--token-file={self.token}", *flags)

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for node in (self.second, self.first):
            node("stop", "--grace-period=20")
        left = processes(self.mark)
        for node in (self.second, self.first):
            node.clear()
        assert kind is not None or not left, left


def processes(mark: str) -> dict[int, str]:
    """The living processes that were started with this mark in their environment."""
    wanted = f"{MARK}={mark}".encode()
    found = {}
    for path in Path("/proc").glob("[0-9]*"):
        try:
            if wanted in (path / "environ").read_bytes().split(b"\0"):
                found[int(path.name)] = (path / "cmdline").read_text().replace("\0", " ")
        except OSError:
            continue
    return found
