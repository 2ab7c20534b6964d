"""Programs made at random: nothing is freed early, and nothing is kept."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import eagleray
import pytest
from chaos.boxes import Holder
from chaos.program import Run, program
from chaos.travels import STORE
from eagleray._private.state import process

PROGRAMS = 50
STEPS = 25


@pytest.fixture(scope="module")
def session(place: Path) -> Iterator[Any]:
    """A session with a store that programs can fill."""
    with eagleray.init(address="local", num_cpus=2, object_store_memory=STORE, log_to_driver=False) as context:
        yield context


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
