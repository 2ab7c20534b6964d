"""Very many tasks that wait for their turn: Ray's test of what one node can queue, the same for both.

One task holds all CPUs until every other one is queued; then all run. A million take Ray more than ten minutes and some
8 GB, so the quick form queues fewer, for both, and says so.
"""

from __future__ import annotations

import os
import tempfile
import time
from pathlib import Path

from book import INIT, Bench, Taken, figure

QUEUED = (20_000, 1_000_000)  # in the quick form, in the long one
STEP = 10_000


@figure("1,000,000 tasks queued, then run", "1/s", times=10)
def queued_tasks(bench: Bench) -> float:
    ray = bench.ray
    total = QUEUED[bench.long]
    gate = Path(tempfile.mkdtemp(prefix="gate-")) / "open"

    @ray.remote(num_cpus=INIT["num_cpus"])
    def hold(path: str) -> bool:
        while not os.path.exists(path):
            time.sleep(0.001)
        return True

    @ray.remote
    def one() -> int:
        return 1

    assert ray.get([one.remote() for _ in range(100)]) == [1] * 100
    held = hold.remote(str(gate))
    started = time.perf_counter()
    refs = [one.remote() for _ in range(total)]
    assert not ray.wait([held, refs[-1]], timeout=0)[0], "the gate was open before all were queued"
    gate.touch()
    done = sum(sum(ray.get(refs[at : at + STEP])) for at in range(0, total, STEP))
    took = time.perf_counter() - started
    assert done == total and ray.get(held)
    gate.unlink(), gate.parent.rmdir()
    return Taken(total / took, note=f"{total:,} tasks")


@figure("1,000,000 tasks queued, then run, whatever the form", "1/s", alone=True)
def queued_million(bench: Bench) -> float:
    return queued_tasks(Bench(bench.module, bench.seconds, long=True))
