"""Where tasks and actors run, beyond "DEFAULT" and "SPREAD"."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class NodeAffinitySchedulingStrategy:
    """Runs a task on one node.

    A task waits for room on its node. If the node is dead, was never there or can never give what the task needs, the
    task fails with ``TaskUnschedulableError``, or with ``soft`` runs on another node.

    Args:
        node_id: The node's id in hex, as ``NodeID`` in ``nodes()``.
        soft: Whether other nodes do when that node cannot.
    """

    node_id: str
    soft: bool
    _spill_on_unavailable: bool = False
    _fail_on_unavailable: bool = False


def __getattr__(name: str) -> Any:
    from eagleray._private import missing

    raise missing.attribute("eagleray.util.scheduling_strategies", name, sys._getframe(1))
