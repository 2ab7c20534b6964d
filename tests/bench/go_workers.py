"""Calls of Go workers beside calls of Python workers, in turns: ``python tests/bench/go_workers.py``.

Writes the median of the rounds, in calls a second, and how often that is the figure of Python to Python.
"""

from __future__ import annotations

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

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT / "tests"))

import eagleray as ray  # noqa: E402
from eagleray._private.cli import BINARY  # noqa: E402
from go_program import actor, function, program  # noqa: E402

CALLS, ROUNDS = 1000, 5
Figures = dict[str, list[float]]


@ray.remote
def add(a: int, b: int) -> int:
    return a + b


@ray.remote
class Counter:
    n = 0

    def add(self, n: int) -> int:
        self.n += n
        return self.n


def measure(figures: Figures, name: str, call: Any) -> None:
    ray.get(call())
    begin = time.perf_counter()
    for _ in range(CALLS):
        ray.get(call())
    figures[f"{name}, one after the other"].append(CALLS / (time.perf_counter() - begin))
    begin = time.perf_counter()
    ray.get([call() for _ in range(CALLS)])
    figures[f"{name}, 1,000 at once"].append(CALLS / (time.perf_counter() - begin))


def from_python(figures: Figures) -> None:
    go, counters = function("sum"), (Counter.remote(), actor().remote())
    lines = {
        "Python to Python, task": lambda: add.remote(1, 2),
        "Python to Go, task": lambda: go.remote(1, 2),
        "Python to Python, actor's call": lambda: counters[0].add.remote(1),
        "Python to Go, actor's call": lambda: counters[1].Add.remote(1),
    }
    for _ in range(ROUNDS):
        for name, call in lines.items():
            measure(figures, name, call)


def from_go(figures: Figures, folder: str) -> None:
    caller = os.path.join(folder, "caller")
    subprocess.run(["go", "build", "-o", caller, "./tests/bench/gocaller"], cwd=ROOT, check=True)
    done = subprocess.run([caller, program()], check=True, capture_output=True, text=True)
    for line in done.stdout.splitlines():
        name, rate = json.loads(line)
        figures[name].append(rate)


def main() -> None:
    figures: Figures = defaultdict(list)
    with tempfile.TemporaryDirectory(prefix="er", dir="/tmp") as folder:
        os.environ.update(EAGLERAY_TMPDIR=folder, EAGLERAY_PYTHON=sys.executable)
        subprocess.run([BINARY, "start", "--head"], check=True, stdout=subprocess.DEVNULL)
        try:
            ray.init(address="auto", log_to_driver=False)
            from_python(figures)
            ray.shutdown()
            from_go(figures, folder)
        finally:
            subprocess.run([BINARY, "stop"], check=True, stdout=subprocess.DEVNULL)
    middle = {name: statistics.median(rates) for name, rates in figures.items()}
    for name, rate in middle.items():
        kind, _, how = name.partition(", ")
        base = middle[f"Python to Python, {how}"]
        print(f"{name:55} {rate:10,.0f} 1/s  {rate / base:5.2f}" if kind else "")


if __name__ == "__main__":
    main()
