"""The part of ``ray.util.client`` that libraries use: asking whether Ray Client is in use, which it never is here."""

from __future__ import annotations

import sys
from typing import Any

from eagleray._private import missing

__all__ = ["num_connected_contexts", "ray"]


class _NoClient:
    """What stands for the API through Ray Client: there is no connection."""

    def is_connected(self) -> bool:
        """Whether this program works through Ray Client: no."""
        return False

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        raise missing.attribute("eagleray.util.client.ray", name, sys._getframe(1))


ray: _NoClient = _NoClient()


def num_connected_contexts() -> int:
    """How many connections through Ray Client there are: none."""
    return 0


def __getattr__(name: str) -> Any:
    raise missing.attribute(__name__, name, sys._getframe(1))
