"""Kernels of the user's own, compiled at run time."""

from __future__ import annotations

import operator
from collections.abc import Sequence
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
    return Kernel(native.load().compile(index, source, name, tuple(options)), name, _devices.name_of(index))


class Kernel:
    """A compiled function; calling it queues it.

    Attributes:
        name: The function's name.
        device: Where it runs.
    """

    def __init__(self, handle: Any, name: str, device: str) -> None:
        self._handle = handle
        self._closed = False
        self.name = name
        self.device = device

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
        launch = (self._handle, _three(grid, "grid"), _three(block, "block"), operator.index(shared), tuple(args))
        if stream is None:
            kern.launch(*launch)
        else:
            with stream:
                kern.launch(*launch)

    def close(self) -> None:
        """Unloads it. Twice does no harm."""
        self._closed = True
        native.load().stream(native.KERNEL_CLOSE, 0, self._handle, None)

    def __repr__(self) -> str:
        return f"Kernel({self.name!r}, device={self.device!r}{', closed' if self._closed else ''})"


def _three(lengths: Lengths, what: str) -> tuple[int, int, int]:
    given = (lengths,) if isinstance(lengths, int) else tuple(lengths)
    if not 1 <= len(given) <= 3 or any(operator.index(length) < 1 for length in given):
        raise ArgumentError(f"{what} is one to three lengths of at least 1, got {lengths!r}")
    first, second, third = (*given, 1, 1)[:3]
    return operator.index(first), operator.index(second), operator.index(third)
