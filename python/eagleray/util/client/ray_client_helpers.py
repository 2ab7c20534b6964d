"""Helpers of Ray's own tests of Ray Client. Connections are refused, and a test without one runs as it is."""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext
from typing import Any, NoReturn

__all__ = [
    "connect_to_client_or_not",
    "ray_start_client_server",
    "ray_start_client_server_for_address",
    "ray_start_client_server_pair",
]


def connect_to_client_or_not(connect_to_client: bool) -> AbstractContextManager[None]:
    """Returns a ``with`` block without Ray Client.

    Args:
        connect_to_client: Whether the block is to go through Ray Client.

    Raises:
        NotImplementedError: it is.
    """
    if connect_to_client:
        _refuse()
    return nullcontext()


def ray_start_client_server(*args: Any, **kwargs: Any) -> NoReturn:
    """Raises ``NotImplementedError``: there is no server of Ray Client."""
    _refuse()


def ray_start_client_server_for_address(*args: Any, **kwargs: Any) -> NoReturn:
    """Raises ``NotImplementedError``: there is no server of Ray Client."""
    _refuse()


def ray_start_client_server_pair(*args: Any, **kwargs: Any) -> NoReturn:
    """Raises ``NotImplementedError``: there is no server of Ray Client."""
    _refuse()


def _refuse() -> NoReturn:
    raise NotImplementedError(
        "there is no Ray Client here: connect with ray.init(address=…) from a program on a machine of the cluster"
    )
