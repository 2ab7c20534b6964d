"""A tensor of 256 MiB beside Ray's, in turns: `put`, `get`, and a task that takes it.

Run with an interpreter that has torch and numpy, and Eagle Ray or Ray, or both. Each turn is a process of its own.

    python tests/bench/torch_tensors.py --ours PYTHON --theirs PYTHON --turns 3
"""

from __future__ import annotations

import argparse
import importlib
import os
import statistics
import subprocess
import sys
import tempfile
import time
import warnings
from typing import Any

VARIABLE = "RAY_ENABLE_ZERO_COPY_TORCH_TENSORS"
NUMBERS = 1 << 26
REPEATS = 8


def last(tensor: Any) -> float:
    return float(tensor[-1])


def measure(system: str) -> None:
    """Prints the medians of this process, in milliseconds."""
    ray = importlib.import_module(system)
    torch = importlib.import_module("torch")
    with tempfile.TemporaryDirectory(prefix="er") as folder:
        more = {"include_dashboard": False, "_temp_dir": folder} if system == "ray" else {}
        ray.init(address="local", num_cpus=2, log_to_driver=False, object_store_memory=3 << 30, **more)
        warnings.simplefilter("ignore")
        tensor = torch.arange(NUMBERS, dtype=torch.float32)
        task = ray.remote(last)
        ray.get(task.remote(torch.ones(2)))
        times: dict[str, list[float]] = {"put": [], "get": [], "task": []}
        for _ in range(REPEATS):
            begin = time.perf_counter()
            ref = ray.put(tensor)
            put = time.perf_counter()
            found = ray.get(ref)
            got = time.perf_counter()
            assert found[-1] == tensor[-1]
            called = time.perf_counter()
            assert ray.get(task.remote(ref)) == tensor[-1]
            times["put"].append(put - begin)
            times["get"].append(got - put)
            times["task"].append(time.perf_counter() - called)
            del found, ref
            time.sleep(0.5)  # both take an object's memory back a little later
        print("  ".join(f"{name} {statistics.median(one) * 1e3:.0f}" for name, one in times.items()))
        ray.shutdown()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--ours", default=sys.executable, help="an interpreter that has Eagle Ray")
    parser.add_argument("--theirs", help="an interpreter that has Ray")
    parser.add_argument("--turns", type=int, default=3)
    parser.add_argument("--system", help=argparse.SUPPRESS)
    chosen = parser.parse_args()
    if chosen.system:
        measure(chosen.system)
        return
    systems = [("eagleray", chosen.ours)] + ([("ray", chosen.theirs)] if chosen.theirs else [])
    for turn in range(chosen.turns):
        for value in "01":
            for system, python in systems:
                command = [python, __file__, "--system", system]
                done = subprocess.run(command, env={**os.environ, VARIABLE: value}, capture_output=True, text=True)
                said = done.stdout.strip() or f"failed: {done.stderr.strip().splitlines()[-1:]}"
                print(f"turn {turn + 1}  {system:8}  {VARIABLE}={value}  ms: {said}", flush=True)


if __name__ == "__main__":
    main()
