"""Helpers on top of the runtime. Loaded piece by piece, like the package itself."""

from __future__ import annotations

import importlib
import sys
from types import ModuleType

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from eagleray.util import accelerators as accelerators
    from eagleray.util import actor_group as actor_group
    from eagleray.util import actor_pool as actor_pool
    from eagleray.util import check_serialize as check_serialize
    from eagleray.util import client as client
    from eagleray.util import collective as collective
    from eagleray.util import dask as dask
    from eagleray.util import debug as debug
    from eagleray.util import helpers as helpers
    from eagleray.util import iter as iter
    from eagleray.util import iter_metrics as iter_metrics
    from eagleray.util import joblib as joblib
    from eagleray.util import metrics as metrics
    from eagleray.util import multiprocessing as multiprocessing
    from eagleray.util import queue as queue
    from eagleray.util import scheduling_strategies as scheduling_strategies
    from eagleray.util import serialization as serialization
    from eagleray.util import state as state
    from eagleray.util import timer as timer
    from eagleray.util.actor_pool import ActorPool as ActorPool
    from eagleray.util.completion import as_completed as as_completed
    from eagleray.util.completion import map_unordered as map_unordered
    from eagleray.util.debug import disable_log_once_globally as disable_log_once_globally
    from eagleray.util.debug import enable_periodic_logging as enable_periodic_logging
    from eagleray.util.debug import log_once as log_once
    from eagleray.util.inspection import deregister_serializer as deregister_serializer
    from eagleray.util.inspection import get_node_instance_id as get_node_instance_id
    from eagleray.util.inspection import get_node_ip_address as get_node_ip_address
    from eagleray.util.inspection import inspect_serializability as inspect_serializability
    from eagleray.util.inspection import list_named_actors as list_named_actors
    from eagleray.util.inspection import register_serializer as register_serializer
    from eagleray.util.placement_group import PlacementGroup as PlacementGroup
    from eagleray.util.placement_group import get_current_placement_group as get_current_placement_group
    from eagleray.util.placement_group import get_placement_group as get_placement_group
    from eagleray.util.placement_group import placement_group as placement_group
    from eagleray.util.placement_group import placement_group_table as placement_group_table
    from eagleray.util.placement_group import remove_placement_group as remove_placement_group

_NAMES = {
    "ActorPool": "actor_pool",
    "PlacementGroup": "placement_group",
    "as_completed": "completion",
    "deregister_serializer": "inspection",
    "disable_log_once_globally": "debug",
    "enable_periodic_logging": "debug",
    "get_current_placement_group": "placement_group",
    "get_node_instance_id": "inspection",
    "get_node_ip_address": "inspection",
    "get_placement_group": "placement_group",
    "inspect_serializability": "inspection",
    "list_named_actors": "inspection",
    "log_once": "debug",
    "map_unordered": "completion",
    "placement_group": "placement_group",
    "placement_group_table": "placement_group",
    "register_serializer": "inspection",
    "remove_placement_group": "placement_group",
}
_MODULES = frozenset(
    {
        "accelerators",
        "actor_group",
        "actor_pool",
        "annotations",
        "check_serialize",
        "client",
        "collective",
        "dask",
        "debug",
        "helpers",
        "iter",
        "iter_metrics",
        "joblib",
        "metrics",
        "multiprocessing",
        "queue",
        "scheduling_strategies",
        "serialization",
        "state",
        "timer",
    }
)

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


class _Util(ModuleType):
    """This module. Its attribute ``placement_group`` is the function, although a module has that name, too."""

    def __setattr__(self, name: str, value: object) -> None:
        if name == "placement_group" and isinstance(value, ModuleType):  # the import system names what it has loaded
            value = value.placement_group
        super().__setattr__(name, value)

    def __reduce__(self) -> Any:
        return importlib.import_module, (self.__name__,)


globals().pop("annotations")  # of __future__: here it is the name of a module
sys.modules[__name__].__class__ = _Util
