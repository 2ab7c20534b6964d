"""Time for tests whose verdict must not depend on how fast the machine is, or on what else runs on it.

Three ways, in the order in which a test should prefer them:

- ``until`` and ``meet`` wait for an event. Their limit only tells a test that hangs from one that waits.
- ``Calm`` measures a stretch of the test by steps that another process makes meanwhile, so that it counts less
  time where everything is slow.
- ``bare_start`` is what to compare the start of a process with: the start of a bare interpreter at the same moment.
"""

from __future__ import annotations

import contextlib
import mmap
import os
import secrets
import struct
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

#: Seconds after which something that a test waits for is called missing. Nothing takes nearly as long.
PATIENCE_S = 60.0
_pause = threading.Event()


def until(holds: Callable[[], Any], what: object = "", seconds: float = PATIENCE_S) -> Any:
    """Waits until something holds, and returns it.

    Raises:
        AssertionError: it did not hold in time.
    """
    deadline = time.monotonic() + seconds
    while not (found := holds()):
        assert time.monotonic() < deadline, f"not within {seconds} s: {what or holds}"
        _pause.wait(0.005)
    return found


def becomes(look: Callable[[], Any], wanted: Any, seconds: float = PATIENCE_S) -> None:
    """Waits until a look gives what is wanted.

    Raises:
        AssertionError: it gave something else for too long.
    """
    found = look()
    deadline = time.monotonic() + seconds
    while found != wanted:
        assert time.monotonic() < deadline, f"{found}, not {wanted}, after {seconds} s"
        _pause.wait(0.005)
        found = look()


def meet(folder: Path, count: int) -> None:
    """Returns when so many callers, in whatever processes, are in here together."""
    (folder / secrets.token_hex(8)).touch()
    until(lambda: len(os.listdir(folder)) >= count, f"{count} run at once")


_STEPS = """
import mmap, os, struct, sys, time
with open(sys.argv[1], "r+b") as file:
    count = mmap.mmap(file.fileno(), 8)
parent, made = os.getppid(), 0
while os.getppid() == parent:
    sum(range(20_000))
    time.sleep(0.01)
    made += 1
    struct.pack_into("Q", count, 0, made)
"""
_STEP_S = 0.0105  # of a quiet machine


class Calm:
    """A clock that runs slower where the machine is slow: it counts steps of a process that sleeps and computes.

    ``with Calm() as clock: ...; assert clock() < 1`` says that the block took less than a second of a quiet machine.
    What a quiet machine does in the block should take a tenth of the bound at most.
    """

    def __enter__(self) -> Calm:
        with tempfile.NamedTemporaryFile() as file:
            file.write(bytes(8))
            file.flush()
            self._count = mmap.mmap(file.fileno(), 8)
            self._child = subprocess.Popen([sys.executable, "-S", "-E", "-c", _STEPS, file.name])
            try:
                until(self._made, "the clock's first step")
            except BaseException:
                self.__exit__()
                raise
        self.restart()
        return self

    def __exit__(self, *_: object) -> None:
        self._child.kill()
        self._child.wait()

    def _made(self) -> int:
        return int(struct.unpack_from("Q", self._count)[0])

    def restart(self) -> None:
        """Counts from now."""
        self._from, self._began = self._made(), time.monotonic()

    def __call__(self) -> float:
        """Seconds since the last start. They are never more than those of the wall."""
        return min(time.monotonic() - self._began, (self._made() - self._from) * _STEP_S)


def bare_start(code: str = "pass") -> float:
    """Seconds that a bare interpreter takes at the moment to start, run this code, and end."""
    began = time.perf_counter()
    subprocess.run([sys.executable, "-S", "-E", "-c", code], check=True)
    return time.perf_counter() - began


@contextlib.contextmanager
def killed(child: subprocess.Popen[Any]) -> Any:
    """Kills a process when the block is left, however it is left."""
    try:
        yield child
    finally:
        child.kill()
        child.wait()
        for stream in (child.stdin, child.stdout, child.stderr):
            if stream is not None:
                stream.close()
