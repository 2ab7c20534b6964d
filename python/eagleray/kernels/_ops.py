"""The operations.

They take arrays of one device, and numpy's arrays as they lie in memory, read-only ones included. Arguments that are
all numpy's give numpy's result, on the host. ``out=`` names the array that the result is written to and that is
returned; it may be an argument, as ``mul_two(x, out=x)``: in place.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeVar, overload

from eagleray.kernels import _native as native
from eagleray.kernels.dtypes import parse
from eagleray.kernels.errors import DTypeError

if TYPE_CHECKING:
    import numpy

    from eagleray.kernels._array import Array

    NDArray = numpy.ndarray[Any, Any]
    Number = int | float
    A = TypeVar("A", Array, numpy.ndarray[Any, Any])


_INF = float("inf")


def _load(name: str) -> Any:
    """The C function, which takes its place here: importing this module loads nothing."""
    kern = native.load()
    globals().update(_step=kern.step, _operate=kern.operate)
    return getattr(kern, name)


def _step(*args: Any) -> Any:
    return _load("step")(*args)


def _operate(*args: Any) -> Any:
    return _load("operate")(*args)


def mul_two(x: A, *, out: Any = None) -> A:
    """``2 * x``.

    Args:
        x: An array of any shape and data type; integers wrap around.
        out: Where the result goes, of the same shape and data type; ``x`` itself for in place.

    Returns:
        ``out``, or a new array.

    Raises:
        ReadOnlyError: ``out`` is read-only.
        ShapeError, DTypeError, DeviceError: ``out`` does not fit.
        ClosedError: an array was freed.
        OutOfMemoryError: the device has no room for the result.
    """
    return _step(1, 2.0, 0.0, x, None, out)  # type: ignore[no-any-return]


def scale(x: A, factor: Number, *, out: Any = None) -> A:
    """``x * factor``, a number. Errors as ``mul_two``, and ScalarError for an integer that does not fit."""
    return _step(6, 0.0, 0.0, x, factor, out)  # type: ignore[no-any-return]


@overload
def add(x: A, y: A | Number, *, out: Any = None) -> A: ...
@overload
def add(x: A | Number, y: A, *, out: Any = None) -> A: ...
def add(x: Any, y: Any, *, out: Any = None) -> Any:
    """``x + y`` of two arrays that broadcast, or an array and a number.

    Raises:
        ShapeError: the shapes do not broadcast, or ``out`` has another.
        DTypeError: the data types differ, or a float meets integers: cast one.
        ScalarError: an integer does not fit the data type.
        DeviceError, ReadOnlyError, ClosedError, OutOfMemoryError: as ``mul_two``.
    """
    return _step(3, 0.0, 0.0, x, y, out)


@overload
def sub(x: A, y: A | Number, *, out: Any = None) -> A: ...
@overload
def sub(x: A | Number, y: A, *, out: Any = None) -> A: ...
def sub(x: Any, y: Any, *, out: Any = None) -> Any:
    """``x - y``; arguments and errors as ``add``."""
    return _step(4, 0.0, 0.0, x, y, out)


@overload
def mul(x: A, y: A | Number, *, out: Any = None) -> A: ...
@overload
def mul(x: A | Number, y: A, *, out: Any = None) -> A: ...
def mul(x: Any, y: Any, *, out: Any = None) -> Any:
    """``x * y``; arguments and errors as ``add``."""
    return _step(6, 0.0, 0.0, x, y, out)


@overload
def div(x: A, y: A | Number, *, out: Any = None) -> A: ...
@overload
def div(x: A | Number, y: A, *, out: Any = None) -> A: ...
def div(x: Any, y: Any, *, out: Any = None) -> Any:
    """``x / y`` of floating point; arguments and errors as ``add``. Division by zero gives inf or NaN."""
    return _step(7, 0.0, 0.0, x, y, out)


def axpy(a: Number, x: A, y: A | Number, *, out: Any = None) -> A:
    """``a * x + y`` with a number ``a``; rounded once where the data type is narrower than float32.

    ``axpy(a, x, y, out=y)`` adds to ``y`` in place. Errors as ``add``.
    """
    return _step(8, a, 0.0, x, y, out)  # type: ignore[no-any-return]


def clip(x: A, low: Number | None, high: Number | None, *, out: Any = None) -> A:
    """``min(max(x, low), high)``; None is no bound. NaN stays NaN. Errors as ``add``."""
    lower = -_INF if low is None else low
    upper = _INF if high is None else high
    return _step(9, lower, upper, x, None, out)  # type: ignore[no-any-return]


def exp(x: A, *, out: Any = None) -> A:
    """e to the power of ``x``, of floating point. Errors as ``mul_two``."""
    return _step(10, 0.0, 0.0, x, None, out)  # type: ignore[no-any-return]


def relu(x: A, *, out: Any = None) -> A:
    """``max(x, 0)``; NaN stays NaN. Errors as ``mul_two``."""
    return _step(11, 0.0, 0.0, x, None, out)  # type: ignore[no-any-return]


@overload
def sum(x: Array, axis: int | None = None, *, out: Any = None) -> Array: ...
@overload
def sum(x: NDArray, axis: int | None = None, *, out: Any = None) -> Any: ...
def sum(x: Any, axis: int | None = None, *, out: Any = None) -> Any:
    """The sum of all elements, or along an axis.

    Args:
        x: An array. Floating point accumulates in at least float64 or pairwise.
        axis: The axis that the result lacks; negative ones count from the last. None: all.
        out: Where the result goes, of its shape and data type.

    Returns:
        An array of ``x``'s data type; int64 for integers. Without dimensions, numpy's arrays give numpy's scalars.

    Raises:
        ShapeError: there is no such axis, or ``out`` has another shape.
        DTypeError, DeviceError, ReadOnlyError, ClosedError, OutOfMemoryError: as ``mul_two``.
    """
    return _operate(1, x, None, native.ALL_AXES if axis is None else axis, out)


@overload
def min(x: Array, axis: int | None = None, *, out: Any = None) -> Array: ...
@overload
def min(x: NDArray, axis: int | None = None, *, out: Any = None) -> Any: ...
def min(x: Any, axis: int | None = None, *, out: Any = None) -> Any:
    """The least element; NaN wins. As ``sum``, and ShapeError where there are no elements."""
    return _operate(2, x, None, native.ALL_AXES if axis is None else axis, out)


@overload
def max(x: Array, axis: int | None = None, *, out: Any = None) -> Array: ...
@overload
def max(x: NDArray, axis: int | None = None, *, out: Any = None) -> Any: ...
def max(x: Any, axis: int | None = None, *, out: Any = None) -> Any:
    """The greatest element; NaN wins. As ``sum``, and ShapeError where there are no elements."""
    return _operate(3, x, None, native.ALL_AXES if axis is None else axis, out)


@overload
def mean(x: Array, axis: int | None = None, *, out: Any = None) -> Array: ...
@overload
def mean(x: NDArray, axis: int | None = None, *, out: Any = None) -> Any: ...
def mean(x: Any, axis: int | None = None, *, out: Any = None) -> Any:
    """The arithmetic mean: float64 of integers, NaN of no elements. Else as ``sum``."""
    return _operate(4, x, None, native.ALL_AXES if axis is None else axis, out)


@overload
def dot(x: Array, y: Array, *, out: Any = None) -> Array: ...
@overload
def dot(x: NDArray, y: NDArray, *, out: Any = None) -> Any: ...
def dot(x: Any, y: Any, *, out: Any = None) -> Any:
    """The sum of the products of two arrays of shape ``(n,)``, in their data type.

    Raises:
        ShapeError: they have other shapes.
        DTypeError, DeviceError, ReadOnlyError, ClosedError, OutOfMemoryError: as ``add``.
    """
    return _operate(5, x, y, 0, out)


def matmul(x: A, y: A, *, out: Any = None) -> A:
    """The product of matrices of floating point, ``(m, k)`` and ``(k, n)`` to ``(m, n)``; either may be a vector.

    Raises:
        ShapeError: the shapes do not fit, or there are more than two dimensions.
        DTypeError: integers, or two data types: cast.
        DeviceError, ReadOnlyError, ClosedError, OutOfMemoryError: as ``mul_two``.
    """
    return _operate(6, x, y, 0, out)  # type: ignore[no-any-return]


def softmax(x: A, axis: int = -1, *, out: Any = None) -> A:
    """``exp(x)`` over its sum along an axis, of floating point. Large elements do not overflow. Errors as ``sum``."""
    return _operate(7, x, None, axis, out)  # type: ignore[no-any-return]


def copy(x: A, *, out: Any = None) -> A:
    """A copy on the same device, in C order; with ``out``, its elements are set, also across devices.

    Raises:
        ShapeError, DTypeError, ReadOnlyError: ``out`` does not fit; ``cast`` converts.
        ClosedError, OutOfMemoryError: as ``mul_two``.
    """
    kern = native.load()
    if out is not None:
        kern.copy_into(x, out)
        return out  # type: ignore[no-any-return]
    return _operate(8, x, None, 0, None)  # type: ignore[no-any-return]


def cast(x: A, dtype: Any, *, out: Any = None) -> A:
    """A copy with another data type, or written to ``out``, which has it.

    Floating point becomes an integer by rounding towards zero; what does not fit saturates, and NaN becomes 0.
    Integers wrap around. Errors as ``copy``, and DTypeError for a type that arrays cannot hold.
    """
    wanted = parse(dtype)
    if out is not None and parse(out.dtype) != wanted:
        raise DTypeError(f"out holds {out.dtype}, not {wanted}")
    return _operate(8, x, None, wanted.number, out)  # type: ignore[no-any-return]
