"""Views: where the elements of a part, or of another shape, lie in an array's memory."""

from __future__ import annotations

import math
import operator
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from eagleray.kernels import _copies, _native
from eagleray.kernels._memory import M
from eagleray.kernels.errors import ShapeError

if TYPE_CHECKING:
    from eagleray.kernels._memory import Memory


def view(
    array: M, offset: int, shape: Sequence[int], strides: Sequence[int], *, readonly: bool = False, dtype: int = 0
) -> M:
    """The same memory seen otherwise; the caller sees to it that no element lies outside."""
    made: M = _native.load().view(array, offset, tuple(shape), tuple(strides), readonly, dtype)
    return made


def contiguous(array: Memory) -> bool:
    """Whether the elements lie in C order without gaps."""
    step = array.itemsize
    for length, stride in zip(reversed(array.shape), reversed(array.strides), strict=True):
        if length != 1 and stride != step:
            return array.size == 0
        step *= length
    return True


def index(array: M, key: Any) -> M:
    """numpy's basic indexing."""
    keys = key if isinstance(key, tuple) else (key,)
    taken = sum(item is not None and item is not ... for item in keys)
    if taken > array.ndim:
        raise IndexError(f"{taken} indices for an array of {array.ndim} dimensions")
    if sum(item is ... for item in keys) > 1:
        raise IndexError("an index can have one ellipsis ('...')")
    at = next((at for at, item in enumerate(keys) if item is ...), len(keys))
    keys = (*keys[:at], *(slice(None),) * (array.ndim - taken), *keys[at + 1 :])
    shape: list[int] = []
    strides: list[int] = []
    offset = axis = 0
    for item in keys:
        if item is None:
            shape.append(1)
            strides.append(0)
        elif isinstance(item, slice):
            start, stop, step = item.indices(array.shape[axis])
            length = len(range(start, stop, step))
            shape.append(length)
            strides.append(array.strides[axis] * step if length > 1 else 0)
            offset += start * array.strides[axis] if length else 0
            axis += 1
        else:
            offset += _position(item, array.shape[axis], axis) * array.strides[axis]
            axis += 1
    return view(array, offset if 0 not in shape else 0, shape, strides)


def _position(item: Any, length: int, axis: int) -> int:
    try:
        if isinstance(item, bool):
            raise TypeError
        position = operator.index(item)
    except TypeError:
        raise IndexError(
            f"index {item!r}: integers, slices, ... and None give views; for other selections use .numpy()"
        ) from None
    if not -length <= position < length:
        raise IndexError(f"index {position} is out of bounds for axis {axis} with {length} elements")
    return position % length


def transpose(array: M, axes: Sequence[int]) -> M:
    """The axes in another order, reversed when none is given."""
    order = [normalize_axis(axis, array.ndim) for axis in axes] or list(reversed(range(array.ndim)))
    if sorted(order) != list(range(array.ndim)):
        raise ShapeError(f"axes {tuple(axes)} must name each of the {array.ndim} axes of the array once")
    return view(array, 0, [array.shape[axis] for axis in order], [array.strides[axis] for axis in order])


def normalize_axis(axis: Any, ndim: int) -> int:
    """The axis, counted from the front."""
    number = operator.index(axis)
    if not -ndim <= number < ndim:
        raise ShapeError(f"axis {number} of an array of {ndim} dimensions")
    return number % ndim


def check_shape(shape: Any) -> tuple[int, ...]:
    """A shape as a tuple; a number is one axis."""
    if hasattr(shape, "__index__"):
        return (operator.index(shape),)
    return tuple(operator.index(length) for length in shape)


def broadcast_to(array: M, shape: Any) -> M:
    """A read-only view that repeats axes of length 1."""
    wanted = check_shape(shape)
    more = len(wanted) - array.ndim
    have = (1,) * more + array.shape
    if more < 0 or any(mine not in (1, length) or length < 0 for mine, length in zip(have, wanted, strict=True)):
        raise ShapeError(f"shape {array.shape} does not broadcast to {wanted}")
    steps = (0,) * more + array.strides
    strides = [step if mine == length else 0 for mine, length, step in zip(have, wanted, steps, strict=True)]
    return view(array, 0, wanted, strides, readonly=True)


def reshape(array: M, shape: Any) -> M:
    """Another shape: a view where that can be, else a view of a copy."""
    wanted = list(check_shape(shape))
    if wanted.count(-1) == 1:
        known = math.prod(length for length in wanted if length != -1)
        if known and array.size % known == 0:
            wanted[wanted.index(-1)] = array.size // known
    if min(wanted, default=0) < 0 or math.prod(wanted) != array.size:
        raise ShapeError(f"an array of shape {array.shape} cannot be reshaped to {tuple(check_shape(shape))}")
    strides = _strides_for(array, wanted)
    if strides is None:
        array = _copies.copy(array)
        strides = c_strides(wanted, array.itemsize)
    return view(array, 0, wanted, strides)


def c_strides(shape: Sequence[int], itemsize: int) -> list[int]:
    """The strides of C order."""
    strides: list[int] = []
    step = itemsize
    for length in reversed(shape):
        strides.append(step)
        step *= length
    return strides[::-1]


def _strides_for(array: Memory, shape: Sequence[int]) -> list[int] | None:
    """The strides that show the array's elements, in C order, under another shape; None where no strides do."""
    if array.size == 0 or contiguous(array):
        return c_strides(shape, array.itemsize)
    old = [(length, step) for length, step in zip(array.shape, array.strides, strict=True) if length != 1]
    strides = [array.itemsize] * len(shape)
    at = 0
    new = 0
    while new < len(shape) and at < len(old):
        # The shortest groups of old and new axes that hold the same number of elements.
        first, last = new, at
        have, want = old[at][0], shape[new]
        while have != want:
            if have < want:
                last += 1
                have *= old[last][0]
            else:
                new += 1
                want *= shape[new]
        for outer, inner in zip(old[at:last], old[at + 1 : last + 1], strict=True):
            if outer[1] != inner[0] * inner[1]:
                return None
        step = old[last][1]
        for axis in range(new, first - 1, -1):
            strides[axis] = step
            step *= shape[axis]
        at = last + 1
        new += 1
    return strides
