"""The runtime's own messages in a driver: the logger ``eagleray``."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import logging

_IGNORE = "RAY_IGNORE_UNHANDLED_ERRORS"
_NAME = "eagleray"
_FORMAT = "%(asctime)s\t%(levelname)s -- %(message)s"
_wanted: tuple[int | str, str | None] | None = None
_ours: logging.Handler | None = None


def configure(level: int | str, fmt: str | None) -> None:
    """Gives the logger a level and, unless the program has set up logging for it, a handler on stderr.

    A program that does not use logging loads it with the first message.
    """
    global _wanted
    _wanted = level, fmt
    if "logging" in sys.modules:
        _logger()


def _logger() -> logging.Logger:
    global _ours, _wanted
    import logging

    logger = logging.getLogger(_NAME)
    if _wanted is not None:
        level, fmt = _wanted
        _wanted = None
        logger.setLevel(level.upper() if isinstance(level, str) else level)
        if _ours is None and not logger.handlers:
            _ours = logging.StreamHandler()
            logger.addHandler(_ours)
            logger.propagate = False
        if _ours is not None:
            _ours.setFormatter(logging.Formatter(fmt or _FORMAT))
    return logger


def ignores_errors() -> bool:
    """Returns whether the program has switched off errors that nobody has fetched."""
    return _IGNORE in os.environ


def error(text: str) -> None:
    """One error of the program's that nobody has fetched, unless the program has switched them off meanwhile."""
    if not ignores_errors():
        _logger().error("%s", text)


def warning(text: str) -> None:
    """One warning of the runtime."""
    _logger().warning("%s", text)
