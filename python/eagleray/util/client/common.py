"""The classes of Ray Client that programs name in ``isinstance``. Nothing is an instance of them."""

from __future__ import annotations

from typing import Any, NoReturn

__all__ = [
    "ClientActorClass",
    "ClientActorHandle",
    "ClientActorRef",
    "ClientObjectRef",
    "ClientRemoteFunc",
    "ClientStub",
]


class ClientStub:
    """What Ray Client has in place of functions and actors."""

    def __init__(self, *args: Any, **kwargs: Any) -> NoReturn:
        raise NotImplementedError(
            f"{type(self).__name__}: there is no Ray Client here. Connect with ray.init(address=…) from a program on a "
            "machine of the cluster"
        )


class ClientObjectRef(ClientStub):
    """A reference that Ray Client has made."""


class ClientActorRef(ClientStub):
    """A reference to an actor that Ray Client has made."""


class ClientActorHandle(ClientStub):
    """A handle that Ray Client has made."""


class ClientActorClass(ClientStub):
    """An actor class that Ray Client calls."""


class ClientRemoteFunc(ClientStub):
    """A function that Ray Client calls."""
