"""What Ray Data asks about memory in ``ray._private.internal_api``."""

from __future__ import annotations

import types
from typing import Any

from eagleray._private.outside.memory import memory_summary
from eagleray._private.outside.state import state

__all__ = ["get_memory_info_reply", "get_state_from_address", "memory_summary"]


def get_state_from_address(address: str | None = None) -> Any:
    """Returns the tables of the cluster that this process is in."""
    del address
    return state


def get_memory_info_reply(
    state: Any, node_manager_address: str | None = None, node_manager_port: int | None = None
) -> Any:
    """Returns how much the object stores have spilled and restored, where that is known."""
    return types.SimpleNamespace(store_stats=types.SimpleNamespace(spilled_bytes_total=0, restored_bytes_total=0))
