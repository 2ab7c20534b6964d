"""``log_once`` and what changes it: whether a program logs something at the first occasion or again."""

from __future__ import annotations

import threading
import time

__all__ = ["disable_log_once_globally", "enable_periodic_logging", "log_once", "reset_log_once"]

#: With periodic logging: after this time without a first occasion every key is new again.
PERIOD_S = 60.0


class _Occasions:
    """The keys for which ``log_once`` has returned True in this process."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.keys: set[str] = set()
        self.disabled = False
        self.periodic = False
        self.latest = 0.0


_seen = _Occasions()


def log_once(key: str) -> bool:
    """Returns True when this process calls it with ``key`` for the first time.

    ``if log_once("slow disk"): logger.warning(…)`` warns once.

    Args:
        key: Names the occasion.
    """
    with _seen.lock:
        if _seen.disabled:
            return False
        now = time.monotonic()
        if _seen.periodic and now - _seen.latest > PERIOD_S:
            _seen.keys.clear()
        if key in _seen.keys:
            return False
        _seen.keys.add(key)
        _seen.latest = now
        return True


def disable_log_once_globally() -> None:
    """Makes ``log_once`` return False in this process from now on."""
    _seen.disabled = True


def enable_periodic_logging() -> None:
    """Makes every key new again after a minute in which ``log_once`` has not returned True."""
    _seen.periodic = True


def reset_log_once(key: str | None = None) -> None:
    """Makes a key new again.

    Args:
        key: The key; all keys when None.
    """
    with _seen.lock:
        if key is None:
            _seen.keys.clear()
        else:
            _seen.keys.discard(key)
