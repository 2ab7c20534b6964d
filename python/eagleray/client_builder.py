"""The part of ``ray.client_builder`` that programs name: the class of what connecting through Ray Client returns."""

from __future__ import annotations

import sys
from typing import Any

from eagleray._private import missing
from eagleray.util.client.common import ClientStub

__all__ = ["ClientContext"]


class ClientContext(ClientStub):
    """What connecting through Ray Client returns. ``init`` never returns one."""


def __getattr__(name: str) -> Any:
    raise missing.attribute(__name__, name, sys._getframe(1))
