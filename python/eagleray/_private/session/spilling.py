"""The configuration of spilling, which moves objects to disk when the store has no room."""

from __future__ import annotations

import json
import os
from typing import Any

#: The keys of ``_system_config`` that the daemon reads.
SETTINGS = (
    "automatic_object_spilling_enabled",
    "local_fs_capacity_threshold",
    "max_io_workers",
    "min_spilling_size",
    "object_spilling_cache",
    "object_spilling_config",
    "object_spilling_directory",
    "object_spilling_threshold",
    "oom_grace_period_s",
)


def config(directory: Any, system: Any) -> dict[str, Any]:
    """Returns the daemon's configuration for ``object_spilling_directory`` and ``_system_config``.

    Raises:
        TypeError: one of them has the wrong type.
    """
    found: dict[str, Any] = {}
    if directory is not None:
        if not isinstance(directory, (str, os.PathLike)):
            raise TypeError(f"object_spilling_directory must be a path, got {type(directory).__name__}: {directory!r}")
        if os.fspath(directory):
            found["object_spilling_directory"] = os.path.abspath(os.fspath(directory))
    if system is not None:
        if not isinstance(system, dict):
            raise TypeError(f"_system_config must be a dictionary, got {type(system).__name__}")
        try:
            text = json.dumps(system)
        except (TypeError, ValueError) as error:
            raise TypeError(f"_system_config must be of plain values: {error}") from None
        if system:
            found["system_config"] = json.loads(text)
    return found
