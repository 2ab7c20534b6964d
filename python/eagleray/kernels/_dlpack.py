"""Arrays of the tensors that other libraries export by DLPack. ``Array.__dlpack__`` is the other way."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from eagleray.kernels import _native, _streams

if TYPE_CHECKING:
    from eagleray.kernels._array import Array


def take(obj: Any) -> Array:
    """The array that a producer exports, on the device where it is."""
    kern = _native.load()
    if type(obj).__name__ == "PyCapsule":
        made: Array = kern.from_dlpack(obj)
        return made
    kind, index = obj.__dlpack_device__()
    arguments: dict[str, Any] = {}
    if int(kind) in (_native.DLPACK_CUDA, _native.DLPACK_CUDA_MANAGED):
        arguments["stream"] = _streams.native_of_current(int(index))
    try:
        capsule = obj.__dlpack__(max_version=(1, 1), **arguments)
    except TypeError:  # a producer from before max_version
        capsule = obj.__dlpack__(**arguments)
    array: Array = kern.from_dlpack(capsule)
    return array
