"""The runtime's own messages in a driver: the logger ``eagleray``."""

from __future__ import annotations

import logging

LOGGER = logging.getLogger("eagleray")
_FORMAT = "%(asctime)s\t%(levelname)s -- %(message)s"
_ours: logging.Handler | None = None


def configure(level: int | str, fmt: str | None) -> None:
    """Gives the logger a level and, unless the program has set up logging for it, a handler on stderr."""
    global _ours
    LOGGER.setLevel(level.upper() if isinstance(level, str) else level)
    if _ours is None and not LOGGER.handlers:
        _ours = logging.StreamHandler()
        LOGGER.addHandler(_ours)
        LOGGER.propagate = False
    if _ours is not None:
        _ours.setFormatter(logging.Formatter(fmt or _FORMAT))


def warning(text: str) -> None:
    """One warning of the runtime."""
    LOGGER.warning("%s", text)
