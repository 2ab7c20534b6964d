"""A driver that is ended while it has generators, spilled objects and detached actors leaves nothing behind."""

from __future__ import annotations

import os
import random
import signal
from collections.abc import Callable
from pathlib import Path

import pytest
from pace import PATIENCE_S
from processes import until
from program import Program

pytestmark = pytest.mark.timeout(300)

BUSY = """
    import numpy as np
    ray.init(address="local", num_cpus=2, object_store_memory=80_000_000, log_to_driver=False,
             object_spilling_directory=os.environ["SPILL"])

    @ray.remote(max_retries=-1)
    def items(limit):
        i = 0
        while True:
            yield np.random.default_rng(i).integers(0, 2**62, 250_000)
            i += 1

    @ray.remote(num_cpus=0, max_restarts=-1, max_task_retries=-1)
    class Keeper:
        def keep(self, box):
            self.box = box
            return ray.get(box[0])[0]

        def items(self):
            for i in range(1000):
                yield np.full(30_000, i)

    keepers = [Keeper.options(name=f"k{i}", lifetime="detached" if i % 2 else None).remote() for i in range(4)]
    limited = items.options(_generator_backpressure_num_objects=2).remote(True)
    free = items.remote(False)
    others = [keeper.items.remote() for keeper in keepers]
    kept, n = [], 0
    while True:
        kept += [next(limited), next(free), *(next(gen) for gen in others[:1])]
        del kept[:-60]
        keepers[n % 4].keep.remote([kept[-2]])
        if n % 7 == 3:
            others = [keeper.items.remote() for keeper in keepers]
        if n == 20:
            say("ready")
        n += 1
"""


SLOW = pytest.mark.slow


@pytest.mark.parametrize(
    "how", ["SIGKILL", *(pytest.param(how, marks=SLOW) for how in ("SIGSEGV", "SIGTERM", "stopped and killed"))]
)
def test_at_any_moment(program: Callable[..., Program], tmp_path: Path, how: str) -> None:
    spill = tmp_path / "spill"
    spill.mkdir()
    driver = program(BUSY, SPILL=str(spill))
    assert driver.line() == "ready"
    until(lambda: list(spill.rglob("objects-*")), 30, "objects go to disk")
    until(lambda: random.random() < 0.02, 5)  # some moment within the next second
    if how == "stopped and killed":
        driver.signal(signal.SIGSTOP)
        until(lambda: random.random() < 0.02, 5)
        driver.signal(signal.SIGKILL)
    else:
        driver.signal(signal.Signals[how])
    assert driver.end() != 0
    assert driver.remains() == []
    until(lambda: not os.listdir(spill), PATIENCE_S, f"the folder of spilled objects is empty: {os.listdir(spill)}")
