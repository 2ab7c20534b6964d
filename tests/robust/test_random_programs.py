"""Programs made at random: nothing is freed early, and nothing is kept."""

from __future__ import annotations

from typing import Any

import pytest
from chaos.boxes import Holder
from chaos.program import Run, program
from eagleray._private.state import process

PROGRAMS = 150
STEPS = 25


@pytest.mark.timeout(300)
def test_nothing_is_freed_early_and_nothing_is_kept(ray: Any) -> None:
    holders = [Holder.remote() for _ in range(3)]
    daemon = process.require().daemon_pid
    for seed in range(PROGRAMS):
        steps = program(seed, STEPS)
        try:
            Run(holders, daemon).run(steps)
        except BaseException as error:
            error.args = (f"in the program of seed {seed}: {error}",)
            raise
    for holder in holders:
        found = ray.get(holder.stats.remote(), timeout=30)
        assert found["owned"] == 0 and found["borrowed"] <= len(holders), found
