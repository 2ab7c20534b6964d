"""Makes the scheduler Dask's default, and keeps persisted collections as references."""

from __future__ import annotations

import functools
import importlib
import warnings
from collections.abc import Mapping
from typing import Any

from eagleray.util.dask.scheduler import ray_dask_get, ray_dask_get_sync

dask: Any = importlib.import_module("dask")
importlib.import_module("dask.base")
#: What Dask calls ``persist``, before this module takes its place.
dask_persist = dask.base.persist


@functools.wraps(dask_persist)
def ray_dask_persist(*args: Any, **kwargs: Any) -> Any:
    """Computes collections and keeps the results where they are: the collections then have references to them.

    With another scheduler than that of this package it is ``dask.persist``.
    """
    chosen = dask.base.get_scheduler(scheduler=kwargs.get("scheduler"))
    if chosen in (ray_dask_get, ray_dask_get_sync):
        kwargs["ray_persist"] = True
    return dask_persist(*args, **kwargs)


dask.base.persist = dask.persist = ray_dask_persist


def enable_dask_on_ray(shuffle: str | None = "tasks", use_shuffle_optimization: bool | None = True) -> Any:
    """Makes Eagle Ray the scheduler of all of Dask.

    Args:
        shuffle: How dataframes are shuffled: ``"tasks"``, ``"disk"`` or ``"p2p"``; None leaves that as it is.
        use_shuffle_optimization: Accepted for Ray's programs: Dask optimizes its dataframes itself.

    Returns:
        What ``dask.config.set`` returns: in a ``with`` block the settings end with the block.

    Raises:
        ValueError: there is no such way to shuffle.
    """
    if shuffle not in ("tasks", "disk", "p2p", None):
        raise ValueError(f"shuffle must be 'tasks', 'disk', 'p2p' or None, got {shuffle!r}")
    if shuffle == "p2p":
        warnings.warn("shuffle='p2p' needs Dask's own cluster; use 'tasks'", UserWarning, stacklevel=2)
    changes: dict[str, Any] = {"scheduler": ray_dask_get}
    if shuffle is not None:
        changes["dataframe.shuffle.method"] = shuffle
    return dask.config.set(changes)


def disable_dask_on_ray() -> Any:
    """Gives Dask its own schedulers back.

    Returns:
        What ``dask.config.set`` returns.
    """
    return dask.config.set({"scheduler": None, "dataframe.shuffle.method": None})


def dataframe_optimize(dsk: Mapping[Any, Any], keys: Any, **kwargs: Any) -> Mapping[Any, Any]:
    """Returns a graph of a dataframe without what the keys do not need.

    Dask optimizes its dataframes itself by now, so nothing else is left to do.

    Args:
        dsk: The graph.
        keys: Keys, or a list of them.
        **kwargs: Dask's settings of optimizations, which do not concern this one.
    """
    from dask._task_spec import convert_legacy_graph, cull
    from dask.core import flatten

    wanted = list(flatten(keys)) if isinstance(keys, list) else [keys]
    culled: Mapping[Any, Any] = cull(convert_legacy_graph(dsk), wanted)
    return culled
