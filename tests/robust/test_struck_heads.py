"""Heads are killed and cut off: the short form of what ``make robust PARTS=heads`` does."""

from __future__ import annotations

import pytest
from chaos import heads
from net.lab import unavailable

_WHY = unavailable()
pytestmark = [pytest.mark.timeout(300), pytest.mark.skipif(bool(_WHY), reason=_WHY)]


def test_the_leading_head_is_killed_under_load(capsys: pytest.CaptureFixture[str]) -> None:
    """Every answer is explained by one order of all calls, nothing that needs no head waits, and nothing is left."""
    words = ["--seed=1", "--only", "kill_leader", "kill_follower", "--blows=3", "--seconds=60", "--quiet=1"]
    status = heads.main([*words, "--rate=200", "--flight=100", "--actors=5", "--pause=0.5"])
    assert status == 0, capsys.readouterr().out
