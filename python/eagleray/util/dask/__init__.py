"""Runs graphs of Dask as tasks: ``compute(scheduler=ray_dask_get)``, or ``enable_dask_on_ray()`` for all of them.

Dask is not installed with Eagle Ray.
"""

from __future__ import annotations

try:
    import dask as _dask  # noqa: F401
except ImportError as _problem:
    raise ImportError(
        "eagleray.util.dask runs graphs of Dask, and Dask is not installed: pip install 'dask[array,dataframe]'",
        name="dask",
    ) from _problem

from eagleray.util.dask.callbacks import (
    ProgressBarCallback,
    RayDaskCallback,
    local_ray_callbacks,
    unpack_ray_callbacks,
)
from eagleray.util.dask.scheduler import ray_dask_get, ray_dask_get_sync
from eagleray.util.dask.settings import (
    dask_persist,
    dataframe_optimize,
    disable_dask_on_ray,
    enable_dask_on_ray,
    ray_dask_persist,
)

__all__ = [
    "ProgressBarCallback",
    "RayDaskCallback",
    "dask_persist",
    "dataframe_optimize",
    "disable_dask_on_ray",
    "enable_dask_on_ray",
    "local_ray_callbacks",
    "ray_dask_get",
    "ray_dask_get_sync",
    "ray_dask_persist",
    "unpack_ray_callbacks",
]
