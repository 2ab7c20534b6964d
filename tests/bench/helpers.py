"""Helpers of ``util`` beside Ray's, in turns: Pool.map of 10,000, joblib, a graph of Dask.

Run with an interpreter that has Eagle Ray; ``--ray-python`` names one that has Ray, joblib and Dask. Each turn is a
process of its own, which measures each line twice and gives the fastest.

    .venv/bin/python tests/bench/helpers.py --ray-python PATH --turns 5 --output tests/bench/results/helpers.json
"""

from __future__ import annotations

import argparse
import importlib
import json
import os
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from operator import add
from pathlib import Path
from typing import Any

REPEATS = 2
CALLS = 10_000
BLOCKS = 2_000


def one(x: int) -> int:
    return x + 1


def pool(ray: Any) -> Callable[[], Any]:
    made = importlib.import_module(f"{ray.__name__}.util.multiprocessing").Pool(2)
    return lambda: made.map(one, range(CALLS))


def pool_chunk_of_one(ray: Any) -> Callable[[], Any]:
    made = importlib.import_module(f"{ray.__name__}.util.multiprocessing").Pool(2)
    return lambda: made.map(one, range(CALLS // 5), chunksize=1)


def joblib_calls(ray: Any) -> Callable[[], Any]:
    import joblib

    importlib.import_module(f"{ray.__name__}.util.joblib").register_ray()

    def run() -> None:
        with joblib.parallel_config("ray", n_jobs=2):
            joblib.Parallel()(joblib.delayed(one)(x) for x in range(CALLS))

    return run


def dask_graph(ray: Any) -> Callable[[], Any]:
    get = importlib.import_module(f"{ray.__name__}.util.dask").ray_dask_get

    def run() -> None:
        graph: dict[str, Any] = {f"x{i}": (add, i, 1) for i in range(BLOCKS)}
        graph |= {f"y{i}": (sum, [f"x{10 * i + j}" for j in range(10)]) for i in range(BLOCKS // 10)}
        graph["z"] = (sum, [f"y{i}" for i in range(BLOCKS // 10)])
        assert get(graph, "z") == sum(range(1, BLOCKS + 1))

    return run


def dask_array(ray: Any) -> Callable[[], Any]:
    import dask.array as da

    get = importlib.import_module(f"{ray.__name__}.util.dask").ray_dask_get
    x = da.ones((400, 400), chunks=(20, 20))
    return lambda: (x + x.T).sum().compute(scheduler=get)


LINES: dict[str, Callable[[Any], Callable[[], Any]]] = {
    f"Pool.map of {CALLS:,}": pool,
    f"Pool.map of {CALLS // 5:,}, chunks of one": pool_chunk_of_one,
    f"joblib, {CALLS:,} calls": joblib_calls,
    f"Dask, a graph of {BLOCKS + BLOCKS // 10 + 1:,} tasks": dask_graph,
    "Dask, an array of 400 blocks": dask_array,
}


def measure(module: str) -> dict[str, float]:
    """The seconds of each line in this process."""
    ray = importlib.import_module(module)
    ray.init(address="local", num_cpus=8, log_to_driver=False, logging_level="error")
    found = {}
    for name, prepare in LINES.items():
        run = prepare(ray)
        run()  # workers start, functions travel
        times = []
        for _ in range(REPEATS):
            began = time.perf_counter()
            run()
            times.append(time.perf_counter() - began)
        found[name] = min(times)
    ray.shutdown()
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--measure", metavar="MODULE", help="measure in this process, and print the result")
    parser.add_argument("--ray-python", help="an interpreter that has Ray, joblib and Dask")
    parser.add_argument("--turns", type=int, default=5)
    parser.add_argument("--output", type=Path, help="where the result goes, as JSON")
    options = parser.parse_args()
    if options.measure:
        print("RESULT " + json.dumps(measure(options.measure)))
        return
    sides = {"eagleray": sys.executable, "ray": options.ray_python or parser.error("--ray-python is missing")}
    times: dict[str, dict[str, list[float]]] = {name: {side: [] for side in sides} for name in LINES}
    for turn in range(options.turns):
        for side, python in list(sides.items())[:: 1 if turn % 2 else -1]:
            command = [python, __file__, "--measure", side]
            done = subprocess.run(command, capture_output=True, text=True, timeout=300)
            line = next((line for line in done.stdout.splitlines() if line.startswith("RESULT ")), None)
            if line is None:
                raise SystemExit(done.stdout + done.stderr)
            for name, seconds in json.loads(line.removeprefix("RESULT ")).items():
                times[name][side].append(seconds)
        print(f"turn {turn + 1} of {options.turns}: load {os.getloadavg()[0]:.1f}", flush=True)
    out: dict[str, Any] = {"processors": os.cpu_count(), "lines": {}}
    for name, both in times.items():
        ratio = statistics.median(b / a for a, b in zip(both["eagleray"], both["ray"], strict=True))
        out["lines"][name] = {**both, "times_as_fast": round(ratio, 2)}
        ours, theirs = statistics.median(both["eagleray"]), statistics.median(both["ray"])
        print(f"{name}: {ours:.3f} s, Ray {theirs:.3f} s: {ratio:.1f} times as fast")
    if options.output:
        options.output.write_text(json.dumps(out, indent=1) + "\n")


if __name__ == "__main__":
    main()
