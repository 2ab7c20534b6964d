"""``ray._private.auto_init_hook``: whether a call without a session starts the default session."""

from __future__ import annotations

import os

from eagleray._private.state import process

#: A program may set this. It begins as False where RAY_ENABLE_AUTO_CONNECT is "0".
enable_auto_connect = os.environ.get("RAY_ENABLE_AUTO_CONNECT", "") != "0"


def auto_init_ray() -> None:
    """Starts the default session, if there is none and ``enable_auto_connect`` holds."""
    if enable_auto_connect:
        process.require()
