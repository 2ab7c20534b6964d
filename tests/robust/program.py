"""Drivers of their own: programs that a test starts, watches and ends."""

from __future__ import annotations

import os
import queue
import secrets
import signal
import subprocess
import sys
import textwrap
import threading
import time
from pathlib import Path

import processes

#: What every program begins with.
HEAD = """
import ctypes, gc, json, os, signal, subprocess, sys, threading, time
import eagleray as ray

def say(*words):
    print(*words, flush=True)
"""


class Program:
    """A Python program in a session and process group of its own.

    The parts of its source are indented one by one. Its processes carry a mark and its files lie in a folder, so that
    ``remains`` finds what it leaves.
    """

    def __init__(self, folder: Path, *parts: str, **environ: str) -> None:
        self.mark = secrets.token_hex(8)
        self.folder = folder / self.mark[:6]
        self.folder.mkdir()
        path = self.folder / "program.py"
        path.write_text(HEAD + "\n".join(map(textwrap.dedent, parts)))
        env = {**os.environ, processes.MARK: self.mark, "EAGLERAY_TMPDIR": str(self.folder), **environ}
        self._errors = open(self.folder / "stderr", "wb")
        self.child = subprocess.Popen(
            [sys.executable, str(path)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._errors,
            text=True,
            env=env,
            start_new_session=True,
        )
        self._lines: queue.Queue[str | None] = queue.Queue()
        threading.Thread(target=self._read, daemon=True).start()

    def _read(self) -> None:
        assert self.child.stdout is not None
        for line in self.child.stdout:
            self._lines.put(line.rstrip("\n"))
        self._lines.put(None)

    @property
    def pid(self) -> int:
        """The driver's process id."""
        return self.child.pid

    def errors(self) -> str:
        """What it wrote on standard error so far."""
        return (self.folder / "stderr").read_text(errors="replace")

    def line(self, seconds: float = 60) -> str:
        """The next line that it says.

        Raises:
            AssertionError: it ended, or said nothing in time.
        """
        try:
            found = self._lines.get(timeout=seconds)
        except queue.Empty:
            found = None
        assert found is not None, f"the program said nothing more (exit {self.child.poll()}): {self.errors()[-3000:]}"
        return found

    def answer(self, text: str = "") -> None:
        """Writes a line on its standard input."""
        assert self.child.stdin is not None
        self.child.stdin.write(text + "\n")
        self.child.stdin.flush()

    def signal(self, number: int) -> None:
        """Sends the driver a signal."""
        self.child.send_signal(number)

    def interrupt(self) -> None:
        """What Ctrl-C does: the whole group in the foreground gets SIGINT."""
        os.killpg(self.child.pid, signal.SIGINT)

    def end(self, seconds: float = 60) -> int:
        """Waits for the driver's end and returns its exit status."""
        return self.child.wait(seconds)

    def rest(self, seconds: float = 60) -> list[str]:
        """What it says until it ends; it has to end well."""
        deadline = time.monotonic() + seconds
        found = []
        while True:
            try:
                line = self._lines.get(timeout=max(0, deadline - time.monotonic()))
            except queue.Empty:
                raise AssertionError(f"the program still runs; it said {found}; {self.errors()[-3000:]}") from None
            if line is None:
                break
            found.append(line)
        assert self.end() == 0, f"{found} {self.errors()[-3000:]}"
        return found

    def members(self) -> dict[int, str]:
        """The processes of its session, the driver included."""
        return processes.marked(self.mark)

    def daemon(self) -> int:
        """The daemon of its session."""
        return processes.daemon_of(self.mark)

    def session_dir(self) -> Path:
        """The folder of its session."""
        (found,) = self.folder.glob("eagleray-*/s-*")
        return found

    def remains(self, seconds: float = 60) -> list[str]:
        """What is left of it and its session after that time."""
        return processes.remains(self.mark, self.folder, seconds)

    def close(self) -> None:
        """Ends whatever still runs."""
        self.child.kill()
        self.child.wait()
        processes.remains(self.mark, self.folder, 10)
        self._errors.close()
        for stream in (self.child.stdin, self.child.stdout):
            if stream is not None:
                try:
                    stream.close()
                except BrokenPipeError:
                    continue
