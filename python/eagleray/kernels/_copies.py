"""Copies of an array: as it is, with another data type, on another device."""

from __future__ import annotations

from typing import Any

from eagleray.kernels import _native
from eagleray.kernels._memory import M
from eagleray.kernels.dtypes import parse
from eagleray.kernels.errors import ClosedError


def copy(array: M) -> M:
    """A copy on the same device, in C order."""
    made: M = _native.load().operate(_native.CAST, array, None, array.dtype.number, None)
    return made


def cast(array: M, dtype: Any) -> M:
    """A copy with another data type; floating point to integers truncates, as numpy's."""
    made: M = _native.load().operate(_native.CAST, array, None, parse(dtype).number, None)
    return made


def to_device(array: M, index: int) -> M:
    """The array itself if it is on the device with this number, -1 for the host, else a copy there."""
    if array._cuda == index:
        if array.closed:
            raise ClosedError("the array was freed: nothing can be done with it")
        return array
    made: M = _native.load().operate(_native.TO, array, None, index, None)
    return made
