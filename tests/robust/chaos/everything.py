"""`make robust`: all that shows that nothing is lost, one part after the other, and a table of it at the end.

A part that fails does not keep the others from running. The exit status is 1 if one did.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path

ROBUST = Path(__file__).parents[1]


@dataclass
class Part:
    """One of the runs."""

    what: str
    command: list[str]
    code: int = -1
    seconds: float = 0
    said: str = ""

    def run(self) -> None:
        """Runs it; its output goes on to whoever reads ours, and its last line is kept."""
        print(f"\n=== {self.what}: {' '.join(self.command[1:])}", flush=True)
        start = time.monotonic()
        with subprocess.Popen(self.command, cwd=ROBUST, stdout=subprocess.PIPE, text=True) as process:
            assert process.stdout
            for line in process.stdout:
                print(line, end="", flush=True)
                self.said = line.strip(" =\n") or self.said
        self.code, self.seconds = process.returncode, time.monotonic() - start

    def row(self) -> str:
        """Its line of the table."""
        went = "passed" if self.code == 0 else f"FAILED ({self.code})"
        return f"{self.what:34} {went:11} {self.seconds:6.0f} s  {self.said[:110]}"


def parts(seed: int, programs: int, variant: str, only: list[str], bugs: list[str]) -> list[Part]:
    """What there is to run, or what of it is asked for."""
    module = [sys.executable, "-m"]
    found = {
        "storm": Part("work while workers are killed", [*module, "chaos.storm", "--seed", str(seed)]),
        "sweep": Part("random programs", [*module, "chaos.sweep", "--seed", str(seed), "--programs", str(programs)]),
        "far": Part(
            "random programs on three nodes",
            [*module, "chaos.sweep", "--nodes", "--seed", str(seed), "--programs", str(max(programs // 10, 10))],
        ),
        "planted": Part("bugs on purpose are found", [*module, "chaos.planted", variant, str(seed), *bugs]),
        "soak": Part(
            "memory under mixed load",
            [*module, "chaos.soak", "--seed", str(seed), "--minutes", "2", "--settled", "1", "--slack", "5"],
        ),
        "nodes": Part("nodes are struck", [*module, "chaos.nodes", "--seed", str(seed)]),
        "returned": Part("nodes return that were dead", [*module, "chaos.returned", "--seed", str(seed)]),
        "answers": Part("the head's answers are lost", [*module, "chaos.answers", "--seed", str(seed)]),
        "heads": Part("one of three heads is struck", [*module, "chaos.heads", "--seed", str(seed)]),
        "fiveheads": Part(
            "one or two of five heads are struck", [*module, "chaos.heads", "--heads", "5", "--seed", str(seed)]
        ),
        "fullheads": Part(
            "disks of heads are full", [*module, "chaos.heads", "--small-disks", "--seed", str(seed), "--blows", "2"]
        ),
        "upgrade": Part("heads are replaced by other builds", [*module, "chaos.upgrade", "--seed", str(seed)]),
        "nodebugs": Part("bugs among nodes are found", [*module, "chaos.planted", variant, str(seed), "nodes", *bugs]),
        "headbugs": Part("bugs of heads are found", [*module, "chaos.planted", variant, str(seed), "heads", *bugs]),
        "gobugs": Part("bugs that Go tests find", [*module, "chaos.planted", variant, str(seed), "go", *bugs]),
        "attacks": Part("attacks on every port", [*module, "chaos.attacks"]),
        "slow": Part("tests that take long", [*module, "pytest", "-q", "--slow", "-m", "slow", str(ROBUST)]),
    }
    return [part for name, part in found.items() if name in only or not only]


def main(words: list[str]) -> int:
    """Runs the parts; 1 when one failed."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seed", type=int, default=int.from_bytes(os.urandom(3), "big"))
    parser.add_argument("--programs", type=int, default=1000)
    parser.add_argument("--planted", required=True, help="the folder of the build with bugs on purpose")
    parser.add_argument(
        "only",
        nargs="*",
        help="storm, sweep, far, planted, soak, nodes, returned, answers, heads, fiveheads, fullheads, upgrade, "
        "nodebugs, headbugs, gobugs, attacks, slow; all if none is named",
    )
    parser.add_argument(
        "--bugs",
        default="",
        help="which bugs the parts planted, nodebugs, headbugs and gobugs plant; all if none is named",
    )
    given = parser.parse_args(words)
    chosen = parts(given.seed, given.programs, str(Path(given.planted).resolve()), given.only, given.bugs.split())
    start = time.monotonic()
    for part in chosen:
        part.run()
    failed = [part for part in chosen if part.code]
    print(f"\n=== seed {given.seed}, {time.monotonic() - start:.0f} s")
    print(*(part.row() for part in chosen), sep="\n")
    if failed:
        print(f"{len(failed)} of {len(chosen)} parts FAILED; again: make robust SEED={given.seed}")
    else:
        print(f"all {len(chosen)} parts passed")
    return int(bool(failed))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
