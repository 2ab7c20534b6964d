"""The class of Ray Client's connections. None can be made."""

from __future__ import annotations

from eagleray.util.client.common import ClientStub

__all__ = ["Worker"]


class Worker(ClientStub):
    """A connection through Ray Client."""
