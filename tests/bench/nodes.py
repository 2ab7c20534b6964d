"""Measures work across nodes: Eagle Ray and Ray on the same ``Cluster`` of 2, 4 and 8 nodes on this machine, in turns.

    nodes.py --ray-python build/venv-ray/bin/python

Prints one table and writes results/NAME.json. The exit status is 1 when a line failed. Needs some 15 GB of memory for
8 nodes; `--nodes 2 --quick` needs little.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections import defaultdict
from pathlib import Path
from typing import Any

import machine
from across.figures import LINES, PULL_BYTES
from lines import number

HERE = Path(__file__).parent
OURS, THEIRS = "eagleray", "ray"
#: Eagle Ray between whose nodes nothing is encrypted, as between Ray's.
INSECURE = "eagleray --insecure"
#: Variables of a shell that would change what a system does or which session it joins.
FOREIGN = ("RAY_", "EAGLERAY_", "PYTHON", "OMP_", "CUDA_")
CHILD_S = 3000
#: One GiB to all takes at most so many times as long as to one.
BROADCAST_AIM = 1.3
Found = dict[str, Any]


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="one round, short, with few actors")
    parser.add_argument("--rounds", type=int)
    parser.add_argument("--nodes", type=int, action="append", help="a cluster of so many; may be repeated; 2, 4 and 8")
    parser.add_argument("--match", default="", help="only lines with this in their names")
    parser.add_argument("--ours-python", default=sys.executable, help="the interpreter that has eagleray")
    parser.add_argument("--ray-python", help="an interpreter that has Ray and numpy")
    parser.add_argument("--actors", type=int, help="how many actors Eagle Ray makes at once")
    parser.add_argument("--ray-actors", type=int, help="how many Ray makes: each takes some 60 MB")
    parser.add_argument("--shaped-mib", type=int, help="size of the object for bounded links; 0: leave that out")
    parser.add_argument("--megabits", type=int, action="append", help="rate of bounded links; may be repeated; 1,000")
    parser.add_argument("--name", default="nodes", help="the result file's name")
    given = parser.parse_args()
    quick = given.quick
    given.rounds = given.rounds or (1 if quick else 3)
    given.nodes = given.nodes or [2, 4, 8]
    given.actors = given.actors or (100 if quick else 1000)
    given.ray_actors = given.ray_actors or (20 if quick else 100)
    given.megabits = given.megabits or [1000]
    given.shaped_mib = (64 if quick else 1024) if given.shaped_mib is None else given.shaped_mib
    return given


def environment(folder: str) -> dict[str, str]:
    """The environment of a child: no settings of the shell, a folder of its own, and the benchmark's modules."""
    env = {name: value for name, value in os.environ.items() if not name.startswith(FOREIGN)}
    return env | {"PYTHONPATH": str(HERE), "EAGLERAY_TMPDIR": folder, "RAY_TMPDIR": folder, "RAY_DEDUP_LOGS": "0"}


def rows(words: list[str]) -> tuple[list[Found], str]:
    """Runs a child and returns the JSON objects that it printed, and why it failed, if it did."""
    with tempfile.TemporaryDirectory(prefix="er", dir="/tmp", ignore_cleanup_errors=True) as folder:
        try:
            done = subprocess.run(words, env=environment(folder), capture_output=True, text=True, timeout=CHILD_S)
        except subprocess.TimeoutExpired:
            return [], f"no end within {CHILD_S} s"
    found = [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]
    return found, "" if done.returncode == 0 else done.stderr[-2000:]


def cluster_round(
    given: argparse.Namespace, module: str, python: str, nodes: int, match: str
) -> tuple[list[Found], str]:
    insecure = module == INSECURE
    module = OURS if insecure else module
    sizes = {
        "seconds": 0.5 if given.quick else 3,
        "times": 3 if given.quick else 7,
        "actors": given.actors if module == OURS else given.ray_actors,
        "tasks": 200 if given.quick else 2000,
    }
    words = [
        python,
        str(HERE / "across" / "child.py"),
        f"--module={module}",
        f"--nodes={nodes}",
        f"--match={match}",
        *["--insecure"] * insecure,
    ]
    return rows([*words, *(f"--{name}={value}" for name, value in sizes.items())])


def shaped_round(given: argparse.Namespace, system: str, python: str, megabits: int) -> tuple[list[Found], str]:
    module = OURS if system == INSECURE else system
    words = [given.ours_python, str(HERE / "across" / "shaped.py"), f"--module={module}", f"--python={python}"]
    words += [f"--nodes={max(given.nodes)}", f"--mib={given.shaped_mib}", f"--megabits={megabits}"]
    return rows([*words, *["--insecure"] * (system == INSECURE)])


def bare_tls(times: int) -> float:
    """MiB/s of one TLS stream between two processes, with nothing else around it."""
    words = ["go", "run", "./tests/bench/bare/tlsstream", f"-mib={PULL_BYTES >> 20}", f"-times={times + 1}"]
    done = subprocess.run(words, cwd=HERE.parents[1], capture_output=True, text=True, check=True)
    return statistics.median(float(word) for word in done.stdout.split()[1:])


