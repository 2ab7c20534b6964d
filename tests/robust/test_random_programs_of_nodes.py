"""Programs made at random on three nodes, one of which is killed in the middle of each program."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

PROGRAMS = 3


@pytest.mark.timeout(300)
def test_nothing_is_freed_early_and_nothing_is_kept(place: Path) -> None:
    command = [sys.executable, "-m", "chaos.sweep", "--nodes", "--seed", "1", "--programs", str(PROGRAMS)]
    done = subprocess.run(
        [*command, "--shrink", "0"], cwd=Path(__file__).parent, env=os.environ, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert "nothing kept" in done.stdout and f"({PROGRAMS} nodes lost" in done.stdout, done.stdout
