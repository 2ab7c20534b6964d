"""Finding this machine's node of a cluster by the address of the cluster's head."""

from __future__ import annotations

import os
import socket
from collections.abc import Iterable

_LARGEST = 64 << 10


def split(address: str) -> tuple[str, int] | None:
    """Returns host and port of HOST:PORT; None if the text is none."""
    host, colon, port = address.rpartition(":")
    host = host.removeprefix("[").removesuffix("]")
    if not colon or not host or "/" in host or not port.isascii() or not port.isdigit() or not 0 < int(port) < 1 << 16:
        return None
    return host, int(port)


def node_of(address: str, folders: Iterable[str]) -> str | None:
    """Returns the first of these sessions whose cluster has a head at HOST:PORT, however the host is spelled."""
    wanted = split(address)
    if wanted is None:
        return None
    places: set[object] = set()
    for folder in folders:
        for head in heads_of(folder):
            found = split(head)
            if found is None or found[1] != wanted[1]:
                continue
            if found == wanted:
                return folder
            places = places or _places(*wanted)
            if not places.isdisjoint(_places(*found)):
                return folder
    return None


def heads_of(folder: str) -> list[str]:
    """Returns the addresses of the heads that a session belongs to; none for one that ``init()`` has started."""
    try:
        with open(os.path.join(folder, "heads"), encoding="utf-8", errors="replace") as file:
            return file.read(_LARGEST).split()
    except OSError:
        return []


def _places(host: str, port: int) -> set[object]:
    try:
        return {place[4][0] for place in socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)}
    except OSError:
        return {host}
