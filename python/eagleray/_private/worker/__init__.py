"""A worker's life: the zygote that forks it, the loop that takes calls, the actor that it may host.

Imports everything but ``tools``. Names that libraries look for in ``ray._private.worker`` come from ``outside``.
"""

from __future__ import annotations

import importlib

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

#: What libraries look for here.
_OUTSIDE = frozenset(
    {
        *("BaseContext", "CoreWorker", "Node", "RayContext", "RemoteFunctionNoArgs", "SerializationContext", "Worker"),
        *("SCRIPT_MODE", "WORKER_MODE", "SPILL_WORKER_MODE", "RESTORE_WORKER_MODE"),
        *(
            "_global_node",
            "_post_init_hooks",
            "blocking_get_inside_async_warned",
            "cancel",
            "get",
            "get_actor",
            "get_dashboard_url",
        ),
        *("get_gpu_ids", "get_resource_ids", "global_worker", "init", "is_initialized", "kill", "logger", "nodes"),
        *("_wait_async", "pickle"),
        *("print_to_stdstream", "print_worker_logs", "put", "remote", "shutdown", "wait"),
    }
)


def __getattr__(name: str) -> Any:
    if name not in _OUTSIDE:  # the import system asks for names of submodules, too
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module("eagleray._private.outside.worker"), name)
