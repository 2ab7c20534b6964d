"""Ray's second place for ``register_serializer`` and ``deregister_serializer``."""

from eagleray.util.inspection import deregister_serializer, register_serializer

__all__ = ["deregister_serializer", "register_serializer"]
