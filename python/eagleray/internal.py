"""``ray.internal``, where libraries look for ``free``."""

from eagleray._private.internal_api import free as free

__all__ = ["free"]
