"""Programs made at random: nothing is freed early, and nothing is kept."""

from __future__ import annotations

from typing import Any

import pytest
from arena import settles
from programs import Holder, Run

PROGRAMS = 200
STEPS = 25


@pytest.mark.timeout(300)
@pytest.mark.parametrize("first", [0, pytest.param(1000, marks=pytest.mark.slow)])
def test_nothing_is_freed_early_and_nothing_is_kept(ray: Any, first: int) -> None:
    holders = [Holder.options(num_cpus=0).remote() for _ in range(3)]
    ray.get([holder.clear.remote() for holder in holders], timeout=30)
    for seed in range(first, first + (PROGRAMS if first == 0 else 10 * PROGRAMS)):
        try:
            Run(seed, holders).run(STEPS)
            settles(
                objects=0, used=0, pinned=0, owned=len(holders), borrowed=0
            )  # the actors' own counts are objects, too
        except BaseException as error:
            error.add_note(f"in the program of seed {seed}") if hasattr(error, "add_note") else print(f"seed {seed}")
            raise
    for holder in holders:
        found = ray.get(holder.stats.remote(), timeout=30)
        assert found["owned"] == 0 and found["borrowed"] <= len(holders), found
