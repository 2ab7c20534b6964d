"""Ray's second place for ``inspect_serializability``."""

from eagleray.util.inspection import FailureTuple, inspect_serializability

__all__ = ["FailureTuple", "inspect_serializability"]
