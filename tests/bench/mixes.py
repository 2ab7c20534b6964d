"""Long calls among short ones: how long a mix takes, beside what its calls take by themselves on all CPUs.

    mixes.py                                              Eagle Ray, two CPUs
    mixes.py --cpus 4 --rounds 5                          more of both
    mixes.py --module ray                                 the same program under Ray, from an interpreter that has it
    mixes.py --only "8 long, random"                      the mixes whose names contain that

A mix is some calls of half a second among 2,000 short ones, in four orders, as calls of one function, which are long or
short by their argument, or of two. Calls sleep, so that what others do on the machine matters less. The session is
there and its workers have run both functions before the clock starts.
"""

from __future__ import annotations

import argparse
import importlib
import random
import time
from collections.abc import Iterator
from statistics import median
from typing import Any

LONG = 0.5
ORDERS = ("random", "evenly spread", "long first", "long last")


def arguments(longs: int, shorts: int, short: float, order: str, seed: int) -> list[float]:
    """How long each call of a mix takes, in the order in which they are submitted."""
    few, many = [LONG] * longs, [short] * shorts
    if order == "long first":
        return few + many
    if order == "long last":
        return many + few
    if order == "evenly spread":
        apart = shorts // longs
        return [seconds for _ in few for seconds in (LONG, *many[:apart])] + many[apart * longs :]
    mixed = few + many
    random.Random(seed).shuffle(mixed)
    return mixed


def mixes(options: argparse.Namespace) -> Iterator[tuple[str, int, float, str, bool]]:
    """The name, the long calls, the seconds of a short one, the order, and whether there are two functions."""
    for longs in (8, 4):
        for short in (0.0, 0.001):
            for order in ORDERS:
                for two in (False, True):
                    functions = "two functions" if two else "one function"
                    name = f"{longs} long, {order}, short {short * 1000:g} ms, {functions}"
                    if options.only in name:
                        yield name, longs, short, order, two


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--module", default="eagleray", choices=("eagleray", "ray"))
    parser.add_argument("--cpus", type=int, default=2)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--shorts", type=int, default=2000)
    parser.add_argument("--only", default="", metavar="TEXT")
    options = parser.parse_args()
    ray = importlib.import_module(options.module)
    ray.init(num_cpus=options.cpus, include_dashboard=False, log_to_driver=False)

    def take(seconds: float) -> None:
        if seconds:
            time.sleep(seconds)

    first: Any = ray.remote(lambda seconds: take(seconds))
    second: Any = ray.remote(lambda seconds: take(seconds))
    for function in (first, second):
        ray.get([function.remote(0.001) for _ in range(200)])
    print(f"{'mix':58}{'ideal':>8}{'median':>8}{'worst':>8}  seconds")
    for name, longs, short, order, two in mixes(options):
        took = []
        for seed in range(options.rounds):
            calls = arguments(longs, options.shorts, short, order, seed)
            began = time.perf_counter()
            ray.get([(second if two and seconds == LONG else first).remote(seconds) for seconds in calls])
            took.append(time.perf_counter() - began)
        ideal = (longs * LONG + options.shorts * short) / options.cpus
        print(f"{name:58}{ideal:8.2f}{median(took):8.2f}{max(took):8.2f}", flush=True)
    ray.shutdown()


if __name__ == "__main__":
    main()
