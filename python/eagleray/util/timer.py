"""A timer that keeps the durations of its last blocks."""

from __future__ import annotations

import collections
import time
from types import TracebackType


class _Timer:
    """Measures ``with`` blocks, and how many units each of them has processed.

    Args:
        window_size: How many of the last blocks the averages are of.
    """

    def __init__(self, window_size: int = 10) -> None:
        self._samples: collections.deque[float] = collections.deque(maxlen=window_size)
        self._units_processed: collections.deque[float] = collections.deque(maxlen=window_size)
        self._start_time: float | None = None
        self._total_time = 0.0
        self.count = 0

    def __enter__(self) -> None:
        assert self._start_time is None, "concurrent updates not supported"
        self._start_time = time.time()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        assert self._start_time is not None
        self.push(time.time() - self._start_time)
        self._start_time = None

    def push(self, time_delta: float) -> None:
        """Adds a duration in seconds."""
        self._samples.append(time_delta)
        self.count += 1
        self._total_time += time_delta

    def push_units_processed(self, n: float) -> None:
        """Adds how many units a block has processed."""
        self._units_processed.append(n)

    def has_units_processed(self) -> bool:
        """Whether units were added."""
        return bool(self._units_processed)

    @property
    def mean(self) -> float:
        """The average duration of the last blocks, 0 without any."""
        return sum(self._samples) / len(self._samples) if self._samples else 0.0

    @property
    def mean_units_processed(self) -> float:
        """The average number of units of the last blocks, 0 without any."""
        return sum(self._units_processed) / len(self._units_processed) if self._units_processed else 0.0

    @property
    def mean_throughput(self) -> float:
        """Units for each second of the last blocks, 0 without any."""
        total = sum(self._samples)
        return sum(self._units_processed) / total if total else 0.0
