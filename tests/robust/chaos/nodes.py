"""Work on five nodes while one of them is struck every 10 seconds: every result right, nothing left on any node.

``python -m chaos.nodes --seed 1`` in ``tests/robust`` runs the full size, ``--quick`` a minute of it. The nodes are in
network namespaces of their own (package ``net``). The first one has the head and the program; the blows go to the
others. There are two runs. In one the blows are shorter than the silence after which a node is dead, so that only a
killed node is lost; in the other they are longer, so that a node that was struck is declared dead, and returns as a new
one.
"""

from __future__ import annotations

import argparse
import itertools
import json
import os
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

from net.lab import ROBUST, Lab, unavailable
from net.machine import Machine

from chaos import tokens
from chaos.blows import WAYS, Field, Striker, plan
from chaos.nodesleft import left

NODES = 5
INTERVAL_S = 10.0
#: Within which something has to end. A connection without a word is given up after 60 s.
PATIENCE_S = 150.0
SMALL = ("--num-cpus=2", "--num-gpus=0", "--object-store-memory=100000000")
WORK = ("--resources", '{"work": 8}')


@dataclass(frozen=True)
class Run:
    """One run: the silence after which a node is dead, and how long blows last."""

    timeout_s: float
    blows_s: tuple[float, ...]


#: A connection is given up after 5 s of silence: the short blows do not break it, and the long ones do.
RUNS = {"survived": Run(timeout_s=15, blows_s=(3, 8)), "deadly": Run(timeout_s=5, blows_s=(8,))}


def sizes(given: argparse.Namespace) -> dict[str, float]:
    """How much is done in a run."""
    quick = {"seconds": 25, "tasks": 200, "actors": 10, "singles": 4}
    full = {"seconds": 150, "tasks": 5000, "actors": 50, "singles": 10}
    usual = quick if given.quick else full
    return {name: n if (n := getattr(given, name)) is not None else usual[name] for name in usual}


def strike(given: argparse.Namespace, run: Run, lab: Lab, folder: Path) -> list[str]:
    """Runs the work under the blows. Returns what was wrong."""
    machines = list(lab.machines.values())
    for machine in machines:  # workers import from here, too
        machine.env["PYTHONPATH"] = os.pathsep.join([str(ROBUST), *filter(None, [os.environ.get("PYTHONPATH")])])
    head = machines[0].start_head(*SMALL, f'--system-config={{"node_timeout": {run.timeout_s}}}')
    field = Field(lab, head, (*SMALL, *WORK), run.timeout_s)
    for machine in machines[1:]:
        field.join(machine)
    blows = plan(given.seed, given.only or list(WAYS), "bcde", run.blows_s)
    if given.blows:
        blows = itertools.islice(blows, given.blows)
    wrong = work(given, machines[0], folder, Striker(field, blows, given.interval))
    if given.keep:
        print(f"  the nodes run on; enter the lab by: {' '.join(lab.enter())}; Enter ends them")
        sys.stdin.readline()
    return wrong + [f"left: {one}" for one in left(machines)]


def work(given: argparse.Namespace, machine: Machine, folder: Path, striker: Striker) -> list[str]:
    """Runs the program while nodes are struck, and takes what it says. Returns what was wrong."""
    runs, calls = folder / "runs", folder / "calls"
    size = {"seed": given.seed, "patience": given.patience, "runs": runs, "calls": calls, **sizes(given)}
    words = [f"--{name}={value}" for name, value in size.items()]
    program = machine.popen(sys.executable, "-m", "chaos.nodeswork", *words)
    assert program.stdout
    said = [program.stdout.readline()]
    if said != ["begun\n"]:
        return [f"the program has not begun: {said[0]}{program.stdout.read()}"]
    with striker:
        while said[-1] not in ("worked\n", ""):
            said.append(program.stdout.readline())
    rest, _ = program.communicate("\n" if program.poll() is None else None)
    said += rest.splitlines(keepends=True)
    status = program.returncode
    wrong = [striker.error] if striker.error else []
    made = tokens.read(calls)
    wrong += tokens.twice(made)
    told = [line[5:] for line in said if line.startswith("told ")]
    if status or not told:
        return [*wrong, f"the program ended with status {status}: {''.join(said)[-3000:]}"]
    result = json.loads(told[0])
    wrong += result["wrong"] + [f"kept: {one}" for one in result.get("kept", [])]
    done = ", ".join(f"{kind} {count}" for kind, count in sorted(result["done"].items()))
    print(f"  {done}; {result['tasks']} tasks; {result['again']} ran again; the longest took {result['longest']:.1f} s")
    print(f"  {len(made)} calls of exclusive actors, which were started again {tokens.lives(made)} times")
    print(f"  {len(striker.struck)} blows")
    if not wrong and not (sum(result["done"].values()) and striker.struck):
        wrong.append("nothing was done, or nothing was struck")
    return wrong


def main(words: list[str]) -> int:
    """Runs it; 1 when something was wrong."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seed", type=int, default=int.from_bytes(os.urandom(3), "big"), help="gives the same blows")
    parser.add_argument("--quick", action="store_true", help="a minute of it")
    parser.add_argument("--runs", nargs="*", choices=list(RUNS), default=list(RUNS), help="which")
    parser.add_argument("--seconds", type=float, help="of work in each run, at least")
    parser.add_argument("--tasks", type=int, help="in each run, at least")
    parser.add_argument("--actors", type=int, help="that may restart")
    parser.add_argument("--singles", type=int, help="exclusive actors")
    parser.add_argument("--interval", type=float, default=INTERVAL_S, help="seconds from one blow to the next")
    parser.add_argument("--patience", type=float, default=PATIENCE_S, help="seconds within which something has to end")
    parser.add_argument("--only", nargs="*", default=[], choices=WAYS, help="ways to strike")
    parser.add_argument("--blows", type=int, default=0, help="no more than that")
    parser.add_argument("--keep", action="store_true", help="wait before the nodes are stopped, to look at them")
    given = parser.parse_args(words)
    if why := unavailable():
        print(why)
        return 1
    start, wrong = time.monotonic(), []
    for name in given.runs:
        run = RUNS[name]
        lengths = " or ".join(f"{length:g}" for length in run.blows_s)
        print(f"{name} blows of {lengths} s; a node is dead after {run.timeout_s:g} s", flush=True)
        with tempfile.TemporaryDirectory(prefix="er", dir="/tmp") as folder, Lab(NODES) as lab:
            found = strike(given, run, lab, Path(folder))
        for one in found[:20]:
            print(f"  WRONG: {one}", flush=True)
        wrong += found
    verdict = "FAILED" if wrong else "every result right, nothing left on any node"
    print(f"nodes: seed {given.seed}, {time.monotonic() - start:.0f} s: {verdict}")
    return int(bool(wrong))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
