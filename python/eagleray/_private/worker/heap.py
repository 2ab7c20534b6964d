"""Keeps some of the memory that tasks have freed, for the next task.

glibc gives large blocks back to the system at once. The next task of the same kind then needs every page made and
cleared again, which takes a quarter of a second for a gigabyte, and seconds where a hypervisor has taken the memory
away meanwhile. A worker therefore keeps some blocks, and gives them back when no task has come for a while.
"""

from __future__ import annotations

import ctypes
import os

from eagleray._private import native

#: Bytes of free memory that malloc keeps, and the size below which blocks come from its heap.
KEPT = 128 << 20
#: Milliseconds without work after which it is given back.
IDLE_MS = 1000
_TRIM_THRESHOLD, _MMAP_THRESHOLD = -1, -3
_SETTINGS = ("MALLOC_TRIM_THRESHOLD_", "MALLOC_MMAP_THRESHOLD_", "MALLOC_TOP_PAD_", "MALLOC_MMAP_MAX_")


def keep() -> int:
    """Has malloc keep freed memory, unless the user has set it up in another way.

    Returns:
        For how many milliseconds to wait for work before ``release``, -1 for ever.
    """
    if any(name in os.environ for name in _SETTINGS) or "glibc.malloc" in os.environ.get("GLIBC_TUNABLES", ""):
        return -1
    try:
        libc = ctypes.CDLL(None)
        kept = min(KEPT, os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") // (16 * (os.cpu_count() or 1)))
        done = libc.mallopt(_MMAP_THRESHOLD, kept) and libc.mallopt(_TRIM_THRESHOLD, kept) and libc.malloc_trim
    except (AttributeError, OSError, ValueError):  # another C library, or another malloc
        return -1
    return IDLE_MS if done else -1


def trim() -> None:
    """Gives the system back what malloc has free."""
    try:
        ctypes.CDLL(None).malloc_trim(0)
    except AttributeError:  # another C library
        pass


def release(idle_ms: int) -> int:
    """Gives memory back to the system that is free, or holds code, after ``idle_ms`` milliseconds without work.

    Returns:
        How long to wait from now on.
    """
    if idle_ms >= 0:
        trim()
        native.release_code()
    return -1
