"""Data types. They are strings with numpy's names, so that numpy takes them as they are."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

from eagleray._private import numpy_extra
from eagleray.kernels.errors import DTypeError


class DType(str):
    """The type of an array's elements: ``DType("float32")``.

    Equal to its name, to numpy's dtype and to numpy's scalar type. ``bfloat16`` has no counterpart in numpy.
    """

    __slots__ = ()

    def __new__(cls, value: Any) -> DType:
        return parse(value)

    @property
    def name(self) -> str:
        """numpy's name of the type."""
        return str.__str__(self)

    @property
    def itemsize(self) -> int:
        """Bytes of one element."""
        return _SIZES[self.name]

    @property
    def kind(self) -> str:
        """``"f"``, ``"i"`` or ``"u"``."""
        return "f" if "float" in self else self.name[0]

    @property
    def number(self) -> int:
        """The core's number for it."""
        return _NAMES.index(self.name)

    def __eq__(self, other: object) -> bool:
        if isinstance(other, str):
            return str.__eq__(self, other)
        numpy = sys.modules.get("numpy")
        if numpy is None or not isinstance(other, (numpy.dtype, type)):
            return False
        try:
            return bool(numpy.dtype(other) == numpy.dtype(self.name))
        except TypeError:
            return False

    def __ne__(self, other: object) -> bool:
        return not self == other

    if TYPE_CHECKING:

        def __hash__(self) -> int: ...

    else:
        __hash__ = str.__hash__  # without a call of Python's

    def __reduce__(self) -> Any:
        return DType, (self.name,)


_SIZES = {"float16": 2, "bfloat16": 2, "float32": 4, "float64": 8, "int32": 4, "int64": 8, "uint8": 1}
_NAMES = ("", *_SIZES)
#: By the core's number; number 0 is none.
ALL: tuple[Any, ...] = (None, *(str.__new__(DType, name) for name in _SIZES))
float16: DType
bfloat16: DType
float32: DType
float64: DType
int32: DType
int64: DType
uint8: DType
float16, bfloat16, float32, float64, int32, int64, uint8 = ALL[1:]
_BY_NAME: dict[str, DType] = dict(zip(_SIZES, ALL[1:], strict=True))


def parse(value: Any) -> DType:
    """The data type that ``value`` names: a name, numpy's or torch's dtype, a scalar type.

    Raises:
        DTypeError: arrays cannot hold it.
    """
    if type(value) is DType:
        return value
    found = _BY_NAME.get(str(value).rpartition(".")[2]) if not isinstance(value, type) else None
    if found is None and value is not None:
        numpy = numpy_extra.need(f"data type {value!r}")

        try:
            dtype = numpy.dtype(value)
            found = _BY_NAME.get(dtype.name) if dtype.isnative else None
        except TypeError:
            pass
    if found is None:
        raise DTypeError(f"data type {value!r}: arrays hold {', '.join(_SIZES)}, in the machine's byte order")
    return found
