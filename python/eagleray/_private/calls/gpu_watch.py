"""Whether the memory of GPUs can be watched on this node, for ``gpu_memory_enforce``."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from eagleray._private.hot_error import HotError, explain
from eagleray._private.messages import pack, unpack


def enforced(session: Any, options: Mapping[str, Any], what: str) -> bool:
    """Reports whether the worker is to be ended when it exceeds its ``gpu_memory``.

    Args:
        session: The session to ask.
        options: The options of the task or the actor.
        what: The name of the task or the actor, for messages.

    Raises:
        ValueError: the options ask for it, and nobody can watch the memory on this node.
    """
    if not options.get("gpu_memory_enforce"):
        return False
    try:
        why: str = unpack(session.hot.rpc("gpu_watch", pack({}), -1))
    except HotError as error:
        raise explain(error) from None
    if why:
        raise ValueError(f"{what}: gpu_memory_enforce=True is not possible on this node: {why}")
    return True
