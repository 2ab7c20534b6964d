"""Messages to and from the core: maps as msgpack."""

from __future__ import annotations

from typing import Any

import msgpack


def pack(value: Any) -> bytes:
    """A message for the core. Variables and paths in it need not be valid UTF-8."""
    packed: Any = msgpack.packb(value, unicode_errors="surrogateescape")
    return bytes(packed)


def unpack(message: bytes) -> Any:
    """What the core said."""
    return msgpack.unpackb(message, strict_map_key=False)
