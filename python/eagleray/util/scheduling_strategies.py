"""Where tasks and actors run, beyond "DEFAULT" and "SPREAD"."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class NodeAffinitySchedulingStrategy:
    """Runs a task or an actor on one machine.

    Args:
        node_id: The machine's id in hex.
        soft: Whether another machine may be used when that machine is gone.
    """

    node_id: str
    soft: bool
    _spill_on_unavailable: bool = False
    _fail_on_unavailable: bool = False


def __getattr__(name: str) -> Any:
    from eagleray._private import missing

    raise missing.attribute("eagleray.util.scheduling_strategies", name, sys._getframe(1))
