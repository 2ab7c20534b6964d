"""What a program is told while a graph runs: before and after a task is submitted, and before and after it runs."""

from __future__ import annotations

import contextlib
import sys
import time
from collections.abc import Callable, Iterable, Iterator
from typing import Any, ClassVar, NamedTuple

from dask.callbacks import Callback

from eagleray._private.refs import ObjectRef
from eagleray._private.session import api


class RayCallbacks(NamedTuple):
    """The methods of several callbacks, by their kind; those that nobody has written are left out."""

    ray_presubmit: list[Callable[..., Any]]
    ray_postsubmit: list[Callable[..., Any]]
    ray_pretask: list[Callable[..., Any]]
    ray_posttask: list[Callable[..., Any]]
    ray_postsubmit_all: list[Callable[..., Any]]
    ray_finish: list[Callable[..., Any]]


#: The methods of a callback for one graph, None for those that nobody has written; in the order of ``RayCallbacks``.
Methods = tuple[Any, ...]


class RayDaskCallback(Callback):  # type: ignore[misc]  # Dask has no types
    """A callback of Dask with more methods, which a subclass writes.

    In a ``with`` block it is told of all graphs that the block runs.

    Args:
        **kwargs: Functions in place of methods, by the methods' names without the ``_`` at the beginning.
    """

    #: Those of the ``with`` blocks that the program is in.
    ray_active: ClassVar[set[Methods]] = set()
    _fields: ClassVar[tuple[str, ...]] = RayCallbacks._fields

    def __init__(self, **kwargs: Any) -> None:
        for name in self._fields:
            given = kwargs.pop(name, None)
            if given is not None:
                setattr(self, f"_{name}", given)
        super().__init__(**kwargs)

    @property
    def _ray_callback(self) -> Methods:
        """Its methods that were written."""
        return tuple(
            method
            if getattr(method := getattr(self, f"_{name}"), "__func__", method)
            is not getattr(RayDaskCallback, f"_{name}")
            else None
            for name in self._fields
        )

    def __enter__(self) -> Any:
        self._ray_entered = self._ray_callback
        self.ray_active.add(self._ray_entered)
        return super().__enter__()

    def __exit__(self, *args: Any) -> None:
        self.ray_active.discard(self._ray_entered)
        super().__exit__(*args)

    def _ray_presubmit(self, task: Any, key: Any, deps: dict[Any, Any]) -> Any:
        """Runs before a task is submitted. What it returns, except None, is the value of the key, and no task runs."""

    def _ray_postsubmit(self, task: Any, key: Any, deps: dict[Any, Any], object_ref: Any) -> None:
        """Runs when a task was submitted; ``object_ref`` is its result."""

    def _ray_pretask(self, key: Any, object_refs: list[Any]) -> Any:
        """Runs in the worker before a task, with the values that it takes. ``_ray_posttask`` gets what it returns."""

    def _ray_posttask(self, key: Any, result: Any, pre_state: Any) -> None:
        """Runs in the worker after a task."""

    def _ray_postsubmit_all(self, object_refs: list[Any], dsk: Any) -> None:
        """Runs when all tasks were submitted; ``object_refs`` are those of the keys that were asked for."""

    def _ray_finish(self, result: Any) -> None:
        """Runs when the results are there."""


def methods_of(callback: Any) -> Methods:
    """The methods of a callback, or of a tuple of them."""
    return callback if isinstance(callback, tuple) else callback._ray_callback


def unpack_ray_callbacks(cbs: Iterable[Any] | None) -> RayCallbacks:
    """Returns the methods of callbacks by their kind."""
    rows = [methods_of(one) for one in cbs or ()]
    return RayCallbacks(*([row[at] for row in rows if row[at]] for at in range(len(RayCallbacks._fields))))


@contextlib.contextmanager
def local_ray_callbacks(callbacks: Iterable[Any] | None = None) -> Iterator[Any]:
    """Gives the callbacks of one graph: those given, else those of the ``with`` blocks that the program is in.

    Graphs that run inside of that graph's callbacks are not told to the latter.
    """
    if callbacks is not None:
        yield callbacks
        return
    active, RayDaskCallback.ray_active = RayDaskCallback.ray_active, set()
    try:
        yield active
    finally:
        RayDaskCallback.ray_active = active


class ProgressBarCallback(RayDaskCallback):
    """Shows in standard error how many of the graph's wanted results are there."""

    def _ray_postsubmit_all(self, object_refs: list[Any], dsk: Any) -> None:
        waiting = list(dict.fromkeys(one for one in object_refs if isinstance(one, ObjectRef)))
        total, began = len(waiting), time.monotonic()
        while waiting:
            _, waiting = api.wait(waiting, num_returns=1, timeout=None, fetch_local=False)
            done = total - len(waiting)
            bar = "#" * (40 * done // total)
            print(f"\r[{bar:<40}] {done}/{total} in {time.monotonic() - began:.1f} s", end="", file=sys.stderr)
        if total:
            print(file=sys.stderr, flush=True)
