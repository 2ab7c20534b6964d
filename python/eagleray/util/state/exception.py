"""What asking for the cluster's state raises."""

from __future__ import annotations


class RayStateApiException(Exception):
    """The state cannot be told, or not all of it."""


class ServerUnavailable(RayStateApiException):
    """Nobody answers."""
