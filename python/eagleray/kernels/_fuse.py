"""Fused chains: several elementwise operations in one pass over memory."""

from __future__ import annotations

import struct
from typing import Any

from eagleray.kernels import _native as native
from eagleray.kernels.errors import ScalarError, ShapeError

_STEP = struct.Struct("=iidd")
_INF = float("inf")
_SCALAR = {native.ADD: native.ADD_SCALAR, native.MUL: native.SCALE}
Number = int | float


class Chain:
    """Elementwise operations, one after the other, on a running value that starts with the first argument.

    ``chain = fuse().scale(2).add(1).clip(0, 10)``; then ``chain(x)`` makes a new array and ``chain(x, out=x)`` works
    in place. ``add``, ``sub``, ``mul``, ``div`` and ``axpy`` take a number, or nothing for the next further argument
    of the call: ``fuse().mul().add()(x, y, z)`` is ``x * y + z``. A chain never changes; each method gives a longer
    one. It computes in the arrays' data type (float32 for 16 bits) and rounds once, at the end.
    """

    __slots__ = ("_data", "_names", "_slots")

    def __init__(self, data: bytes = b"", slots: tuple[Number | None, ...] = (), names: tuple[str, ...] = ()) -> None:
        self._data = data
        self._slots = slots  # what the steps take beside the running value: a number, or None for an argument
        self._names = names

    @property
    def inputs(self) -> int:
        """How many arrays a call takes."""
        return 1 + self._slots.count(None)

    def __len__(self) -> int:
        return len(self._names)

    def mul_two(self) -> Chain:
        """``2 * x``."""
        return self._with(native.SCALE, "mul_two()", 2.0)

    def scale(self, factor: Number) -> Chain:
        """``x * factor``."""
        return self._with_value(native.MUL, "scale", factor)

    def add(self, value: Number | None = None) -> Chain:
        """``x + value``, or the next argument."""
        return self._with_value(native.ADD, "add", value)

    def sub(self, value: Number | None = None) -> Chain:
        """``x - value``, or the next argument."""
        return self._with_value(native.SUB, "sub", value)

    def rsub(self, value: Number | None = None) -> Chain:
        """``value - x``, or the next argument minus it."""
        return self._with_value(native.RSUB, "rsub", value)

    def mul(self, value: Number | None = None) -> Chain:
        """``x * value``, or the next argument."""
        return self._with_value(native.MUL, "mul", value)

    def div(self, value: Number | None = None) -> Chain:
        """``x / value``, or the next argument; floating point."""
        return self._with_value(native.DIV, "div", value)

    def axpy(self, a: Number) -> Chain:
        """``a * x`` plus the next argument."""
        return self._with_input(native.AXPY, f"axpy({a})", None, _number(a))

    def clip(self, low: Number | None, high: Number | None) -> Chain:
        """``min(max(x, low), high)``; None is no bound."""
        lower = -_INF if low is None else _number(low)
        upper = _INF if high is None else _number(high)
        return self._with(native.CLIP, f"clip({low}, {high})", lower, upper)

    def exp(self) -> Chain:
        """e to the power of ``x``; floating point."""
        return self._with(native.EXP, "exp()")

    def relu(self) -> Chain:
        """``max(x, 0)``."""
        return self._with(native.RELU, "relu()")

    def __call__(self, x: Any, *others: Any, out: Any = None) -> Any:
        """Runs the chain.

        Args:
            x: The array that the running value starts with.
            others: The further arrays, or numbers, in the order of the steps that take one. All broadcast.
            out: Where the result goes; ``x`` for in place.

        Returns:
            ``out``, or a new array; numpy's if all arrays are numpy's.

        Raises:
            ShapeError: too few or too many arrays, or shapes that do not broadcast.
            DTypeError, ScalarError, DeviceError, ReadOnlyError, ClosedError, OutOfMemoryError: as ``kernels.add``.
        """
        if not self._names:
            raise ShapeError("the chain has no steps: begin with fuse().scale(2), for example")
        inputs = (x, *others)
        if len(inputs) != self.inputs:
            raise ShapeError(f"{self!r} takes {self.inputs} arrays, got {len(inputs)}")
        if len(self._slots) >= len(inputs):
            given = iter(others)
            inputs = (x, *(next(given) if slot is None else slot for slot in self._slots))
        return native.load().chain(self._data, inputs, out)

    def __repr__(self) -> str:
        return ".".join(("fuse()", *self._names))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Chain) and (self._data, self._slots) == (other._data, other._slots)

    def __hash__(self) -> int:
        return hash((self._data, self._slots))

    def __reduce__(self) -> Any:
        return Chain, (self._data, self._slots, self._names)

    def _with(self, op: int, name: str, s: float = 0.0, t: float = 0.0) -> Chain:
        return Chain(self._data + _STEP.pack(op, 0, s, t), self._slots, (*self._names, name))

    def _with_input(self, op: int, name: str, value: Number | None, s: float = 0.0) -> Chain:
        step = _STEP.pack(op, len(self._slots) + 1, s, 0.0)
        return Chain(self._data + step, (*self._slots, value), (*self._names, name))

    def _with_value(self, op: int, name: str, value: Number | None) -> Chain:
        """A step with a number: as a scalar where that means the same, else as an input."""
        if value is None:
            return self._with_input(op, f"{name}()", None)
        if not isinstance(value, (int, float)):
            raise TypeError(f"{name}() takes a number, got {value!r}; arrays come with the call")
        name = f"{name}({value})"
        if op in _SCALAR and float(value) == value and abs(value) <= 1 << 53:
            return self._with(_SCALAR[op], name, float(value))
        return self._with_input(op, name, value)


def fuse(*steps: Any) -> Chain:
    """A chain to add steps to, or one of these steps.

    Args:
        steps: Names, or tuples of a name and its numbers: ``fuse(("scale", 2), ("add", 1), "relu")``.

    Raises:
        ValueError: a name is no step's.
    """
    chain = Chain()
    for step in steps:
        name, *numbers = (step,) if isinstance(step, str) else step
        if name not in _STEPS:
            raise ValueError(f"{name!r} is not a step of a chain; the steps are: {', '.join(sorted(_STEPS))}")
        chain = getattr(chain, name)(*numbers)
    return chain


_STEPS = frozenset({"mul_two", "scale", "add", "sub", "rsub", "mul", "div", "axpy", "clip", "exp", "relu"})


def _number(value: Any) -> float:
    """The number, exactly."""
    number = float(value)
    if isinstance(value, int) and number != value:
        raise ScalarError(f"{value} is not exact in a chain: pass it as an array")
    return number
