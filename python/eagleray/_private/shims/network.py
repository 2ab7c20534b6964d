"""Addresses, as the libraries write and read them."""

from __future__ import annotations

import ipaddress

from eagleray.util.inspection import get_node_ip_address

__all__ = [
    "build_address",
    "get_all_interfaces_ip",
    "get_localhost_ip",
    "is_ipv6",
    "is_localhost",
    "node_ip_address_from_perspective",
    "parse_address",
]

_NAMES_OF_THIS_MACHINE = ("localhost", "127.0.0.1", "::1")


def is_ipv6(host: str) -> bool:
    """Whether a host is an IPv6 address."""
    try:
        return ipaddress.ip_address(host).version == 6
    except ValueError:
        return False


def build_address(host: str, port: int | str) -> str:
    """Returns HOST:PORT, with brackets around an IPv6 address."""
    return f"[{host}]:{port}" if is_ipv6(host) else f"{host}:{port}"


def parse_address(address: str) -> tuple[str, str] | None:
    """Returns host and port of an address; None if it has no port."""
    host, separator, port = address.rpartition(":")
    if not separator or is_ipv6(address):
        return None
    return host.removeprefix("[").removesuffix("]"), port


def is_localhost(host: str) -> bool:
    """Whether a host is a name of this machine that others cannot use."""
    return host in _NAMES_OF_THIS_MACHINE


def get_localhost_ip() -> str:
    """Returns the address with which a process reaches others of its machine."""
    return "127.0.0.1"


def get_all_interfaces_ip() -> str:
    """Returns the address on which a server is reached from everywhere."""
    return "0.0.0.0"


def node_ip_address_from_perspective(address: str | None = None) -> str:
    """Returns the address of this machine, whoever asks."""
    del address
    return get_node_ip_address()