class Table:
    """All values by line and number of nodes, and what failed or is missing."""

    def __init__(self) -> None:
        self.values: dict[tuple[str, int, str], list[float]] = defaultdict(list)
        self.failed: list[str] = []

    def add(self, nodes: int, module: str, found: list[Found], failure: str) -> None:
        """Takes what a child has printed."""
        if failure:
            self.failed.append(f"{module}, {nodes} nodes: {failure}")
        for one in found:
            key = (one["line"], nodes, module)
            if "value" in one:
                self.values[key].append(one["value"])
            else:
                self.failed.append(f"{module}, {nodes} nodes, {one['line']}: {one['error']}")

    def cell(self, key: tuple[str, int, str]) -> str:
        """The median, if there is one."""
        return number(statistics.median(self.values[key])) if self.values[key] else "-"

    def ratio(self, name: str, nodes: int, more: bool) -> float | None:
        """How many times better than Ray."""
        ours, theirs = self.values[name, nodes, OURS], self.values[name, nodes, THEIRS]
        if not ours or not theirs:
            return None
        found = statistics.median(ours) / statistics.median(theirs)
        return found if more else 1 / found

    def lines(self, counts: list[int]) -> list[str]:
        """The table as text."""
        said = [f"{'line':58} nodes {'unit':9} {'Eagle Ray':>14} {'Ray':>14}  better"]
        for line in LINES:
            for nodes in counts:
                ours, theirs = ((line.name, nodes, module) for module in (OURS, THEIRS))
                if (self.cell(ours), self.cell(theirs)) == ("-", "-"):
                    continue
                ratio = self.ratio(line.name, nodes, line.more_is_better)
                better = "" if ratio is None else f"{ratio:.1f} times"
                if line.aim and ratio is not None:
                    better += f" ({'met' if ratio >= line.aim else 'MISSED'}: {line.aim:g})"
                cells = f"{self.cell(ours):>14} {self.cell(theirs):>14}"
                said.append(f"{line.name:58} {nodes:5} {line.unit:9} {cells}  {better}")
        return said


def said_of_shaped(system: str, many: int, mib: int, megabits: int, found: list[Found], failure: str) -> str:
    """One line about the object that goes to all nodes."""
    start = f"{mib} MiB over links of {megabits} Mbit/s, {system}: "
    if failure or not found or "error" in found[0]:
        return start + "FAILED: " + (failure or str(found))
    if "absent" in found[0]:
        return start + found[0]["absent"]
    one, all_ = found[0]["1"], found[0][str(many)]
    return start + f"to one node {one:.2f} s, to {many} {all_:.2f} s, {all_ / one:.2f} times (aim: {BROADCAST_AIM})"


def main() -> int:
    given = parse()
    systems = {OURS: given.ours_python} | ({THEIRS: given.ray_python} if given.ray_python else {})
    pulled = next(line.name for line in LINES if line.unit == "MiB/s")
    table, shaped, bare = Table(), [], 0.0
    for _ in range(given.rounds):
        for nodes in given.nodes:
            for module, python in systems.items():
                table.add(nodes, module, *cluster_round(given, module, python, nodes, given.match))
            if given.match in pulled:
                table.add(nodes, INSECURE, *cluster_round(given, INSECURE, given.ours_python, nodes, pulled))
    if given.match in pulled:
        bare = bare_tls(3 if given.quick else 7)
    if given.shaped_mib and given.match in "shaped":
        for megabits in given.megabits:
            for system, python in {**systems, INSECURE: given.ours_python}.items():
                found, failure = shaped_round(given, system, python, megabits)
                shaped.append(said_of_shaped(system, max(given.nodes), given.shaped_mib, megabits, found, failure))
    print(*table.lines(given.nodes), sep="\n")
    for nodes in given.nodes:
        if bare and (ours := table.values[pulled, nodes, OURS]):
            share = statistics.median(ours) / bare
            print(f"{pulled}, {nodes} nodes: {share:.2f} of a bare TLS stream ({bare:.0f} MiB/s; aim: 0.6)")
        if plain := table.values[pulled, nodes, INSECURE]:
            rate = statistics.median(plain)
            theirs = table.values[pulled, nodes, THEIRS]
            beside = f", {rate / statistics.median(theirs):.1f} times Ray" if theirs else ""
            print(f"{pulled}, {nodes} nodes, without TLS: {rate:.0f} MiB/s{beside}")
    print(*shaped, sep="\n")
    print(*(f"FAILED: {one}" for one in table.failed), sep="\n")
    result = {
        "name": given.name,
        "date": time.strftime("%Y-%m-%d", time.gmtime()),
        "rounds": given.rounds,
        "quick": given.quick,
        "machine": machine.describe(),
        "load_before": round(os.getloadavg()[0], 2),
        "systems": {name: machine.versions(python, name) for name, python in systems.items()},
        "values": [
            {"line": key[0], "nodes": key[1], "system": key[2], "values": got}
            for key, got in table.values.items()
            if got
        ],
        "bare_tls_mib_s": bare,
        "shaped": shaped,
        "failed": table.failed,
    }
    path = HERE / "results" / f"{given.name}.json"
    path.write_text(json.dumps(result, indent=1) + "\n")
    print(f"written to tests/bench/results/{path.name}")
    return int(bool(table.failed) or any("FAILED" in one for one in shaped))


if __name__ == "__main__":
    sys.exit(main())
