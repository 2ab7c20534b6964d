"""Runs the rounds: each group of each system in a process of its own that starts from nothing.

No variable of a user's shell reaches a system, each process gets a temporary folder that only it has, and what it
leaves running is ended before the next one starts. A round that fails is kept as a failure, never left out.
"""

from __future__ import annotations

import contextlib
import json
import os
import select
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import uuid
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import memory
import peers
from book import OURS, groups, load, once, seconds_for

HERE = Path(__file__).parent
#: Variables of a shell that would change what a system does or which session it joins.
FOREIGN = ("RAY_", "EAGLERAY_", "DASK_", "JOBLIB_", "LOKY_", "PYTHON", "OMP_", "CUDA_", "NUMBA_")


@dataclass(frozen=True)
class Sample:
    """One value of one round."""

    value: float
    bare: float | None = None
    note: str = ""


@dataclass
class Round:
    """What one process measured, and what went wrong in it."""

    samples: dict[str, Sample] = field(default_factory=dict)
    absent: dict[str, str] = field(default_factory=dict)
    errors: dict[str, str] = field(default_factory=dict)


@dataclass
class Results:
    """All that a run found: samples by figure and system, failures, and what a system does not have."""

    samples: dict[str, dict[str, list[Sample]]] = field(default_factory=dict)
    failures: list[dict[str, Any]] = field(default_factory=list)
    absent: dict[str, dict[str, str]] = field(default_factory=dict)

    def add(self, number: int, system: str, group: str, found: Round) -> None:
        for name, sample in found.samples.items():
            self.samples.setdefault(name, {}).setdefault(system, []).append(sample)
        for name, needed in found.absent.items():
            self.absent.setdefault(name, {})[system] = needed
        for name, error in found.errors.items():
            self.failures.append({"round": number, "system": system, "group": group, "figure": name, "error": error})


def environment(folder: str, mark: str) -> dict[str, str]:
    """The variables of a measuring process: the shell's, without what would change a system."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith(FOREIGN)}
    own = {"RAY_TMPDIR": folder, "EAGLERAY_TMPDIR": folder, "TMPDIR": folder, memory.MARKER: mark}
    return {**kept, **own, "RAY_USAGE_STATS_ENABLED": "0"}


def parse(output: str, expected: Iterable[str], broken: str) -> Round:
    """What a process printed; figures that it did not come to failed with it when it is `broken`."""
    found = Round()
    for line in output.splitlines():
        try:
            told = json.loads(line)
        except ValueError:  # killed while it wrote
            continue
        name = told["figure"]
        if "error" in told:
            found.errors[name] = told["error"]
        elif "absent" in told:
            found.absent[name] = told["absent"]
        else:
            found.samples[name] = Sample(told["value"], told.get("bare"), told.get("note", ""))
    missing = [name for name in expected if name not in {*found.samples, *found.absent, *found.errors}]
    if broken and not missing:
        found.errors[""] = broken  # every figure is known: the end of the session failed
    for name in missing:
        found.errors[name] = broken or "the process said nothing of it"
    return found


def end_left_over(mark: str, seconds: float = 5.0) -> None:
    """Waits for the processes that bear a mark, then kills them."""
    deadline = time.monotonic() + seconds
    while left := memory.marked_processes(mark):
        if time.monotonic() > deadline:
            for pid in left:
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)
        time.sleep(0.05)


def end_cleanly() -> None:
    """Has SIGTERM unwind this program, so that what it runs ends with it."""
    signal.signal(signal.SIGTERM, lambda number, _: sys.exit(128 + number))


def await_end(process: subprocess.Popen[str], seconds: float | None = None) -> int | None:
    """The exit code of a process, or None when it runs for longer than `seconds`.

    `Popen.wait` takes a lock between two instructions. When `end_cleanly` unwinds the program there, the lock stays
    taken and the next wait never returns. This function takes no lock.
    """
    if process.returncode is None:
        descriptor = os.pidfd_open(process.pid)
        try:
            if not select.select([descriptor], [], [], seconds)[0]:
                return None
        finally:
            os.close(descriptor)
        process.returncode = os.waitstatus_to_exitcode(os.waitpid(process.pid, 0)[1])
    return process.returncode


def run_clean(command: list[str], limit: float) -> tuple[str, str]:
    """What a program printed that ran from nothing and left nothing, and why it failed if it did."""
    folder, mark = tempfile.mkdtemp(prefix="b-"), uuid.uuid4().hex
    broken = ""
    running = None
    with tempfile.TemporaryFile("w+") as out, tempfile.TemporaryFile("w+") as err:
        try:
            running = subprocess.Popen(
                command,
                cwd=HERE,
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=err,
                env=environment(folder, mark),
                start_new_session=True,
            )
            code = await_end(running, limit)
            if code is None:
                broken = f"not done after {limit:g} s"
            elif code:
                broken = f"the process ended with {code}"
        finally:
            if running is None or running.returncode is None:
                end_left_over(mark, 0.0)
            if running is not None:
                await_end(running)
            end_left_over(mark, 0.0 if broken else 5.0)
            shutil.rmtree(folder, ignore_errors=True)
        out.seek(0), err.seek(0)
        if broken:
            broken += f"; it said last: {err.read()[-2000:].strip()}"
        return out.read(), broken


def measure(python: str, system: str, group: str, seconds: float, long: bool, expected: Iterable[str]) -> Round:
    """One round of one group with one system."""
    command = [python, "measure.py", "--module", system, "--group", group, "--seconds", str(seconds)]
    output, broken = run_clean([*command, "--long"] if long else command, seconds_for(group, long))
    return parse(output, expected, broken)


def expected(system: str, group: str) -> list[str]:
    """The figures that a system has in a group."""
    if system in peers.SYSTEMS:
        return list(peers.figures(system).get(group, ()))
    return [entry.name for entry in groups()[group] if system == OURS or not entry.alone]


def collect(systems: dict[str, str], rounds: int, seconds: float, long: bool, chosen: list[str]) -> Results:
    """All samples; the systems take turns within each round, another one first in each."""
    results = Results({name: {} for name in load()})
    names = list(systems)
    for turn in range(rounds):
        order = names[turn % len(names) :] + names[: turn % len(names)]
        for group in chosen or groups():
            for system in order:
                wanted = expected(system, group)
                if not wanted or (turn and once(system, group, long)):
                    continue
                started = time.monotonic()
                found = measure(systems[system], system, group, seconds, long, wanted)
                results.add(turn + 1, system, group, found)
                took = time.monotonic() - started
                failed = f"  FAILED: {', '.join(name or 'its end' for name in found.errors)}" if found.errors else ""
                print(
                    f"round {turn + 1}/{rounds}  {system:9} {group:10} {took:6.1f} s{failed}",
                    file=sys.stderr,
                    flush=True,
                )
    return results
