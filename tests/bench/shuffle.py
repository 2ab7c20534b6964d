"""A shuffle that is several times larger than the object store: the same job under Eagle Ray and under Ray.

    shuffle.py                                              8 GB through a 1 GB store, Eagle Ray
    shuffle.py --ray-python build/venv-ray/bin/python       both, in turns, and how many times faster ours is
    shuffle.py --gigabytes 1 --store 0.2 --rounds 3         smaller

Maps make blocks of random records and cut them into one part for each reduce; a reduce takes its part of every map,
adds it up and counts it. The sums must be those that the maps have seen. Random bytes do not compress: with
``--values N`` records are whole numbers below N, and a store that compresses may.
"""

from __future__ import annotations

import argparse
import importlib
import json
import os
import subprocess
import sys
import time
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np

GB = 10**9
RECORD = 8


def run(options: argparse.Namespace) -> dict[str, Any]:
    """One shuffle under one system."""
    ray = importlib.import_module(options.module)
    ray.init(
        address="local",
        num_cpus=options.cpus,
        object_store_memory=int(options.store * GB),
        object_spilling_directory=options.directory,
        log_to_driver=False,
        include_dashboard=False,
    )
    reduces, high = options.reduces, options.values or 2**63
    records = int(options.gigabytes * GB) // RECORD // options.maps // reduces * reduces

    @ray.remote(num_returns=reduces + 1)
    def cut(seed: int) -> tuple[Any, ...]:
        block = np.random.Generator(np.random.SFC64(seed)).integers(0, high, records, dtype=np.int64)
        parts = block.reshape(reduces, -1)
        return (*parts, [int(part.sum()) for part in parts])

    @ray.remote
    def add(*parts: Any) -> tuple[int, int]:
        return sum(int(part.sum()) for part in parts), sum(len(part) for part in parts)

    ray.get([add.remote() for _ in range(2 * options.cpus)])  # workers are there
    began = time.perf_counter()
    made = [cut.remote(seed) for seed in range(options.maps)]
    sums = [row.pop() for row in made]
    added = [add.remote(*(row[index] for row in made)) for index in range(reduces)]
    del made
    seen = ray.get(sums)
    mapped = time.perf_counter() - began
    got = ray.get(added)
    seconds = time.perf_counter() - began
    for index, (total, count) in enumerate(got):
        expected = sum(row[index] for row in seen)
        if (
            np.int64(np.uint64(total % 2**64)) != np.int64(np.uint64(expected % 2**64))
            or count != records // reduces * options.maps
        ):
            raise AssertionError(f"reduce {index} has {count} records with sum {total}, expected {expected}")
    ray.shutdown()
    size = records * options.maps * RECORD
    return {"seconds": seconds, "map_seconds": mapped, "mb_per_s": size / 1e6 / seconds}


def child(options: argparse.Namespace, module: str, python: str) -> dict[str, Any]:
    """The shuffle in a process of its own, for a system has one session in a process."""
    names = ("gigabytes", "store", "maps", "reduces", "cpus", "values", "directory")
    given = [f"--{name}={getattr(options, name)}" for name in names if getattr(options, name) is not None]
    done = subprocess.run(
        [python, str(Path(__file__).resolve()), "--module", module, "--alone", *given],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=options.limit,
        env={**os.environ, "RAY_USAGE_STATS_ENABLED": "0"},
    )
    if done.returncode:
        raise SystemExit(f"{module} failed:\n{done.stderr[-4000:]}")
    return json.loads(done.stdout.splitlines()[-1])


def main() -> None:
    """Parses, runs and prints."""
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--gigabytes", type=float, default=8, help="of records, together (10^9 bytes)")
    p.add_argument("--store", type=float, default=1, help="size of the object store, in the same unit")
    p.add_argument("--maps", type=int, default=64)
    p.add_argument("--reduces", type=int, default=64)
    p.add_argument("--cpus", type=int, default=len(os.sched_getaffinity(0)))
    p.add_argument("--values", type=int, help="records are below this; default: any 63 bits")
    p.add_argument("--directory", help="where objects are spilled to")
    p.add_argument("--rounds", type=int, default=1)
    p.add_argument("--ours-python", default=sys.executable)
    p.add_argument("--ray-python", help="run Ray beside it, with this interpreter")
    p.add_argument("--limit", type=float, default=1800, help="seconds for one shuffle")
    p.add_argument("--module", default="eagleray", help=argparse.SUPPRESS)
    p.add_argument("--alone", action="store_true", help=argparse.SUPPRESS)
    options = p.parse_args()
    if options.alone:
        print(json.dumps(run(options)))
        return
    systems = {"eagleray": options.ours_python}
    if options.ray_python:
        systems["ray"] = options.ray_python
    taken: dict[str, list[float]] = {name: [] for name in systems}
    for turn in range(options.rounds):
        for name, python in systems.items():
            found = child(options, name, python)
            taken[name].append(found["mb_per_s"])
            print(
                f"round {turn + 1}/{options.rounds}  {name:9} {found['mb_per_s']:8.1f} MB/s  "
                f"{found['seconds']:7.1f} s  (maps {found['map_seconds']:.1f} s)",
                flush=True,
            )
    middle = {name: median(values) for name, values in taken.items()}
    if "ray" in middle:
        print(
            f"median: eagleray {middle['eagleray']:.1f} MB/s, ray {middle['ray']:.1f} MB/s: "
            f"{middle['eagleray'] / middle['ray']:.2f} times"
        )


if __name__ == "__main__":
    main()
