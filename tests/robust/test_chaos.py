"""Kills at random: the short forms of what ``make robust`` does at full size."""

from __future__ import annotations

import os
import time
from pathlib import Path
from typing import Any

import pytest
from chaos.recovery import RecoveryMonitor, report_start
from chaos.storm import Storm
from eagleray._private.state import process
from processes import until

#: Another run than last time's, unless it is to be repeated.
SEED = int(os.environ.get("SEED", "0")) or int.from_bytes(os.urandom(3), "big")


def test_another_process_has_the_pid_of_a_killed_one(tmp_path: Path) -> None:
    """What comes from a killed worker is not heard; what comes from the next process with its pid is."""
    monitor = RecoveryMonitor(tmp_path)
    try:
        report_start(3)
        until(lambda: monitor.working() == [] and monitor.actors() == {os.getpid(): 3}, 60)
        monitor.announce_kill(os.getpid(), time.monotonic())
        report_start(3)
        monitor.note_killed(os.getpid())
        assert not monitor.wait_recovered(0.2) and monitor.actors() == {}
        report_start(3)
        assert monitor.wait_recovered(60) and monitor.actors() == {os.getpid(): 3}
        assert len(monitor.take("actor")) == 1
    finally:
        monitor.close()


@pytest.mark.timeout(300)
def test_a_worker_is_killed_every_so_often(fresh: Any, tmp_path: Path) -> None:
    """Every result is right, and nothing is left behind."""
    monitor = RecoveryMonitor(tmp_path)  # workers inherit the path of its socket
    try:
        fresh.init(address="local", num_cpus=2, object_store_memory=200_000_000, log_to_driver=False)
        outcome = Storm(SEED, pieces=150, actors=4, interval=0.1, replaced=5).run(process.require(), monitor)
    finally:
        monitor.close()
    assert not outcome.wrong and not outcome.leaks, "\n".join([*outcome.lines(), f"again: SEED={SEED}"])
    assert outcome.kills > 3
