"""What the libraries ask the process's core beside what ``outside.worker`` answers."""

from __future__ import annotations

import os
from typing import Any

from eagleray._private.outside.worker import CoreWorker
from eagleray._private.state import process


def get_local_ongoing_lineage_reconstruction_tasks() -> list[Any]:
    """Returns no tasks: which of them compute a lost value again is not known here. Ray Data only counts them."""
    process.require()
    return []


def get_disable_job_level_lineage_reconstruction(self: CoreWorker) -> bool:
    """Whether lost values of this job are not computed again by the core."""
    names = ("EAGLERAY_lineage_pinning_enabled", "RAY_lineage_pinning_enabled")
    return next((os.environ[name] for name in names if name in os.environ), "1").lower() in ("0", "false")


def get_local_memory_store_bytes_used(self: CoreWorker) -> int:
    """Returns 0: what this process has of small values is not counted. Ray Data names the figure in a warning."""
    return 0
