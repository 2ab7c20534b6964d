"""Runs cases in child processes and collects what they print, also when a child dies or hangs."""

from __future__ import annotations

import json
import os
import select
import signal
import subprocess
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

HERE = Path(__file__).parent

#: The longest time that one case may take, session start included.
CASE_SECONDS = 120.0


@dataclass(frozen=True)
class Side:
    """One of the two runtimes: an interpreter and the module that it imports."""

    python: str
    module: str


@dataclass(frozen=True)
class Result:
    """What one case printed. `failure` is the traceback, or how the process ended; None when the case ended well."""

    name: str
    output: str
    failure: str | None = None
    seconds: float = 0.0

    @property
    def text(self) -> str:
        """The output as it is compared: an exception that ended the case is its last line."""
        if self.failure is None:
            return self.output
        return f"{self.output}!! {self.failure.strip().splitlines()[-1]}\n"


def names(side: Side) -> list[str]:
    """The names of all cases, in order."""
    listed = subprocess.run(
        [side.python, "child.py", "--list"], cwd=HERE, check=True, capture_output=True, text=True, timeout=120
    )
    return listed.stdout.split()


def theme(name: str) -> str:
    return name.partition(".")[0]


def groups(wanted: Iterable[str], shared: bool) -> list[list[str]]:
    """Which cases run in one process: those of a theme, or each one alone."""
    if not shared:
        return [[name] for name in wanted]
    by_theme: dict[str, list[str]] = {}
    for name in wanted:
        by_theme.setdefault(theme(name), []).append(name)
    return list(by_theme.values())


def lines(stream: IO[bytes], seconds: float) -> Iterator[dict[str, Any] | None]:
    """The messages of a child; None once when it is silent for too long."""
    pending = b""
    while True:
        ready, _, _ = select.select([stream], [], [], seconds)
        if not ready:
            yield None
            return
        chunk = os.read(stream.fileno(), 1 << 16)
        if not chunk:
            return
        *complete, pending = (pending + chunk).split(b"\n")
        for line in complete:
            yield json.loads(line)


def start(side: Side, wanted: list[str], verbose: bool) -> subprocess.Popen[bytes]:
    environment = {**os.environ, "PYTHONUNBUFFERED": "1", "RAY_USAGE_STATS_ENABLED": "0", "RAY_COLOR_PREFIX": "0"}
    return subprocess.Popen(
        [side.python, "child.py", "--module", side.module, *wanted],
        cwd=HERE,
        env=environment,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=None if verbose else subprocess.DEVNULL,
        start_new_session=True,
    )


def run_group(side: Side, group: list[str], seconds: float = CASE_SECONDS, verbose: bool = False) -> Iterator[Result]:
    """Runs cases in one process; when it dies, reports the case at fault and goes on with the others in a new one."""
    rest = list(group)
    while rest:
        child = start(side, rest, verbose)
        assert child.stdout is not None
        running: str | None = rest[0]
        how = ""
        try:
            for message in lines(child.stdout, seconds):
                if message is None:
                    how = f"hung for {seconds:.0f} s"
                    break
                if "starting" in message:
                    running = message["starting"]
                else:
                    running = None
                    rest.remove(message["name"])
                    yield Result(message["name"], message["output"], message["error"], message["seconds"])
            if not how:
                how = f"the process ended with {child.wait(timeout=seconds)}"
        finally:  # also when the reader of the results goes away
            child.stdout.close()
            if child.poll() is None:
                os.killpg(child.pid, signal.SIGKILL)
                child.wait()
        if rest:
            name = running or rest[0]
            rest.remove(name)
            yield Result(name, "", how)


def run(side: Side, wanted: Iterable[str], shared: bool = True, verbose: bool = False) -> Iterator[Result]:
    """Runs all wanted cases, one process after the other."""
    for group in groups(wanted, shared):
        yield from run_group(side, group, verbose=verbose)
