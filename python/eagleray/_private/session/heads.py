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


def all_of(address: str) -> list[tuple[str, int]] | None:
    """Returns hosts and ports of HOST:PORT[,HOST:PORT…]; None if the text is no such list."""
    found = [split(one.strip()) for one in address.split(",") if one.strip()]
    known = [one for one in found if one is not None]
    return known if known and len(known) == len(found) else None


def node_of(address: str, folders: Iterable[str]) -> str | None:
    """Returns the first of these sessions whose cluster has a head at one of the addresses.

    Args:
        address: HOST:PORT, or several with commas between them, however the hosts are spelled.
        folders: The sessions.
    """
    wanted = all_of(address) or []
    places: dict[tuple[str, int], set[object]] = {}
    for folder in folders:
        for head in heads_of(folder):
            found = split(head)
            for one in wanted:
                if found is None or found[1] != one[1]:
                    continue
                if found == one:
                    return folder
                if one not in places:
                    places[one] = _places(*one)
                if not places[one].isdisjoint(_places(*found)):
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
