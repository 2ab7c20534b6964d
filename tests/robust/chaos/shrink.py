"""Makes a failing program as short as it goes, by leaving steps out."""

from __future__ import annotations

import time
from collections.abc import Callable

from chaos.program import Step


def shrink(steps: list[Step], fails: Callable[[list[Step]], bool], seconds: float) -> list[Step]:
    """A part of the steps that still fails, and from which nothing can be left out, if the time suffices."""
    end = time.monotonic() + seconds
    size = max(1, len(steps) // 2)
    while time.monotonic() < end:
        start = 0
        shorter = False
        while start < len(steps) and time.monotonic() < end:
            rest = steps[:start] + steps[start + size :]
            if rest and fails(rest):
                steps, shorter = rest, True
            else:
                start += size
        if size == 1 and not shorter:
            break
        size = max(1, size // 2)
    return steps
