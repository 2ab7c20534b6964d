"""Names for annotations."""

from __future__ import annotations

from eagleray._private.refs import ObjectRef as ObjectRef

__all__ = ["ObjectRef"]
