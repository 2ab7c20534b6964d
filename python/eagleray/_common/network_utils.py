"""Addresses and ports: the part of ``ray._common.network_utils`` that programs use."""

from __future__ import annotations

import socket


def build_address(host: str, port: int | str) -> str:
    """Returns HOST:PORT, with brackets around a host that is an address of IPv6."""
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"


def parse_address(address: str) -> tuple[str, str] | None:
    """Returns host and port of HOST:PORT; None if there is no port, or something else.

    A host in brackets is an address of IPv6, and is returned without them.
    """
    if address.startswith("["):
        host, closed, port = address[1:].partition("]:")
        return (host, port) if closed else None
    host, colon, port = address.partition(":")
    return (host, port) if colon and ":" not in port else None


def is_ipv6(host: str) -> bool:
    """Whether a text is an address of IPv6."""
    try:
        socket.inet_pton(socket.AF_INET6, host)
    except OSError:
        return False
    return True


def is_localhost(host: str) -> bool:
    """Whether a host is this machine by one of its usual names."""
    return host in ("localhost", "127.0.0.1", "::1")


def get_localhost_ip() -> str:
    """Returns the address of this machine that only this machine reaches."""
    return "127.0.0.1"


def find_free_port(family: socket.AddressFamily = socket.AF_INET) -> int:
    """Returns a port at which nothing listens now. Another program may take it before the caller does."""
    with socket.socket(family, socket.SOCK_STREAM) as found:
        found.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        found.bind(("", 0))
        port: int = found.getsockname()[1]
    return port
