"""What the functions of a local iterator share while it runs."""

from __future__ import annotations

import collections
from collections.abc import Mapping, Sequence
from typing import Any

from eagleray.util.timer import _Timer


class MetricsContext:
    """Counters, timers and notes of one chain of iterators; ``LocalIterator.get_metrics()`` gives it.

    Attributes:
        counters: Numbers by name.
        timers: Timers by name.
        info: Other values by name.
        current_actor: The actor that made the item which is processed, set by ``gather_async``.
    """

    def __init__(self) -> None:
        self.counters: collections.defaultdict[str, int] = collections.defaultdict(int)
        self.timers: collections.defaultdict[str, _Timer] = collections.defaultdict(_Timer)
        self.info: dict[str, Any] = {}
        self.current_actor: Any = None

    def save(self) -> dict[str, Any]:
        """Returns the counters and notes; timers are not kept."""
        return {"counters": dict(self.counters), "info": dict(self.info), "timers": None}

    def restore(self, values: Mapping[str, Any]) -> None:
        """Sets what ``save`` has returned."""
        self.counters.clear()
        self.counters.update(values["counters"])
        self.timers.clear()
        self.info = values["info"]


class SharedMetrics:
    """Refers to a context, so that chains which are united can share one.

    Args:
        metrics: The context; a new one when None.
        parents: The references of the chains that are united: they refer to the same context from now on.
    """

    def __init__(self, metrics: MetricsContext | None = None, parents: Sequence[SharedMetrics] = ()) -> None:
        self.parents: list[SharedMetrics] = list(parents)
        self.set(metrics or MetricsContext())

    def set(self, metrics: MetricsContext) -> None:
        """Refers to another context, here and in the parents."""
        self.metrics = metrics
        for parent in self.parents:
            parent.set(metrics)

    def get(self) -> MetricsContext:
        """Returns the context."""
        return self.metrics
