"""Where tasks and actors run, beyond "DEFAULT" and "SPREAD"."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class NodeAffinitySchedulingStrategy:
    """Runs a task or an actor on one node.

    The work waits for room on its node. If the node is dead, was never there or can never give what the work needs, a
    task fails with ``TaskUnschedulableError`` and an actor with ``ActorUnschedulableError``, or with ``soft`` the work
    runs on another node.

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
