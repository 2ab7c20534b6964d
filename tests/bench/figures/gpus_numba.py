"""The same where the driver has imported numba before its session: the zygote then has it, and workers need not."""

from __future__ import annotations

import time

from book import Bench, figure

CALLS = 5


@figure("GPU task in its fresh worker that uses numba", "ms", limit=25, alone=True)
def fresh_gpu_worker_numba(bench: Bench) -> float:
    ray = bench.ray

    @ray.remote(num_gpus=1)
    def version() -> str:
        import numba

        return str(numba.__version__)

    ray.get(version.remote())
    started = time.perf_counter()
    for _ in range(CALLS):
        ray.get(version.remote())
    return (time.perf_counter() - started) * 1000 / CALLS
