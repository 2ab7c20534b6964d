"""Kernels of the user's own, compiled at run time."""

from __future__ import annotations

import operator
import threading
from collections.abc import Iterable, Sequence
from typing import Any

from eagleray.kernels import _devices
from eagleray.kernels import _native as native
from eagleray.kernels._streams import Stream
from eagleray.kernels.errors import ArgumentError, ClosedError

Lengths = int | Sequence[int]


def compile(source: str, name: str, options: Sequence[str] = (), device: Any = None) -> Kernel:
    """Compiles CUDA C and finds the ``__global__`` function with a name.

    Args:
        source: The program's text. ``extern "C"`` keeps the name as it is written.
        name: The function.
        options: The compiler's, as ``"-use_fast_math"``.
        device: A CUDA device; None is ``default_device()``.

    Raises:
        CompileError: the source is wrong; ``log`` has what the compiler said.
        UnsupportedError: the device is the host, or no compiler (NVRTC) is installed.
        DeviceError: there is no such device.
    """
    if not isinstance(source, str) or not isinstance(name, str):
        raise TypeError("compile() takes the source and the function's name as text")
    if isinstance(options, str):
        raise TypeError(f"options are a list of strings, got the string {options!r}")
    index = _devices.index_of(device)
    return Kernel(source, name, tuple(options), _devices.name_of(index))


class Kernel:
    """A compiled function; calling it queues it.

    It travels as its source: a task or actor that uses one of the driver's compiles it for its own default device at
    the first call.

    Attributes:
        name: The function's name.
        device: Where it runs.
    """

    def __init__(self, source: str, name: str, options: tuple[str, ...], device: str | None) -> None:
        self._made = (source, name, options)
        self._lock = threading.Lock()
        self._handle: Any = None
        self._closed = False
        self._device = device
        self.name = name
        if device is not None:
            self._compiled()

    @property
    def device(self) -> str:
        """The device that the kernel is compiled for, as ``"cuda:0"``."""
        return self._device or _devices.default_device()

    def _compiled(self) -> Any:
        with self._lock:
            if self._handle is None:
                source, name, options = self._made
                self._device = self.device
                self._handle = native.load().compile(_devices.index_of(self._device), source, name, options)
            return self._handle

    def __call__(
        self,
        grid: Lengths,
        block: Lengths,
        args: Sequence[Any] = (),
        *,
        stream: Stream | None = None,
        shared: int = 0,
    ) -> None:
        """Queues the kernel; ``synchronize`` waits for it.

        Args:
            grid: Blocks along up to three axes.
            block: Threads along up to three axes; 1024 at most in a block.
            args: Arrays of the kernel's device, which it sees as pointers, and numbers, checked against the
                parameters in the source.
            stream: None is this thread's current stream.
            shared: Bytes of dynamic shared memory for each block.

        Raises:
            ArgumentError: the number of arguments, or the type of one, is not the kernel's; grid or block are wrong.
            ReadOnlyError: a read-only array for a pointer that is not const.
            DeviceError: an array or the stream is on another device.
            ClosedError: the kernel, an array or the stream was closed.
        """
        if self._closed:
            raise ClosedError(f"kernel {self.name} was closed")
        kern = native.load()
        if isinstance(args, str) or not isinstance(args, Iterable):
            raise ArgumentError(f"kernel {self.name}: args is a list of arrays and numbers, got {args!r}")
        lengths = _three(grid, "grid"), _three(block, "block")
        launch = (self._compiled(), *lengths, _integer(shared, "shared"), tuple(args))
        if stream is None:
            kern.launch(*launch)
        elif not isinstance(stream, Stream):
            raise ArgumentError(f"kernel {self.name}: stream is a Stream, got {stream!r}")
        else:
            with stream:
                kern.launch(*launch)

    def close(self) -> None:
        """Unloads it. Twice does no harm."""
        self._closed = True
        if self._handle is not None:
            native.load().stream(native.KERNEL_CLOSE, 0, self._handle, None)

    def __reduce__(self) -> Any:
        if self._closed:
            raise ClosedError(f"kernel {self.name} was closed: it cannot be passed on")
        return Kernel, (*self._made, None)

    def __repr__(self) -> str:
        return f"Kernel({self.name!r}, device={self.device!r}{', closed' if self._closed else ''})"


def _three(lengths: Lengths, what: str) -> tuple[int, int, int]:
    given: tuple[Any, ...] = tuple(lengths) if isinstance(lengths, Sequence) else (lengths,)
    numbers = [_integer(length, what) for length in given]
    if not 1 <= len(numbers) <= 3 or min(numbers) < 1:
        raise ArgumentError(f"{what} is one to three lengths of at least 1, got {lengths!r}")
    first, second, third = (*numbers, 1, 1)[:3]
    return first, second, third


def _integer(value: Any, what: str) -> int:
    try:
        number = operator.index(value)
    except TypeError:
        raise ArgumentError(f"{what} counts in integers, got {value!r}") from None
    if number >= 1 << 63:
        raise ArgumentError(f"{what} is far beyond what a device takes: {value!r}")
    return number
