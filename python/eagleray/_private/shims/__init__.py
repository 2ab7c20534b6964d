"""What Ray's libraries expect of Ray beside its API: names in modules of eagleray that eagleray itself has no use for.

``finder`` imports this package when a process loads the first module of the libraries. docs/libraries.md says why each
part exists.
"""

from __future__ import annotations

import importlib
from typing import Any

from eagleray._private.outside.worker import CoreWorker, global_worker
from eagleray._private.session import progress_bars
from eagleray._private.shims import core, filling, gcs, memory, names, network, submodules
from eagleray.runtime_context import RuntimeContext

#: Module → name → what it is.
_ADDED = {
    "_raylet": {
        **{name: getattr(network, name) for name in network.__all__},
        **names.IN_RAYLET,
        "GcsClient": gcs.GcsClient,
        "GcsClientOptions": gcs.GcsClientOptions,
    },
    "_private.internal_api": {
        **{name: getattr(memory, name) for name in memory.__all__},
        "get_local_ongoing_lineage_reconstruction_tasks": core.get_local_ongoing_lineage_reconstruction_tasks,
    },
    "experimental.tqdm_ray": {f"RAY_{name}": progress_bars.MAGIC for name in ("TQDM_MAGIC",)},
    "util": {"PublicAPI": names.PublicAPI},
    "util.annotations": {"_mark_annotated": names.mark_annotated},
    "util.placement_group": {"_valid_resource_shape": names.valid_resource_shape},
    "util.scheduling_strategies": {"SchedulingStrategyT": names.SchedulingStrategyT},
}
#: Class → attribute → what it is.
_ON_CLASSES: dict[type, dict[str, Any]] = {
    CoreWorker: {
        "get_disable_job_level_lineage_reconstruction": core.get_disable_job_level_lineage_reconstruction,
        "get_local_memory_store_bytes_used": core.get_local_memory_store_bytes_used,
    },
    RuntimeContext: {"worker": property(lambda context: global_worker)},
}


def _apply() -> None:
    for where, added in _ADDED.items():
        module = importlib.import_module(f"eagleray.{where}")
        for name, value in added.items():
            if not hasattr(module, name):
                setattr(module, name, value)
    for cls, attributes in _ON_CLASSES.items():
        for name, value in attributes.items():
            if not hasattr(cls, name):
                setattr(cls, name, value)
    submodules.offer()
    filling.fill()


_apply()
