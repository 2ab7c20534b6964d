"""What ``ray._common.network_utils`` imports from ``ray._raylet`` beside what eagleray's module of that name has."""

from __future__ import annotations

from eagleray._common.network_utils import build_address as build_address
from eagleray._common.network_utils import get_localhost_ip as get_localhost_ip
from eagleray._common.network_utils import is_ipv6 as is_ipv6
from eagleray._common.network_utils import is_localhost as is_localhost
from eagleray._common.network_utils import parse_address as parse_address
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


def get_all_interfaces_ip() -> str:
    """Returns the address on which a server is reached from everywhere."""
    return "0.0.0.0"


def node_ip_address_from_perspective(address: str | None = None) -> str:
    """Returns the address of this machine, whoever asks."""
    del address
    return get_node_ip_address()
