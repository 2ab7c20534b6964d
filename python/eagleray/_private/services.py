"""The part of ``ray._private.services`` that programs use: libraries such as modin import it when they start."""

from __future__ import annotations

from eagleray.util.inspection import get_node_ip_address

__all__ = ["get_node_ip_address"]
