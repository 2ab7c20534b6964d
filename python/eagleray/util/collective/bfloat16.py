"""Arrays of ``bfloat16``, of which numpy has no type: items of two bytes, the upper half of a ``float32``."""

from __future__ import annotations

from typing import Any

from eagleray._private import numpy_extra

#: How numpy holds such items.
TYPE = "V2"


def name(dtype: Any) -> str:
    """The name of a type for messages."""
    return "bfloat16" if dtype == TYPE else str(dtype)


def widened(array: Any) -> Any:
    """A new array of ``float32`` with the same numbers."""
    return (array.view("u2").astype("u4") << 16).view("f4")


def rounded(array: Any) -> Any:
    """An array of ``bfloat16`` with the nearest numbers, even ones where two are as near."""
    np = numpy_extra.need("a collective operation")
    bits = np.ascontiguousarray(array, "f4").view("u4")
    halves = ((bits + (0x7FFF + ((bits >> 16) & 1))) >> 16).astype("u2")
    halves = np.where(np.isnan(array), np.uint16(0x7FC0), halves)
    return halves.reshape(array.shape).view(TYPE)
