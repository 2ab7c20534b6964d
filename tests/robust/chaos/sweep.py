"""Thousands of random programs; one that fails is made short and printed.

``python -m chaos.sweep --programs 1000 --seed 1`` in ``tests/robust``.
"""

from __future__ import annotations

import argparse
import importlib
import json
import os
import secrets
import subprocess
import sys
import tempfile
import time
from collections import Counter

import eagleray as ray

from chaos.boxes import Holder
from chaos.program import Run, Step, program
from chaos.shrink import shrink
from chaos.travels import STORE

STEPS = 25
HOLDERS = 3
#: A program that takes longer hangs.
LONGEST = 90.0


class Session:
    """A session with holders, in which programs run one after the other."""

    #: How a program of its own is told to use such a session.
    flags: tuple[str, ...] = ()

    def program(self, seed: int) -> list[Step]:
        """The program of a seed."""
        return program(seed, STEPS)

    def __enter__(self) -> Session:
        from eagleray._private.state import process

        ray.init(address="local", num_cpus=2, object_store_memory=STORE, log_to_driver=False)
        self.holders = [Holder.remote() for _ in range(HOLDERS)]
        self.daemon = process.require().daemon_pid
        return self

    def __exit__(self, *_: object) -> None:
        ray.shutdown()

    def begin(self) -> Run:
        """A program to be run."""
        return Run(self.holders, self.daemon)

    def run(self, steps: list[Step]) -> str:
        """Runs a program; how it failed, "" if it did not."""
        run = self.begin()
        try:
            run.run(steps)
        except Exception as error:
            return f"at {run.at}: {type(error).__name__}: {str(error).strip()[:500]}"
        return ""


def fails_alone(steps: list[Step], flags: tuple[str, ...]) -> bool:
    """Whether the program fails in a session of its own."""
    command = [sys.executable, "-m", "chaos.sweep", *flags, "--replay", json.dumps(steps)]
    try:
        return subprocess.run(command, capture_output=True, timeout=LONGEST).returncode != 0
    except subprocess.TimeoutExpired:
        return True


def sweep(kind: type[Session], first: int, programs: int, shrinking: float) -> int:
    """Runs programs of seeds one after the other until one fails; 1 if one did."""
    start = time.monotonic()
    done: Counter[str] = Counter()
    with kind() as session:
        for seed in range(first, first + programs):
            steps = session.program(seed)
            failure = session.run(steps)
            if failure:
                print(f"program {seed - first + 1} (seed {seed}) went wrong: {failure}", flush=True)
                break
            done.update(name for name, _ in steps)
        else:
            kills = done["kill_worker"] + done["kill_holder"]
            nodes = f"{done['kill_node']} nodes lost, " if done["kill_node"] else ""
            print(
                f"seeds {first} to {first + programs - 1}: {programs} random programs of {STEPS} steps in "
                f"{time.monotonic() - start:.0f} s ({nodes}{kills} kills, {done['cancel']} cancels): "
                "nothing freed early, nothing kept"
            )
            return 0
    if shrinking:
        report(kind, steps, shrinking)
    print(f"repeat it with: make robust SEED={seed}")
    return 1


def report(kind: type[Session], steps: list[Step], seconds: float) -> None:
    """Shortens a failing program and prints what is left."""

    def fails(some: list[Step]) -> bool:
        return fails_alone(some, kind.flags)

    if not fails(steps):
        print("it does not fail in a fresh session")
        return
    for name, seed in shrink(steps, fails, seconds):
        print(f"    {name:12} {seed}")


def main(words: list[str]) -> int:
    """Runs what the command line asks for; 1 when it went wrong."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seed", type=int, default=int.from_bytes(os.urandom(4), "big"))
    parser.add_argument("--programs", type=int, default=1000)
    parser.add_argument("--shrink", type=float, default=120, help="seconds to spend on shortening a failing program")
    parser.add_argument("--replay", type=json.loads, help="the steps of one program")
    parser.add_argument("--nodes", action="store_true", help="on a cluster of three nodes, one of which is killed")
    given = parser.parse_args(words)
    kind = Session
    if given.nodes:
        if os.environ.get("EAGLERAY_CHAOS_STRATEGY") != "SPREAD":  # which is read when the tasks are defined
            os.environ["EAGLERAY_CHAOS_STRATEGY"] = "SPREAD"
            os.execv(sys.executable, [sys.executable, "-m", "chaos.sweep", *words])
        kind = importlib.import_module("chaos.far").Nodes
    os.environ["EAGLERAY_ROBUST_MARK"] = secrets.token_hex(8)
    with tempfile.TemporaryDirectory(prefix="er-", dir="/tmp", ignore_cleanup_errors=True) as folder:
        os.environ["EAGLERAY_TMPDIR"] = folder
        if given.replay:
            with kind() as session:
                failure = session.run([(name, seed) for name, seed in given.replay])
            print(failure)
            return bool(failure)
        return sweep(kind, given.seed, given.programs, given.shrink)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
