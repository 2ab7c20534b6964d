"""Finds functions that leak device memory in a worker that is used again and again.

In a worker that is kept (``max_calls=0`` or ``"on_leak"``), the device memory of the process is measured after each
call of a function with an accelerator. The memory that a function's first call in the worker leaves is its baseline:
modules, contexts and caches. The growth is what later calls add, less what they give back. A function leaks when its
growth is more than ``THRESHOLD`` after a call that added to it, and after a garbage collection.
"""

from __future__ import annotations

import gc
import importlib
import os
import sys
from collections.abc import Callable
from typing import Any, Final

from eagleray._private.messages import pack, unpack
from eagleray._private.sizes import show_bytes

#: How ``max_calls="on_leak"`` travels.
WATCHED: Final = -1
#: Growth that is no leak: libraries load things late.
THRESHOLD = 2**20
#: The daemon's answer where nothing will ever be known.
_NO_DRIVER = -2
#: A function of the user's, as module:name, that returns the bytes of device memory that its process holds.
PROBE_VARIABLE = "EAGLERAY_DEVICE_MEMORY_PROBE"


class Leaks:
    """What one worker's functions have added to its device memory."""

    def __init__(self, measure: Callable[[], int | None]) -> None:
        self._measure = measure
        self._level: int | None = None  # after the latest call
        self._growth: dict[bytes, int] = {}
        self._calls: dict[bytes, int] = {}
        self._told: dict[bytes, int] = {}

    def after(self, fid: bytes, name: str, *, recycled: bool) -> bool:
        """Measures after a call, and warns.

        Args:
            fid: The function.
            name: Its name, for the warning.
            recycled: Whether the worker ends if it leaks.

        Returns:
            Whether the function leaks.
        """
        level = self._measure()
        if level is None:
            return False
        before, self._level = self._level, level
        calls = self._calls[fid] = self._calls.get(fid, 0) + 1
        if calls == 1 or before is None:
            self._growth[fid] = 0
            return False
        growth = self._growth[fid] + level - before
        if level > before and growth > THRESHOLD:
            gc.collect()
            collected = self._measure()
            if collected is not None:
                growth += collected - level
                self._level = level = collected
        self._growth[fid] = growth = max(growth, 0)
        if level <= before or growth <= THRESHOLD:
            return False
        if recycled or growth >= 2 * self._told.get(fid, 0):
            self._told[fid] = growth
            self._warn(name, growth, calls, recycled)
        return True

    def _warn(self, name: str, growth: int, calls: int, recycled: bool) -> None:
        advice = (
            "The worker ends and a fresh one takes its place (max_calls='on_leak')."
            if recycled
            else "With max_calls='on_leak' such a worker is replaced; with max_calls=1 after each call."
        )
        print(
            f"Eagle Ray warning: {name} leaks device memory: after {calls} calls its worker (pid {os.getpid()}) holds "
            f"{show_bytes(growth)} ({growth} bytes) more than after the first. {advice}",
            file=sys.stderr,
            flush=True,
        )


def measure_with(hot: Any) -> Callable[[], int | None]:
    """What measures the device memory of this process: the user's probe, the driver, or the libraries that allocate.

    Args:
        hot: The C extension, by which the daemon is asked what the driver says.
    """
    path = os.environ.get(PROBE_VARIABLE)
    if path:
        module, _, name = path.partition(":")
        probe: Callable[[], int] = getattr(importlib.import_module(module), name)
        return lambda: int(probe())

    used = 0

    def measure() -> int | None:
        nonlocal used
        counts = list(filter(None, (count() for count in _LIBRARIES)))
        if used != _NO_DRIVER:
            used = unpack(hot.rpc("gpu_used", pack({}), -1))
        if used >= 0:
            # What a library keeps to use it again is no leak.
            return used - sum(kept - held for held, kept in counts)
        return sum(held for held, _ in counts) if counts else None

    return measure


def _torch() -> tuple[int, int] | None:
    cuda = getattr(sys.modules.get("torch"), "cuda", None)
    if cuda is None or not cuda.is_initialized():
        return None
    devices = range(cuda.device_count())
    return sum(map(cuda.memory_allocated, devices)), sum(map(cuda.memory_reserved, devices))


def _cupy() -> tuple[int, int] | None:
    cupy = sys.modules.get("cupy")
    if cupy is None:
        return None
    pool = cupy.get_default_memory_pool()
    return pool.used_bytes(), pool.total_bytes()


def _kernels() -> tuple[int, int] | None:
    native = sys.modules.get("eagleray.kernels._native")  # without it there are no arrays
    if native is None:
        return None
    held: int = native.load().device_bytes()
    return held, held


#: Each says what a library that is loaded holds of the devices, and what it has taken from the driver for it.
_LIBRARIES: list[Callable[[], tuple[int, int] | None]] = [_torch, _cupy, _kernels]
