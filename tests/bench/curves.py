"""How the cost of a task grows with what the system already has to hold: tasks queued, references, actors.

    curves.py --ray-python build/venv-ray/bin/python      writes results/curves.json

Each curve of each system runs in a process of its own. A point is left out when it would take a curve beyond its cap of
seconds, judged by the point before it; the file says where a system stopped and why.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from statistics import median
from typing import Any

import machine
from book import INIT, OURS, THEIRS, Bench
from rounds import end_cleanly, run_clean

HERE = Path(__file__).parent
TASKS = 1000
TURNS = 5  # of a batch, or fewer when they take long
TURNS_SECONDS = 1.0
CAPS = {"quick": 20.0, "long": 300.0}
Point = dict[str, float]


def steps(first: int, last: int) -> list[int]:
    """first, 3 first, 10 first … up to last."""
    found = [first * factor * 10**power for power in range(7) for factor in (1, 3)]
    return [number for number in found if number <= last]


def batch_us(bench: Bench, submit: Callable[[int], Any]) -> float:
    """Microseconds a call, of a thousand at once: the median of some turns after one that warms up."""
    taken: list[float] = []
    while len(taken) <= TURNS and (len(taken) < 2 or sum(taken) < TURNS_SECONDS):
        started = time.perf_counter()
        assert bench.ray.get([submit(number) for number in range(TASKS)]) == [None] * TASKS
        taken.append(time.perf_counter() - started)
    return median(taken[1:]) / TASKS * 1e6


def queued(bench: Bench) -> Callable[[int], Point]:
    """Cost of a task when a number of them wait, submitted while no CPU is free."""
    ray = bench.ray
    folder = Path(tempfile.mkdtemp(prefix="gate-"))
    nothing = ray.remote(lambda: None)

    @ray.remote(num_cpus=INIT["num_cpus"])
    def hold(path: str) -> None:
        while not os.path.exists(path):
            time.sleep(0.001)

    def point(count: int) -> Point:
        gate = folder / str(count)
        held = hold.remote(str(gate))
        started = time.perf_counter()
        refs = [nothing.remote() for _ in range(count)]
        submitted = time.perf_counter()
        gate.touch()
        ray.get(refs[-1])
        assert all(
            ray.get(refs[at : at + TASKS]) == [None] * len(refs[at : at + TASKS]) for at in range(0, count, TASKS)
        )
        done = time.perf_counter()
        ray.get(held)
        return {
            "grow_s": done - started,
            "task_us": (done - started) / count * 1e6,
            "submit_us": (submitted - started) / count * 1e6,
        }

    ray.get([nothing.remote() for _ in range(TASKS)])
    return point


def references(bench: Bench) -> Callable[[int], Point]:
    """Cost of a task while the driver holds a number of references to other values."""
    ray = bench.ray
    nothing = ray.remote(lambda: None)
    held: list[Any] = []

    def point(count: int) -> Point:
        started = time.perf_counter()
        held.extend(ray.put(number) for number in range(len(held), count))
        grown = time.perf_counter() - started
        found = {"grow_s": grown, "task_us": batch_us(bench, lambda _: nothing.remote())}
        assert ray.get(held[-1]) == count - 1 and ray.get(held[0]) == 0
        return found

    return point


def actors(bench: Bench) -> Callable[[int], Point]:
    """Cost of a task, and of a call of one of them, while a number of actors is alive."""
    ray = bench.ray
    nothing = ray.remote(lambda: None)
    held: list[Any] = []

    class Nothing:
        def call(self) -> None:
            return None

    Actor = ray.remote(num_cpus=0)(Nothing)

    def point(count: int) -> Point:
        started = time.perf_counter()
        made = [Actor.remote() for _ in range(len(held), count)]
        assert ray.get([actor.call.remote() for actor in made]) == [None] * len(made)
        held.extend(made)
        return {
            "grow_s": time.perf_counter() - started,
            "task_us": batch_us(bench, lambda _: nothing.remote()),
            "call_us": batch_us(bench, lambda _: held[0].call.remote()),
        }

    return point


#: The numbers for which each curve has a point. An actor is a process: a thousand are what a small machine holds.
CURVES: dict[str, tuple[Callable[[Bench], Callable[[int], Point]], list[int]]] = {
    "queued": (queued, steps(100, 1_000_000)),
    "references": (references, steps(100, 1_000_000)),
    "actors": (actors, steps(10, 1000)),
}


def points(name: str, bench: Bench, cap: float) -> Iterator[Point]:
    """The points of a curve that fit under the cap; the first two always do.

    `grow_s` of a point is what it took to have so many: it grows with the number, the rest of a point does not.
    """
    make, numbers = CURVES[name]
    measure = make(bench)
    begun = time.perf_counter()
    before, grow, rest = 0, 0.0, 0.0
    for index, number in enumerate(numbers):
        spent = time.perf_counter() - begun
        if index > 1 and spent + rest + grow * number / before > cap:
            yield {"stopped_before": number}
            return
        started = time.perf_counter()
        found = measure(number)
        before, grow = number, found["grow_s"]
        rest = time.perf_counter() - started - grow
        yield {"number": number, **found}


def draw_points(options: argparse.Namespace) -> int:
    """One curve of one system, a JSON object a point."""
    out = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    bench = Bench(options.module, 0)
    bench.ray.init(**INIT)
    for point in points(options.curve, bench, options.cap):
        out.write(json.dumps(point) + "\n")
        out.flush()
    bench.ray.shutdown()
    return 0


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--ours-python", default=sys.executable)
    parser.add_argument("--ray-python")
    parser.add_argument(
        "--quick", action="store_true", help=f"a cap of {CAPS['quick']:g} s instead of {CAPS['long']:g}"
    )
    parser.add_argument("--cap", type=float, help="seconds that a curve of a system may take")
    parser.add_argument("--name", default="curves", help="the result file's name")
    parser.add_argument("--module", help=argparse.SUPPRESS)
    parser.add_argument("--curve", choices=[*CURVES], action="append")
    options = parser.parse_args()
    options.cap = options.cap or CAPS["quick" if options.quick else "long"]
    if options.module:
        options.curve = options.curve[0]
        return draw_points(options)
    end_cleanly()
    systems = {OURS: options.ours_python, THEIRS: options.ray_python}
    systems = {name: python for name, python in systems.items() if python}
    result: dict[str, Any] = {
        "name": options.name,
        "date": time.strftime("%Y-%m-%d", time.gmtime()),
        "cap_seconds": options.cap,
        "machine": machine.describe(),
        "systems": {name: machine.versions(python, name) for name, python in systems.items()},
        "curves": {},
        "failures": [],
    }
    for curve in options.curve or CURVES:
        for system, python in systems.items():
            command = [python, "curves.py", "--module", system, "--curve", curve, "--cap", str(options.cap)]
            output, broken = run_clean(command, 3 * options.cap + 120)
            found = [json.loads(line) for line in output.splitlines()]
            result["curves"].setdefault(curve, {})[system] = found
            if broken:
                result["failures"].append({"curve": curve, "system": system, "error": broken})
            told = ", ".join(f"{point['number']:,}: {point['task_us']:.1f}" for point in found if "number" in point)
            print(f"{curve} {system}, us a task: {told}", flush=True)
    path = HERE / "results" / f"{options.name}.json"
    path.write_text(json.dumps(result, indent=1) + "\n")
    for one in result["failures"]:
        print(f"FAILED: {one['curve']} {one['system']}: {one['error']}", file=sys.stderr)
    print(f"written to tests/bench/results/{path.name}")
    return 1 if result["failures"] else 0


if __name__ == "__main__":
    sys.exit(main())
