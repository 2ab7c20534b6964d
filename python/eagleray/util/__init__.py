"""Helpers on top of the runtime. Loaded piece by piece, like the package itself."""

from __future__ import annotations

import importlib
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from eagleray.util import accelerators as accelerators
    from eagleray.util import actor_pool as actor_pool
    from eagleray.util import queue as queue
    from eagleray.util import scheduling_strategies as scheduling_strategies
    from eagleray.util import state as state
    from eagleray.util.actor_pool import ActorPool as ActorPool
    from eagleray.util.completion import as_completed as as_completed
    from eagleray.util.completion import map_unordered as map_unordered
    from eagleray.util.inspection import deregister_serializer as deregister_serializer
    from eagleray.util.inspection import get_node_ip_address as get_node_ip_address
    from eagleray.util.inspection import inspect_serializability as inspect_serializability
    from eagleray.util.inspection import list_named_actors as list_named_actors
    from eagleray.util.inspection import register_serializer as register_serializer

_NAMES = {
    "ActorPool": "actor_pool",
    "as_completed": "completion",
    "deregister_serializer": "inspection",
    "get_node_ip_address": "inspection",
    "inspect_serializability": "inspection",
    "list_named_actors": "inspection",
    "map_unordered": "completion",
    "register_serializer": "inspection",
}
_MODULES = frozenset({"accelerators", "actor_pool", "queue", "scheduling_strategies", "state"})

__all__ = [*_NAMES, *_MODULES]  # noqa: PLE0604


def __getattr__(name: str) -> Any:
    where = _NAMES.get(name)
    if where is not None:
        value = getattr(importlib.import_module(f"eagleray.util.{where}"), name)
    elif name in _MODULES:
        value = importlib.import_module(f"eagleray.util.{name}")
    else:
        from eagleray._private import missing

        raise missing.attribute("eagleray.util", name, sys._getframe(1))
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
