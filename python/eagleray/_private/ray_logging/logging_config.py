"""Another name of the module with ``LoggingConfig``."""

from __future__ import annotations

from eagleray._private.job_logging import LoggingConfig as LoggingConfig

__all__ = ["LoggingConfig"]
