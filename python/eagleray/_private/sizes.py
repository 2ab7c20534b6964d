"""Sizes of memory as users write them: ``8589934592``, ``"8GiB"``, ``"500 MB"``."""

from __future__ import annotations

import operator
import re
from typing import Any

#: The most that one device, and a machine's devices together, may have; core/internal/resource/device.go.
MOST_BYTES = 10**14
_UNITS = {"b": 1, "kb": 10**3, "mb": 10**6, "gb": 10**9, "tb": 10**12}
_UNITS |= {"kib": 2**10, "mib": 2**20, "gib": 2**30, "tib": 2**40}
_SIZE = re.compile(r"\s*([0-9]+(?:\.[0-9]*)?)\s*([A-Za-z]+)\s*")


def parse_bytes(name: str, value: Any) -> int:
    """The bytes that a user asked for.

    Args:
        name: What the value is of, for messages.
        value: A whole number of bytes, or a number and a unit such as ``"8GiB"``.

    Raises:
        TypeError: it is neither.
        ValueError: it is not above 0, too large or no size.
    """
    if isinstance(value, str):
        found = _of_text(name, value)
    elif isinstance(value, (bool, float)) or not hasattr(value, "__index__"):
        hint = "; a part of a device is num_gpus=0.5" if isinstance(value, float) else ""
        raise TypeError(
            f"{name} takes whole bytes or a text such as '8GiB', got {type(value).__name__}: {value!r}{hint}"
        )
    else:
        found = operator.index(value)
    if found <= 0:
        raise ValueError(f"{name} must be above 0, got {value!r}")
    if found > MOST_BYTES:
        raise ValueError(f"{name}={value!r} is too large: at most 100 TB")
    return found


def _of_text(name: str, text: str) -> int:
    match = _SIZE.fullmatch(text)
    scale = _UNITS.get(match[2].lower()) if match else None
    if match is None or scale is None or len(match[1]) > 40:
        raise ValueError(
            f"{name}={text!r} is not a size: write a number and a unit (B, kB, MB, GB, TB, KiB, MiB, GiB, TiB), "
            "as in '8GiB'"
        )
    from fractions import Fraction  # loads decimal, which each worker would pay for

    return int(Fraction(match[1]) * scale)  # without parts of a byte


def show_bytes(count: int) -> str:
    """A size for messages: ``8 GiB``."""
    for unit, scale in (("TiB", 2**40), ("GiB", 2**30), ("MiB", 2**20), ("KiB", 2**10)):
        if count >= scale:
            return f"{count / scale:.1f}".removesuffix(".0") + f" {unit}"
    return f"{count} B"
