"""What kernels raise. Each class is also the built-in one that fits, so that generic handlers work."""

from __future__ import annotations

from typing import Any


class KernelError(Exception):
    """The base of all errors of ``eagleray.kernels``."""


class ShapeError(KernelError, ValueError):
    """Shapes, axes or strides that do not fit."""


class DTypeError(KernelError, TypeError):
    """A data type that the operation does not take, or two that differ: cast one."""


class ScalarError(KernelError, OverflowError):
    """A number that the arrays' data type cannot hold."""


class DeviceError(KernelError):
    """An unknown device, or arrays on different ones."""


class UnsupportedError(DeviceError, NotImplementedError):
    """Something that the device, or this build, cannot do."""


class DriverError(DeviceError):
    """The device's driver failed."""


class ClosedError(KernelError, ValueError):
    """An array, stream, event or kernel was used after it was freed or closed."""


class ReadOnlyError(KernelError, ValueError):
    """The memory must not be written to, as a task's arguments and what ``get`` returned."""


class ArgumentError(KernelError, TypeError):
    """A kernel of the user's was launched with other arguments than it declares."""


class OutOfMemoryError(KernelError, MemoryError):
    """The device has no room.

    Attributes:
        asked: Bytes that were asked for.
        free: Bytes that were free, 0 where unknown.
        total: Bytes that the device has, 0 where unknown.
    """

    def __init__(self, message: str, asked: int = 0, free: int = 0, total: int = 0) -> None:
        super().__init__(message)
        self.asked = asked
        self.free = free
        self.total = total

    def __reduce__(self) -> Any:
        return type(self), (*self.args, self.asked, self.free, self.total)


class CompileError(KernelError):
    """The source of a kernel does not compile.

    Attributes:
        log: What the compiler said.
    """

    def __init__(self, message: str, log: str = "") -> None:
        super().__init__(message)
        self.log = log

    def __reduce__(self) -> Any:
        return type(self), (*self.args, self.log)


class DeviceArrayError(KernelError, TypeError):
    """A device array of another library was put, passed or returned: its memory belongs to this process."""


_CODES: dict[str, type[Exception]] = {
    "shape": ShapeError,
    "dtype": DTypeError,
    "device": DeviceError,
    "unsupported": UnsupportedError,
    "driver": DriverError,
    "closed": ClosedError,
    "readonly": ReadOnlyError,
    "argument": ArgumentError,
    "overflow": ScalarError,
    "value": ScalarError,
}


def make(code: str, message: str, detail: str | None, asked: int, free: int, total: int) -> Exception:
    """The exception for a failure that the core reports."""
    if code == "memory":
        return OutOfMemoryError(message, asked, free, total)
    if code == "compile":
        return CompileError(message, detail or "")
    return _CODES.get(code, KernelError)(message)


__all__ = [
    "ArgumentError",
    "ClosedError",
    "CompileError",
    "DTypeError",
    "DeviceArrayError",
    "DeviceError",
    "DriverError",
    "KernelError",
    "OutOfMemoryError",
    "ReadOnlyError",
    "ScalarError",
    "ShapeError",
    "UnsupportedError",
]
