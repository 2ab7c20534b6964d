"""``ray._private.object_ref_generator``: what ``num_returns="dynamic"`` returns."""

from __future__ import annotations

from eagleray._private.generators import DynamicObjectRefGenerator as DynamicObjectRefGenerator
